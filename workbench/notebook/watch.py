"""Follows a run on disk and tells who wants to know, whichever process advances it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from workbench.history import History

POLL_EVERY_S = 0.5

Listener = Callable[[History], object]

_log = logging.getLogger(__name__)


class Watcher:
    """One thread a run; ends with `close`, or when the run cannot be read any more."""

    def __init__(self, read: Callable[[], History]) -> None:
        """`read` must be cheap, and give the same object while nothing has changed."""
        self._read = read
        self._listeners: list[Listener] = []
        self._seen: History | None = None
        self._closed = threading.Event()
        self._turn = threading.Lock()  # one listener at a time, and never an older history later
        threading.Thread(target=self._follow, name="workbench-watch", daemon=True).start()

    def subscribe(self, listener: Listener, *, first: Listener | None = None) -> None:
        """Call `first` (or `listener`) with the history now, `listener` after every change.

        The calls after changes may come from the watching thread.
        """
        with self._turn:
            (first or listener)(self._read())
            self._listeners.append(listener)

    def refresh(self) -> None:
        """Look now: tell of a change at once, not at the next poll."""
        self._tell(self._read())

    def close(self) -> None:
        self._closed.set()

    def _tell(self, history: History) -> None:
        with self._turn:
            if history is not self._seen:
                self._seen = history
                for listener in self._listeners:
                    listener(history)

    def _follow(self) -> None:
        while not self._closed.wait(POLL_EVERY_S):
            try:
                history = self._read()
            except Exception as error:  # the store was closed, or its file is gone
                _log.warning("the panels follow this run no longer: %s", error)
                return
            try:
                self._tell(history)
            except Exception:
                _log.exception("a panel could not be redrawn")
