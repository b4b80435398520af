"""What a search needs from whoever builds, checks and times its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from workbench.records import (
    Backend,
    Baseline,
    Candidate,
    Environment,
    Evaluation,
    Problem,
    Run,
    Signature,
)


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of a problem on a device before anything is searched."""

    signature: Signature
    environment: Environment


class Executor(Protocol):
    """One or more lanes; a lane is one device whose jobs run one after the other."""

    backend: Backend

    def describe(self, problem: Problem) -> Description:
        """Run the reference once; raises ProblemError, CompilerNotFound or DeviceError."""
        ...

    def submit(self, run: Run, candidate: Candidate) -> Future[Evaluation]:
        """Build at once, check and time when the device is free. A candidate's failure is the
        Evaluation's status; the future raises only for the workbench's own failures, and
        CancelledError after `cancel`."""
        ...

    def baselines(self, run: Run, names: Iterable[str]) -> list[Baseline]:
        """Time "eager", "compile", "max-autotune" in turn with eager; blocks until done."""
        ...

    @property
    def activity(self) -> tuple[str, ...]:
        """What is being done now, one line a job, e.g. "kernel 17: timing"."""
        ...

    def cancel(self) -> None:
        """End all jobs under way soon; the executor stays usable."""
        ...

    def close(self) -> None: ...
