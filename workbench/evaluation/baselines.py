"""PyTorch itself, run other ways: what a kernel must beat to be worth having."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from typing import Any

import torch

from workbench.evaluation import timing
from workbench.evaluation.bench import Bench
from workbench.evaluation.reference import Value
from workbench.records import Baseline, Settings, WorkbenchError

_MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}


def measure(bench: Bench, name: str, settings: Settings) -> Baseline:
    """Time one baseline in turn with eager; a failure to compile is told in `detail`."""
    sets = bench.timing_sets()
    try:
        run = _runner(bench, name)
        for test in sets:
            run(*test.inputs)
    except WorkbenchError:
        raise
    except Exception as error:
        words = str(error).strip().splitlines() or [""]
        return Baseline(name=name, timing=None, detail=f"{type(error).__name__}: {words[0][:300]}")
    device = bench.device

    def eager(first: int, count: int) -> float:
        return device.block(lambda k: bench.run(sets[k % len(sets)].inputs), first, count)

    def other(first: int, count: int) -> float:
        return device.block(lambda k: run(*sets[k % len(sets)].inputs), first, count)

    sides = timing.Sides(eager, other, lambda: None, lambda _: None, len(sets), foreign=False)
    plan = timing.PLANS[device.backend, settings.tier]
    method = f"{name}, interleaved with eager, {len(sets)} input sets, {settings.tier}"
    rng = random.Random(secrets.randbits(64))
    return Baseline(name=name, timing=timing.compare(sides, plan, method=method, rng=rng))


def _runner(bench: Bench, name: str) -> Callable[..., Any]:
    if name == "eager":
        return lambda *inputs: bench.run(list(inputs))
    if name not in _MODES:
        known = ", ".join(["eager", *_MODES])
        raise WorkbenchError(f"no baseline is called {name!r}; there are: {known}")
    compiled: Callable[..., Any] = torch.compile(bench.reference.model, mode=_MODES[name])

    def run(*inputs: Value) -> Any:
        return compiled(*inputs)

    return run
