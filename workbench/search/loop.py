"""A search: stages a person can take one by one, and the loop over them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbench.evaluation import Executor
from workbench.history import History
from workbench.llm import Model
from workbench.records import (
    Backend,
    Baseline,
    Candidate,
    Category,
    Evaluation,
    Idea,
    Problem,
    Settings,
)
from workbench.search import decisions, stages
from workbench.search.missing import Missing
from workbench.search.opening import open_session
from workbench.search.strategy import Strategy
from workbench.store import Store

Item = Idea | Candidate


class Search:
    """One run of one problem, in a store that is created, or carried on if it holds the run.

    Every stage does what the store lacks and then returns, so a search that was stopped, killed
    or left to another process goes on with the same call. What is None is taken from the run:
    backend, strategy, settings and seed; a new run gets a beam (a Replay its recording's
    branches), the backend this machine has, and a LocalExecutor.
    """

    def __init__(
        self,
        problem: Problem,
        store: Store | str | Path,
        backend: Backend | None = None,
        llm: Model | None = None,
        strategy: Strategy | None = None,
        settings: Settings | None = None,
        seed: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._session = open_session(
            problem,
            store,
            backend=backend,
            llm=llm,
            strategy=strategy,
            settings=settings,
            seed=seed,
            executor=executor,
        )

    # -- looking -------------------------------------------------------------------------

    @property
    def history(self) -> History:
        """The run as it stands on disk now, whoever wrote it."""
        return self._session.history

    @property
    def problem(self) -> Problem:
        return self._session.run.problem

    @property
    def best(self) -> Candidate | None:
        """The passing candidate with the highest lower bound of its speedup."""
        return self.history.best

    @property
    def missing(self) -> Missing:
        """What has to happen before the next round begins."""
        return Missing.of(self.history)

    @property
    def activity(self) -> tuple[str, ...]:
        """What goes on now, one line a model call or job."""
        return self._session.activity

    # -- deciding ------------------------------------------------------------------------

    def approve(self, *items: Item | Iterable[Item], by: str = "person", note: str = "") -> None:
        """Let ideas be implemented, and candidates be evaluated."""
        decisions.decide(self._session, items, True, by, note)

    def reject(self, *items: Item | Iterable[Item], by: str = "person", note: str = "") -> None:
        """Keep ideas from being implemented, and candidates from being evaluated or repaired."""
        decisions.decide(self._session, items, False, by, note)

    def add_idea(
        self,
        title: str,
        hypothesis: str = "",
        category: Category | None = None,
        branch: int | None = None,
    ) -> Idea:
        """A person's idea, in the round under way or, when that is settled, in the next.

        It waits for a decision like any other.
        """
        return decisions.add_idea(self._session, title, hypothesis, category, branch)

    def reword(self, number: int, title: str | None = None, hypothesis: str | None = None) -> Idea:
        """Another wording of an idea without kernels; it waits for a decision of its own."""
        return decisions.reword(self._session, number, title, hypothesis)

    def edit(self, number: int, source: str) -> Candidate:
        """A new candidate from an old one's edited source, approved: evaluate() runs it."""
        return decisions.edit(self._session, number, source)

    def add_kernel(self, source: str) -> Candidate:
        """A person's own kernel, without an idea, approved: evaluate() runs it."""
        return decisions.add_kernel(self._session, source)

    # -- stages --------------------------------------------------------------------------

    def baselines(self) -> tuple[Baseline, ...]:
        """Time PyTorch's own ways that the settings name and this run lacks."""
        return stages.baselines(self._session)

    def propose(self) -> tuple[Idea, ...]:
        """Begin the next round if this one is settled; the ideas that wait for a decision.

        None wait when the strategy begins no further round.
        """
        return stages.propose(self._session)

    def implement(self) -> tuple[Candidate, ...]:
        """Have approved ideas written as kernels; the candidates that wait for a decision.

        What may pass (a full server, a person who has not answered) is raised after the other
        replies are stored; call again to ask for the rest.
        """
        return stages.implement(self._session)

    def evaluate(self, *candidates: Candidate | int) -> tuple[Evaluation, ...]:
        """Build, check and time approved candidates: these, or all that lack it.

        Raises WorkbenchError for a candidate that is not approved, or is evaluated already.
        """
        return stages.evaluate(self._session, candidates)

    def repair(self) -> tuple[Candidate, ...]:
        """Have failed kernels repaired, each once; the candidates that wait for a decision."""
        return stages.repair(self._session)

    def confirm(self) -> tuple[Evaluation, ...]:
        """Measure the best kernel again, longer, until the best of all was measured twice."""
        return stages.confirm(self._session)

    def step(self, approve: bool = False) -> bool:
        """Finish the round under way or, when it is settled, the next one.

        False: decisions are missing (with `approve` there are none), or no further round begins.
        """
        session = self._session
        with session.at_work():
            if self.missing.settled and not stages.begin_round(session):
                return False
            while not (missing := self.missing).settled:
                if missing.branches:
                    stages.write_ideas(session)
                elif missing.decisions and approve:
                    decisions.decide_all(session, by="run")
                elif missing.decisions:
                    return False
                elif missing.kernels:
                    stages.implement(session)
                elif missing.evaluations:
                    stages.evaluate(session, ())
                else:
                    stages.repair(session)
            return True

    def run(self, rounds: int = 5, approve: bool = True) -> Candidate | None:
        """Baselines, then rounds until there are `rounds` in all, round 0 included; the best,
        confirmed.

        What an earlier call left unfinished is finished first. A kernel that a confirmation
        finds wrong has its repair turn as well.
        """
        with self._session.at_work():
            stages.baselines(self._session)
            while True:
                while not self.missing.settled or self.history.round + 1 < rounds:
                    if not self.step(approve):
                        break
                if not self.missing.settled:  # decisions are missing
                    break
                stages.confirm(self._session)
                if self.missing.settled:
                    break
        return self.best

    def cancel(self) -> None:
        """Have the stage under way, in any thread, raise Cancelled soon. Nothing stored is lost."""
        self._session.cancel()

    def close(self) -> None:
        """Stop, and give back executor and store."""
        self._session.close()

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        history = self.history
        best = history.describe(history.best.number) if history.best else "nothing passed yet"
        rounds = f"{history.round + 1} rounds, {len(history.candidates)} candidates"
        return f"<Search {self.problem.name!r} on {self._session.run.backend}: {rounds}; {best}>"
