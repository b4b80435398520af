"""A search at work, on the terminal: a line a verdict, and below them what is being done."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol, TextIO, TypeVar

from workbench.cli import show, text
from workbench.history import History
from workbench.records import Completion

REDRAW_S = 0.2
PATIENCE_S = 30.0  # for stages to end after Ctrl-C

_WIDTH = 110

T = TypeVar("T")


class Followed(Protocol):
    """What is needed of a search to follow it."""

    @property
    def history(self) -> History: ...

    @property
    def activity(self) -> tuple[str, ...]: ...

    def cancel(self) -> None: ...


class Progress:
    """Follows one search; what its store already held is not told again."""

    def __init__(self, search: Followed, out: TextIO = sys.stderr) -> None:
        self._search = search
        self._out = out
        self._redraws = out.isatty()
        self._started = time.monotonic()
        self._warnings = _Warnings()
        history = search.history
        self._evaluations = len(history.evaluations)
        self._replies = len(history.completions)

    def follow(self, work: Callable[[], T]) -> T:
        """Do `work` in a thread and tell of it; returns what it returned, raises what it raised.
        Ctrl-C ends it soon, with everything that was finished in the store."""
        made: list[T] = []
        failed: list[BaseException] = []

        def body() -> None:
            try:
                made.append(work())
            except BaseException as error:  # carried to the thread that waits
                failed.append(error)

        thread = threading.Thread(target=body, daemon=True)
        log = logging.getLogger("workbench")
        log.addHandler(self._warnings)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(REDRAW_S)
                self._tell()
        except KeyboardInterrupt:
            self._clear()
            self._say("stopping; what is finished is in the store, the same command carries on")
            self._search.cancel()
            thread.join(PATIENCE_S)
            self._tell()
            raise
        finally:
            log.removeHandler(self._warnings)
            self._clear()
        if failed:
            raise failed[0]
        return made[0]

    def _tell(self) -> None:
        """The lines that are due, then the status line again."""
        history = self._search.history
        self._clear()
        while self._warnings.said:
            self._say(f"   -  {text.shortened(self._warnings.said.pop(0), _WIDTH)}")
        for completion in history.completions[self._replies :]:
            if completion.error and not _expected(completion):
                said = f"{completion.address}: {completion.error}"
                self._say(f"   -  {text.shortened(said, _WIDTH)}")
        for evaluation in history.evaluations[self._evaluations :]:
            number = evaluation.candidate
            self._say(show.verdict_line(history, number))
        self._replies = len(history.completions)
        self._evaluations = len(history.evaluations)
        self._draw()

    def _draw(self) -> None:
        if not self._redraws:
            return
        seconds = time.monotonic() - self._started
        words = " | ".join(self._search.activity) or "waiting"
        width = shutil.get_terminal_size().columns - 1
        self._out.write(text.shortened(f"[{seconds:.0f} s] {words}", width))
        self._out.flush()

    def _clear(self) -> None:
        if self._redraws:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def _say(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()


class _Warnings(logging.Handler):
    """Keeps what the libraries log, so that it is told between two status lines."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _expected(completion: Completion) -> bool:
    """A replay on another machine may ask for repairs that its recording did not need."""
    return completion.finish == "replay_miss" and completion.address.endswith("/repair")
