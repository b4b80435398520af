"""A whole search with a real compiler and a real judge: no part of it is played."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contracts.executor_contract import CPP_KERNELS, PROBLEM
from scripted import Scripted

from workbench.evaluation import LocalExecutor
from workbench.records import Settings, Status
from workbench.search import Beam, Cancelled, Search

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SETTINGS = Settings(tier="triage", run_timeout_s=20.0, baselines=("eager",))
WAIT_S = 60.0


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor("cpu") as executor:
        yield executor


def fenced(source: str, note: str) -> str:
    return f"```cpp\n// {note}\n{source}```\n"


def begun(path: Path, executor: LocalExecutor, replies: dict[str, str]) -> Search:
    return Search(
        PROBLEM,
        path,
        llm=Scripted(replies, parallel=4),
        executor=executor,
        strategy=Beam(width=1, ideas=1, samples=2),
        settings=SETTINGS,
    )


def test_two_rounds_from_reference_to_best(tmp_path: Path, executor: LocalExecutor) -> None:
    unrolled = CPP_KERNELS.good.replace("    for", "#pragma GCC unroll 4\n    for")
    replies = {
        "0/0/0/0": fenced(CPP_KERNELS.good, "direct"),
        "0/0/0/1": fenced(CPP_KERNELS.broken, "broken"),
        "0/0/0/1/repair": fenced(CPP_KERNELS.good.replace("++i", "i += 1"), "mended"),
        "1/0/0/0": fenced(unrolled, "unrolled"),
        "1/0/0/1": fenced(CPP_KERNELS.wrong, "wrong"),
        "1/0/0/1/repair": "I give up.",
    }
    with begun(tmp_path / "run.db", executor, replies) as s:
        best = s.run(rounds=2)
        status = {c.address: s.history.evaluation(c.number) for c in s.history.candidates}
        assert {a: e.status for a, e in status.items() if e} == {
            "0/0/0/0": Status.passed,
            "0/0/0/1": Status.compile_error,
            "0/0/0/1/repair": Status.passed,
            "1/0/0/0": Status.passed,
            "1/0/0/1": Status.incorrect,
        }
        assert best is not None
        assert best == s.history.ranking()[0]
        eager = s.history.baseline("eager")
        assert eager is not None
        assert eager.timing is not None
        (repair,) = (c for c in s.history.completions if c.address == "0/0/0/1/repair")
        assert "output" in str(repair.messages)  # the compiler's words
        assert s.missing.settled
        assert s.activity == ()


def test_an_edit_goes_through_the_same_gate(tmp_path: Path, executor: LocalExecutor) -> None:
    replies = {f"0/0/0/{k}": fenced(CPP_KERNELS.good, f"{k}") for k in range(2)}
    with begun(tmp_path / "run.db", executor, replies) as s:
        s.run(rounds=1)
        edited = s.edit(0, CPP_KERNELS.wrong)
        (evaluation,) = s.evaluate(edited)
        assert evaluation.status is Status.incorrect


def test_a_hanging_kernel_can_be_stopped(tmp_path: Path, executor: LocalExecutor) -> None:
    replies = {f"0/0/0/{k}": fenced(CPP_KERNELS.hanging, f"{k}") for k in range(2)}
    with begun(tmp_path / "run.db", executor, replies) as s, ThreadPoolExecutor(1) as thread:
        running = thread.submit(s.run, 1)
        until = time.monotonic() + WAIT_S
        while not any("kernel" in line for line in s.activity) and time.monotonic() < until:
            time.sleep(0.01)
        threading.Event().wait(1.0)  # the kernel hangs by now
        s.cancel()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            running.result(WAIT_S)
        assert time.monotonic() - started < 5
        assert s.history.evaluations == ()
        s.reject(s.history.candidates)
        s.add_kernel(CPP_KERNELS.good)
        (evaluation,) = s.evaluate()
        assert evaluation.status is Status.passed
