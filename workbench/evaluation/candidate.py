"""The judge's side of one candidate's process: orders, limits, memory, last words."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from workbench.evaluation.nursery import Nursery
from workbench.evaluation.wire import ANSWER, OK, Answer
from workbench.records import Backend, Status

_WORDS_LIMIT = 8192


class CandidateFailed(Exception):
    """A candidate's failure, which becomes its Evaluation."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class JobCancelled(Exception):
    """The driver asked to stop the job under way."""


@dataclass
class CandidateProcess:
    """A runner with one loaded library. Use as a context; leaving it ends every process."""

    nursery: Nursery
    backend: Backend
    library: Path
    scalars: Sequence[tuple[str, float] | None]
    limit_s: float  # for everything from now on
    cancel: int | None = None  # a descriptor that becomes readable to cancel
    runtime: str | None = None  # the CUDA runtime library
    workspace_bytes: int = 0
    memory: int = -1
    _deadline: float = 0.0
    _ended: bool = False
    _pid: int = 0
    _channel: socket.socket = field(init=False)
    _output: int = -1
    _scratch: str = ""

    def __enter__(self) -> CandidateProcess:
        self._scratch = tempfile.mkdtemp(prefix="workbench-run-")
        self._output = os.memfd_create("words")
        self.memory = os.memfd_create("arena", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        self._channel, theirs = socket.socketpair()
        self._deadline = time.monotonic() + self.limit_s
        plan = {
            "backend": self.backend,
            "library": str(self.library),
            "scalars": list(self.scalars),
            "scratch": self._scratch,
            "cpu_s": self.limit_s * (os.cpu_count() or 1) + 5,
            "runtime": self.runtime,
        }
        with theirs:
            self._pid = self.nursery.spawn(theirs.fileno(), self._output, self.memory, plan)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        self._channel.close()
        os.close(self._output)
        os.close(self.memory)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def load(self) -> None:
        """Load the library; asks it for the workspace it wants."""
        self.workspace_bytes = int(self._order({"do": "load"}, limit_s=30.0).number)

    def arena(self, nbytes: int, offsets: list[list[int]], workspace: int | None) -> bytes:
        """Have the arena mapped; returns the handle by which the judge maps a GPU's."""
        if self.backend == "cpu":
            os.ftruncate(self.memory, nbytes)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.memory, fcntl.F_ADD_SEALS, seals)
        order = {"do": "arena", "nbytes": nbytes, "sets": offsets, "workspace": workspace}
        return self._order(order, limit_s=30.0).handle

    def block(self, first: int, count: int, *, still: bool = False, limit_s: float) -> float:
        """Seconds that `count` launches took by the runner's clock."""
        order = {"do": "block", "first": first, "count": count, "still": still}
        return self._order(order, limit_s=limit_s).number

    @property
    def pid(self) -> int:
        return self._pid

    def words(self) -> str:
        """What the candidate printed, at most 8 KB of it."""
        size = os.fstat(self._output).st_size
        text = os.pread(self._output, _WORDS_LIMIT, 0).decode(errors="replace")
        return text if size <= _WORDS_LIMIT else f"{text}\n[{size - _WORDS_LIMIT} bytes omitted]"

    def end(self) -> int:
        """End the process, its children included; the wait status (0 if it was ended before)."""
        if self._ended:
            return 0
        self._ended = True
        return self.nursery.end()

    def _order(self, order: dict[str, Any], *, limit_s: float) -> Answer:
        """Send one order and wait for its answer; anything unexpected is a CandidateFailed."""
        allowed = min(self._deadline, time.monotonic() + limit_s)
        seconds = allowed - time.monotonic()
        data = b""
        try:
            self._channel.sendall(json.dumps(order).encode() + b"\n")
            while len(data) < ANSWER.size:
                self._wait(allowed, seconds)
                chunk = self._channel.recv(ANSWER.size - len(data))
                if not chunk:
                    raise CandidateFailed(Status.runtime_error, self._how_it_ended())
                data += chunk
        except (BrokenPipeError, ConnectionResetError):
            raise CandidateFailed(Status.runtime_error, self._how_it_ended()) from None
        answer = Answer.unpack(data)
        if answer.code != OK:
            raise CandidateFailed(Status.runtime_error, answer.text or "failed without a word")
        return answer

    def _how_it_ended(self) -> str:
        words = _how_it_ended(self.end())
        if "SIGSEGV" in words and not self.workspace_bytes:
            words += "; it asks for no workspace, so `workspace` is a null pointer"
        return words

    def _wait(self, until: float, seconds: float) -> None:
        watched = [self._channel.fileno()]
        if self.cancel is not None:
            watched.append(self.cancel)
        ready, _, _ = select.select(watched, [], [], max(until - time.monotonic(), 0))
        if self.cancel in ready:
            raise JobCancelled
        if not ready:
            self.end()
            raise CandidateFailed(Status.timeout, f"no answer in {seconds:.3g} s")


def _how_it_ended(status: int) -> str:
    """Words for a wait status, e.g. "the kernel's process died of SIGSEGV"."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(ValueError):
            return f"the kernel's process died of {signal.Signals(number).name}"
        return f"the kernel's process died of signal {number}"
    code = os.waitstatus_to_exitcode(status)
    return f"the kernel's process exited with code {code} before it answered"
