"""Lanes on this machine: a compiler pool and one judge process per device."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workbench import problems
from workbench.evaluation import isolation, toolchain
from workbench.evaluation.compiler import Compiler, first_error
from workbench.evaluation.executor import Description
from workbench.evaluation.judge import BaselineJob, DescribeJob, EvaluateJob, Job
from workbench.records import (
    Backend,
    Baseline,
    Build,
    Candidate,
    DeviceError,
    Evaluation,
    Problem,
    Run,
    Status,
    WorkbenchError,
)

_START_S = 120.0
_GRACE_S = 60.0  # a judge may need this much beyond a candidate's limit


class LocalExecutor:
    """One lane on this machine: builds run ahead in threads, the judge works job by job."""

    def __init__(self, backend: Backend = "cpu", *, builders: int | None = None) -> None:
        self.backend = backend
        self._judge: _JudgeProcess | None = None
        self._lane = threading.Lock()  # held by the thread whose job has the device
        self._builds = ThreadPoolExecutor(builders or os.cpu_count() or 2, "build")
        self._jobs = ThreadPoolExecutor(1, "lane")
        self._compilers: dict[str, Compiler] = {}
        self._activity: dict[int, str] = {}
        self._epoch = 0  # grows with every cancellation

    def describe(self, problem: Problem) -> Description:
        toolchain.find(self.backend)
        found = self._ask(DescribeJob(problem), "reference", timeout_s=600)
        assert isinstance(found, Description)
        return found

    def submit(self, run: Run, candidate: Candidate) -> Future[Evaluation]:
        if candidate.form != (wanted := "cu" if self.backend == "cuda" else "cpp"):
            raise WorkbenchError(
                f"candidate {candidate.number} is of form {candidate.form!r}; "
                f"the {self.backend} backend judges kernel files of form {wanted!r}"
            )
        result: Future[Evaluation] = Future()
        epoch = self._epoch
        build = self._builds.submit(self._build, run, candidate, epoch)
        job = self._jobs.submit(self._evaluate, run, candidate, build, epoch)
        job.add_done_callback(lambda done: _forward(done, result))
        return result

    def baselines(self, run: Run, names: Iterable[str]) -> list[Baseline]:
        found = []
        for name in names:
            job = BaselineJob(run.problem, name, run.settings)
            measured = self._ask(job, f"baseline {name}", timeout_s=900)
            assert isinstance(measured, Baseline)
            found.append(replace(measured, created=_now()))
        return found

    @property
    def activity(self) -> tuple[str, ...]:
        return tuple(self._activity.copy().values())

    def cancel(self) -> None:
        self._epoch += 1
        for compiler in list(self._compilers.values()):
            compiler.cancel()
        if self._judge is not None:
            self._judge.cancel()

    def close(self) -> None:
        self.cancel()
        self._builds.shutdown(wait=True, cancel_futures=True)
        self._jobs.shutdown(wait=True, cancel_futures=True)
        with self._lane:
            self._stop_judge()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- building ------------------------------------------------------------------------

    def _build(self, run: Run, candidate: Candidate, epoch: int) -> tuple[Evaluation, Path | None]:
        """The evaluation as far as a build takes it, and the library if there is one."""
        self._stop_if_cancelled(epoch)
        with self._doing(candidate.number, f"kernel {candidate.number}: building"):
            built = self._compiler(run.environment.arch).build(
                candidate.source,
                problems.header(run.signature, run.backend),
                timeout_s=run.settings.build_timeout_s,
            )
        self._stop_if_cancelled(epoch)
        status = Status.timeout if built.timed_out else Status.compile_error
        evaluation = Evaluation(
            candidate=candidate.number,
            status=status,
            detail=first_error(built.build.log) if built.library is None else "built",
            created=_now(),
            seconds=0.0 if built.build.cached else built.build.seconds,
            build=built.build,
            environment=run.environment,
        )
        return evaluation, built.library

    def _compiler(self, arch: str) -> Compiler:
        if arch not in self._compilers:
            self._compilers[arch] = Compiler(toolchain.find(self.backend, arch))
        return self._compilers[arch]

    # -- judging -------------------------------------------------------------------------

    def _evaluate(
        self,
        run: Run,
        candidate: Candidate,
        build: Future[tuple[Evaluation, Path | None]],
        epoch: int,
    ) -> Evaluation:
        evaluation, library = build.result()
        if library is None:
            return evaluation
        self._stop_if_cancelled(epoch)
        job = EvaluateJob(run.problem, run.environment, library, run.settings)
        limit = run.settings.run_timeout_s + _GRACE_S
        started = time.perf_counter()
        verdict = self._ask(
            job, f"kernel {candidate.number}", timeout_s=limit, key=candidate.number
        )
        return replace(
            evaluation,
            status=verdict.status,
            detail=verdict.detail,
            created=_now(),
            seconds=evaluation.seconds + time.perf_counter() - started,
            check=verdict.check,
            timing=verdict.timing,
            findings=_build_findings(evaluation.build) + verdict.findings,
            output=verdict.output,
        )

    def _ask(self, job: Job, label: str, *, timeout_s: float, key: int = -1) -> Any:
        """One job's answer; a judge that dies or stays silent is replaced."""
        with self._lane, self._doing(key, f"{label}: waiting for the judge"):
            if self._judge is None or not self._judge.alive():
                self._stop_judge()
                self._judge = _JudgeProcess(self.backend)
            judge = self._judge

            def stage(words: str) -> None:
                self._activity[key] = f"{label}: {words}"

            try:
                return judge.ask(job, stage, timeout_s)
            except DeviceError:
                self._stop_judge()
                raise

    def _stop_judge(self) -> None:
        if self._judge is not None:
            self._judge.kill()
            self._judge = None

    def _stop_if_cancelled(self, epoch: int) -> None:
        if epoch != self._epoch:
            raise CancelledError

    @contextlib.contextmanager
    def _doing(self, key: int, words: str) -> Iterator[None]:
        self._activity[key] = words
        try:
            yield
        finally:
            self._activity.pop(key, None)


class _JudgeProcess:
    """The driver's end of a judge."""

    def __init__(self, backend: Backend) -> None:
        import socket

        ours, theirs = socket.socketpair()
        cancel_read, self._cancel = os.pipe()
        os.set_inheritable(cancel_read, True)
        command = [
            sys.executable,
            *("-m", "workbench.evaluation.judge", backend),
            *(str(theirs.fileno()), str(cancel_read)),
        ]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(), cancel_read),
            env=isolation.judge_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        os.close(cancel_read)
        self._connection: Connection = Connection(ours.detach())
        self._words: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self._next(time.monotonic() + _START_S)

    def ask(self, job: Job, stage: Callable[[str], None], timeout_s: float) -> Any:
        """The judge's answer; it may be silent for `timeout_s` between two stages."""
        deadline = time.monotonic() + timeout_s
        try:
            self._connection.send(job)
        except OSError:
            raise self._gone() from None
        while True:
            kind, value = self._next(deadline)
            if kind == "stage":
                stage(value)
                deadline = time.monotonic() + timeout_s
            elif kind == "result":
                return value
            elif kind == "cancelled":
                raise CancelledError
            else:
                assert isinstance(value, WorkbenchError)
                raise value

    def _next(self, deadline: float) -> tuple[str, Any]:
        try:
            if not self._connection.poll(max(deadline - time.monotonic(), 0)):
                raise DeviceError("the judge does not answer; it is stopped and started afresh")
            message: tuple[str, Any] = self._connection.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        return message

    def alive(self) -> bool:
        return self._process.poll() is None

    def cancel(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._cancel, b"x")

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._connection.close()
        with contextlib.suppress(OSError):
            os.close(self._cancel)

    def _listen(self) -> None:
        """Keep the judge's last words for the message when it dies."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._words = [*self._words[-30:], line.decode(errors="replace").rstrip()]

    def _gone(self) -> DeviceError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        words = "\n".join(self._words[-12:])
        return DeviceError(f"the judge ended unexpectedly (code {self._process.poll()}):\n{words}")


def _build_findings(build: Build | None) -> tuple[str, ...]:
    kernels = build.kernels if build else ()
    return tuple(
        f"{k.name} spills {k.spill_bytes} bytes of registers" for k in kernels if k.spill_bytes
    )


def _forward(done: Future[Evaluation], result: Future[Evaluation]) -> None:
    """Hand a lane's outcome to the caller, cancellation included."""
    if done.cancelled():
        result.cancel()
        result.set_running_or_notify_cancel()
    elif (error := done.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(done.result())


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
