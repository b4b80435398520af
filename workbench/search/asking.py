"""Model calls under way: asked in threads, stored as they come, never asked twice."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from workbench.llm import Model, Request
from workbench.llm.model import now
from workbench.records import Completion, ModelError, ReplayMiss, WorkbenchError

POLL_S = 0.1
# Worth asking again later, so nothing is stored; the model has retried within its own deadline.
TRANSIENT = frozenset({"rate_limit", "server", "timeout", "connection", "deadline", "waiting"})

Keep = Callable[[Completion], None]
"""Stores a reply together with what is read from it."""


class Cancelled(WorkbenchError):
    """A stage was told to stop; what it had finished is stored."""


class Calls:
    """Asks one model, `model.parallel` requests at a time.

    A stopped stage leaves its calls under way: they are paid for, so their replies are stored
    when they come, and a stage that asks for the same address meanwhile waits for those.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._queue: queue.SimpleQueue[tuple[Future[None], Request, Keep] | None]
        self._queue = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._asked: dict[str, Future[None]] = {}  # under way or stored; not those that failed
        self._since: dict[str, float] = {}

    def ask(self, wanted: Sequence[tuple[Request, Keep]], stop: threading.Event) -> None:
        """Ask all and return when all are stored. Raises Cancelled soon after `stop` is set.

        A fatal ModelError is raised at once; one that may pass is raised when the others are done.
        """
        futures = [self._submit(request, keep) for request, keep in wanted]
        failures: list[ModelError] = []
        pending = set(futures)
        try:
            while pending:
                done, pending = wait(pending, POLL_S, FIRST_COMPLETED)
                failures += [error for future in done if (error := _passing(future))]
                if stop.is_set():
                    raise Cancelled("stopped; replies that are under way are stored when they come")
        finally:
            for future in futures:
                future.cancel()  # those that no thread has begun
        if failures:
            failures[0].add_note(f"{len(failures)} of {len(wanted)} calls failed; ask again later")
            raise failures[0]

    @property
    def activity(self) -> tuple[str, ...]:
        """One line a call, e.g. "a-model: 1/0/2/0, 34 s"."""
        now, name = time.monotonic(), self._model.name
        return tuple(f"{name}: {a}, {now - at:.0f} s" for a, at in self._since.copy().items())

    def close(self) -> None:
        """Let idle threads end; a call under way is not waited for."""
        for _ in self._threads:
            self._queue.put(None)

    def _submit(self, request: Request, keep: Keep) -> Future[None]:
        if (asked := self._asked.get(request.address)) is not None:
            return asked
        future: Future[None] = Future()
        self._asked[request.address] = future
        future.add_done_callback(lambda done: self._forget_failure(request.address, done))
        self._queue.put((future, request, keep))
        if len(self._threads) < max(1, self._model.parallel):
            # A daemon, so that leaving the program never waits for a slow model.
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()
        return future

    def _forget_failure(self, address: str, done: Future[None]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._asked.pop(address, None)

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            future, request, keep = item
            if not future.set_running_or_notify_cancel():
                continue
            self._since[request.address] = time.monotonic()
            try:
                keep(self._answer(request))
            except BaseException as error:  # carried to the thread that asked
                future.set_exception(error)
            else:
                future.set_result(None)
            finally:
                self._since.pop(request.address, None)

    def _answer(self, request: Request) -> Completion:
        """The model's reply, or the failure that stands in its place for good."""
        started = time.monotonic()
        try:
            return self._model.complete(request)
        except ReplayMiss as miss:
            words, kind = f"no reply recorded: {miss}", "replay_miss"
        except ModelError as error:
            if error.fatal or error.kind in TRANSIENT:
                raise
            words, kind = str(error), error.kind
        return Completion(
            address=request.address,
            model=self._model.name,
            returned_model="",
            messages=request.messages,
            reply="",
            finish=kind,
            seconds=time.monotonic() - started,
            created=now(),
            error=words,
        )


def _passing(future: Future[None]) -> ModelError | None:
    """A failure that others need not suffer for; any other failure is raised."""
    if future.cancelled():  # by an earlier stage that was stopped
        raise Cancelled("stopped by another stage of this search")
    error = future.exception()
    if isinstance(error, ModelError) and not error.fatal:
        return error
    if error is not None:
        raise error
    return None
