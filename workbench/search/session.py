"""What the stages of one search share: store, run, model, executor, and the right to work."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

from workbench import evaluation
from workbench.evaluation import Executor
from workbench.history import History
from workbench.llm import Model, Replay
from workbench.llm.recording import Recording
from workbench.records import Environment, Run, StoreError, WorkbenchError
from workbench.search.asking import Calls
from workbench.search.recorded import Recorded
from workbench.search.strategy import Strategy
from workbench.store import Store

_log = logging.getLogger(__name__)


class Session:
    """One run, open. The model's threads and the executor start when they are first needed."""

    def __init__(
        self,
        store: Store,
        run: Run,
        *,
        llm: Model | None,
        strategy: Strategy | None,
        executor: Executor | None,
        owns_store: bool,
        owns_executor: bool,
        begun_here: bool,
    ) -> None:
        self.store = store
        self.run = run  # with the settings of this session
        self.llm = llm
        self.stop = threading.Event()
        self._strategy = strategy
        self._executor = executor
        self._owns_store = owns_store
        self._owns_executor = owns_executor
        self._device_is_known = begun_here
        self._calls: Calls | None = None
        self._snapshot: tuple[int, History] | None = None
        self._turn = threading.RLock()
        self._depth = 0

    @property
    def history(self) -> History:
        """The run as it stands on disk now."""
        revision = self.store.revision()
        if self._snapshot is None or self._snapshot[0] != revision:
            history = self.store.history()
            assert history is not None
            self._snapshot = revision, history
        return self._snapshot[1]

    @property
    def strategy(self) -> Strategy:
        if self._strategy is None:
            raise WorkbenchError(
                f"this run was made by {self.run.strategy}, which cannot be made from its name; "
                "pass strategy=..."
            )
        return self._strategy

    @property
    def replayed(self) -> Recording | None:
        """Where the replies come from, if they are recorded ones."""
        return self.llm.recording if isinstance(self.llm, Replay) else None

    @property
    def followed(self) -> Recording | None:
        """Where branches and decisions come from, if the search follows a recorded one."""
        return self._strategy.recording if isinstance(self._strategy, Recorded) else None

    @property
    def executor(self) -> Executor:
        if self._executor is None:
            self._executor = evaluation.LocalExecutor(self.run.backend)
            self._owns_executor = True
        if not self._device_is_known:
            self._require_its_device(self._executor)
            self._device_is_known = True
        return self._executor

    def _require_its_device(self, executor: Executor) -> None:
        """Times of two devices are never mixed in one run; other software is only told."""
        here, then = executor.describe(self.run.problem).environment, self.run.environment
        if (here.device, here.arch, here.cores) != (then.device, then.arch, then.cores):
            raise StoreError(
                f"{str(self.store.path)!r} holds times of {_device(then)}; here is "
                f"{_device(here)}. Look at it here, but search on in another store"
            )
        if (here.driver, here.torch, here.compiler) != (then.driver, then.torch, then.compiler):
            _log.warning("this run began with %s; here is %s", _software(then), _software(here))

    @property
    def calls(self) -> Calls:
        if self._calls is None:
            if self.llm is None:
                raise WorkbenchError(
                    f"this search has no model (the run began with {self.run.model!r}); "
                    "pass llm=..., e.g. OpenAI(...), Replay(...) or Human()"
                )
            self._calls = Calls(self.llm)
        return self._calls

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """The right to advance this run: one thread of one process has it, stage within stage."""
        if not self._turn.acquire(blocking=False):
            raise WorkbenchError(
                "this search is at work in another thread; wait for it, or cancel() it"
            )
        try:
            with self.store.working() if self._depth == 0 else contextlib.nullcontext():
                if self._depth == 0:
                    self.stop.clear()
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
        finally:
            self._turn.release()

    @property
    def activity(self) -> tuple[str, ...]:
        asked = self._calls.activity if self._calls else ()
        return asked + (self._executor.activity if self._executor else ())

    def cancel(self) -> None:
        """Stop the stage under way; without one there is nothing to stop."""
        if self._depth == 0:
            return
        self.stop.set()
        if self._executor is not None:
            self._executor.cancel()

    def close(self) -> None:
        self.cancel()
        if self._calls is not None:
            self._calls.close()
        if self._executor is not None and self._owns_executor:
            self._executor.close()
        if self._owns_store:
            self.store.close()


def _device(environment: Environment) -> str:
    return f"{environment.device} ({environment.arch}, {environment.cores} cores)"


def _software(environment: Environment) -> str:
    driver = f", driver {environment.driver}" if environment.driver else ""
    return f"torch {environment.torch}, {environment.compiler}{driver}"
