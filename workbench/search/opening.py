"""A store becomes a run: begun anew, or carried on where it was left."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from workbench import evaluation
from workbench.evaluation import Executor
from workbench.history import History
from workbench.llm import Model, Replay
from workbench.llm.model import now
from workbench.records import Backend, Problem, Run, Settings, StoreError, WorkbenchError
from workbench.search.beam import Beam
from workbench.search.recorded import Recorded
from workbench.search.session import Session
from workbench.search.strategy import Strategy
from workbench.store import Store


def open_session(
    problem: Problem,
    store: Store | str | Path,
    *,
    backend: Backend | None,
    llm: Model | None,
    strategy: Strategy | None,
    settings: Settings | None,
    seed: int | None,
    executor: Executor | None,
) -> Session:
    """The run a store holds if it agrees, else a new one in it. None: as the run has it."""
    _require_its_recording(problem, llm)
    opened = store if isinstance(store, Store) else Store(store)
    owns_store, owns_executor = opened is not store, executor is None
    try:
        history = opened.history()
        if history is not None:
            run = _carried_on(history, opened, problem, backend, executor)
            run = replace(run, settings=settings or run.settings)
            strategy = strategy or _strategy_of(run, llm)
        else:
            backend = backend or (executor.backend if executor else _usual_backend(llm))
            executor = executor or evaluation.LocalExecutor(backend)
            strategy = strategy or _default_strategy(llm)
            with opened.working():
                run = _begun(problem, backend, llm, strategy, settings, seed or 0, executor)
                opened.add(run)
    except BaseException:
        if owns_executor and executor is not None:
            executor.close()
        if owns_store:
            opened.close()
        raise
    return Session(
        opened,
        run,
        llm=llm,
        strategy=strategy,
        executor=executor,
        owns_store=owns_store,
        owns_executor=owns_executor,
        begun_here=history is None,
    )


def _begun(
    problem: Problem,
    backend: Backend,
    llm: Model | None,
    strategy: Strategy,
    settings: Settings | None,
    seed: int,
    executor: Executor,
) -> Run:
    _require_backend(executor, backend)
    if isinstance(llm, Replay) and llm.recording.header.backend != backend:
        raise WorkbenchError(
            f"{llm.name} holds kernels for backend {llm.recording.header.backend!r}, "
            f"which backend {backend!r} cannot build"
        )
    described = executor.describe(problem)
    return Run(
        id=uuid.uuid4().hex[:12],
        problem=problem,
        backend=backend,
        strategy=strategy.spec,
        model=llm.name if llm else "none",
        settings=settings or Settings(),
        seed=seed,
        created=now(),
        signature=described.signature,
        environment=described.environment,
        note=_provenance(llm),
    )


def _carried_on(
    history: History,
    store: Store,
    problem: Problem,
    backend: Backend | None,
    executor: Executor | None,
) -> Run:
    run, path = history.run, str(store.path)
    if run.problem.sha != problem.sha:
        raise StoreError(
            f"{path!r} holds a search of {run.problem.name!r} (source {run.problem.sha}), not of "
            f"{problem.name!r} (source {problem.sha}); give another store, or that problem"
        )
    if backend not in (None, run.backend):
        raise StoreError(
            f"{path!r} holds a search with backend {run.backend!r}, not {backend!r}; "
            "give another store, or that backend"
        )
    if executor is not None:
        _require_backend(executor, run.backend)
    return run


def _require_backend(executor: Executor, backend: Backend) -> None:
    if executor.backend != backend:
        raise StoreError(f"the executor has backend {executor.backend!r}, the run {backend!r}")


def _usual_backend(llm: Model | None) -> Backend:
    """A recording's kernels are of one backend; otherwise what this machine has."""
    return llm.recording.header.backend if isinstance(llm, Replay) else evaluation.default_backend()


def _require_its_recording(problem: Problem, llm: Model | None) -> None:
    """A recording fits its own problem, at other sizes too."""
    if not isinstance(llm, Replay):
        return
    header = llm.recording.header
    if problem.sha != header.problem_sha and _plain(problem.name) != _plain(header.problem):
        raise WorkbenchError(
            f"{llm.name} is of the problem {header.problem!r}, not of {problem.name!r}"
        )


def _plain(name: str) -> str:
    """A problem's name without the sizes that were changed."""
    return name.partition("[")[0]


def _default_strategy(llm: Model | None) -> Strategy:
    """A replay follows the search it recorded; anything else is a beam."""
    return Recorded(llm.recording) if isinstance(llm, Replay) else Beam()


def _strategy_of(run: Run, llm: Model | None) -> Strategy | None:
    """The run's own strategy, made again; None when that cannot be done from its name."""
    if run.strategy.startswith("Recorded("):
        return Recorded(llm.recording) if isinstance(llm, Replay) else None
    return Beam.of(run.strategy)


def _provenance(llm: Model | None) -> str:
    return llm.recording.note if isinstance(llm, Replay) else ""
