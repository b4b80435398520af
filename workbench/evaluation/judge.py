"""The judge's process, one per device: seeds, reference, oracle, clock, verdict.

Started as `python -m workbench.evaluation.judge BACKEND CHANNEL CANCEL`, with two inherited
descriptors: the driver's connection and a pipe that becomes readable to cancel a job.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workbench import metrics
from workbench.evaluation import isolation, nursery
from workbench.evaluation.executor import Description
from workbench.evaluation.nursery import Nursery
from workbench.records import Backend, Environment, Problem, Settings, WorkbenchError


@dataclass(frozen=True, slots=True)
class DescribeJob:
    problem: Problem


@dataclass(frozen=True, slots=True)
class EvaluateJob:
    problem: Problem
    environment: Environment
    library: Path
    settings: Settings


@dataclass(frozen=True, slots=True)
class BaselineJob:
    problem: Problem
    name: str
    settings: Settings


Job = DescribeJob | EvaluateJob | BaselineJob


@dataclass
class Judge:
    """Answers jobs one after the other; keeps the bench of the problem it worked on last."""

    backend: Backend
    nursery: Nursery
    cancel: int
    _device: Any = None
    _benches: dict[str, Any] = field(default_factory=dict)
    _environment: Environment | None = None

    def answer(self, job: Job, stage: Callable[[str], None]) -> Any:
        import torch

        from workbench.evaluation import baselines, verdict

        stage("preparing the reference")
        bench = self._bench(job.problem)
        with torch.inference_mode():
            match job:
                case DescribeJob():
                    return Description(bench.signature, self._facts())
                case EvaluateJob():
                    return verdict.judge(
                        bench,
                        job.library,
                        job.settings,
                        nursery=self.nursery,
                        cancel=self.cancel,
                        stage=stage,
                        floor_us=metrics.floor_us(bench.signature, job.environment),
                    )
                case BaselineJob():
                    stage(f"timing {job.name}")
                    return baselines.measure(bench, job.name, job.settings)

    def _bench(self, problem: Problem) -> Any:
        from workbench.evaluation.bench import Bench
        from workbench.evaluation.device import open_device

        if self._device is None:
            self._device = open_device(self.backend)
        if problem.sha not in self._benches:
            self._benches.clear()
            self._benches[problem.sha] = Bench.open(problem, self._device)
        return self._benches[problem.sha]

    def _facts(self) -> Environment:
        if self._environment is None:
            self._environment = self._device.environment()
        assert self._environment is not None
        return self._environment


def main(backend: Backend, channel: int, cancel: int) -> None:
    """Serve jobs until the driver hangs up."""
    os.set_inheritable(channel, False)
    os.set_inheritable(cancel, False)
    import torch  # noqa: F401  the nursery is forked with it, before any device is touched

    born = nursery.start()
    isolation.hide_memory()
    threading.Thread(target=_leave_with_driver, args=(os.getppid(),), daemon=True).start()
    judge = Judge(backend, born, cancel)
    driver: Connection = Connection(channel)
    driver.send(("ready", None))
    while True:
        try:
            job: Job = driver.recv()
        except (EOFError, OSError):
            return
        driver.send(_answered(judge, job, driver))


def _answered(judge: Judge, job: Job, driver: Connection) -> tuple[str, Any]:
    """("result", value), ("cancelled", None), or ("error", a WorkbenchError)."""
    from workbench.evaluation.candidate import JobCancelled

    _drain(judge.cancel)

    def stage(words: str) -> None:
        driver.send(("stage", words))

    try:
        with device_alone(judge.backend, judge.cancel, stage):
            return "result", judge.answer(job, stage)
    except JobCancelled:
        return "cancelled", None
    except WorkbenchError as error:
        return "error", error


@contextlib.contextmanager
def device_alone(backend: Backend, cancel: int, stage: Callable[[str], None]) -> Iterator[None]:
    """Hold the device against every other judge of this user: no two timed kernels share it."""
    from workbench.evaluation.candidate import JobCancelled
    from workbench.evaluation.compiler import cache_folder

    place = cache_folder() / "locks"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / f"{backend}-0", "w") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                stage("waiting for the device: another search has it")
            if select.select([cancel], [], [], 0.1)[0]:
                raise JobCancelled
        yield


def _drain(pipe: int) -> None:
    """Forget cancellations that came after the job they were meant for."""
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while os.read(pipe, 64):
            continue


def _leave_with_driver(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    # Unpickled jobs name their classes by this module's real name.
    from workbench.evaluation import judge as module

    module.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))  # type: ignore[arg-type]
