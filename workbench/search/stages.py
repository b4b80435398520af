"""The stages of a round: each does what the store lacks, so that resuming is the ordinary call."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import replace

from workbench.llm import Request, prompts
from workbench.llm.replies import extract_kernel, parse_ideas
from workbench.records import (
    Baseline,
    Branch,
    Candidate,
    Completion,
    Evaluation,
    Form,
    Idea,
    Run,
    Tier,
    WorkbenchError,
)
from workbench.search.asking import POLL_S, Cancelled, Keep
from workbench.search.missing import Missing, shortfall
from workbench.search.session import Session

_log = logging.getLogger(__name__)
_LONGER: dict[Tier, Tier] = {"triage": "search", "search": "record", "record": "record"}


def baselines(session: Session) -> tuple[Baseline, ...]:
    """Time PyTorch's own ways that this run has no time of yet, one by one."""
    made: list[Baseline] = []
    with session.at_work():
        for name in session.run.settings.baselines:
            if session.history.baseline(name) is not None:
                continue
            try:
                made += session.executor.baselines(session.run, [name])
            except CancelledError:
                raise Cancelled(f"stopped while the baseline {name!r} was timed") from None
            session.store.add(made[-1])
            if session.stop.is_set():
                raise Cancelled(f"stopped after the baseline {name!r}")
    return tuple(made)


def propose(session: Session) -> tuple[Idea, ...]:
    """Begin the next round if this one is settled, and write the ideas its branches lack."""
    with session.at_work():
        missing = Missing.of(session.history)
        if missing.settled:
            begin_round(session)
        elif not missing.branches and not missing.ideas:
            raise WorkbenchError(f"round {session.history.round} is not finished: {missing}")
        write_ideas(session)
        return Missing.of(session.history).ideas


def begin_round(session: Session) -> bool:
    """Store the branches the strategy wants next; False: it wants none, the search is over."""
    history = session.history
    rng = random.Random(f"{session.run.seed}/{history.round + 1}")
    branches = session.strategy.branches(history, rng)
    with session.store.transaction():
        for branch in branches:
            session.store.add_numbered(branch)
    return bool(branches)


def write_ideas(session: Session) -> None:
    """Branch by branch, so that each prompt tells the ideas of the branches before it."""
    asked: set[int] = set()
    for branch in Missing.of(session.history).branches:
        if branch.ideas == 0:
            session.store.add_numbered(_translation(branch))
            continue
        messages = prompts.ideas_prompt(session.history, branch)
        address = f"{branch.address}/ideas"
        request = Request(address=address, purpose="ideas", messages=messages)
        session.calls.ask([(request, _keep_ideas(session, branch))], session.stop)
        asked.add(branch.round)
    for round in asked:
        if words := shortfall(session.history, round):
            _log.warning("%s", words)


def implement(session: Session) -> tuple[Candidate, ...]:
    """Ask for every kernel of an approved idea that was not asked for yet."""
    with session.at_work():
        history, wanted = session.history, []
        for kernel in Missing.of(history).kernels:
            branch = history.branch(kernel.idea.branch)
            messages = prompts.kernel_prompt(history, kernel.idea, kernel.sample)
            request = Request(address=kernel.address, purpose="kernel", messages=messages)
            to_be = (branch.round, kernel.idea.number, branch.parents)
            wanted.append((request, _keep_kernel(session, *to_be)))
        if wanted:
            session.calls.ask(wanted, session.stop)
        return Missing.of(session.history).candidates


def repair(session: Session) -> tuple[Candidate, ...]:
    """Give every failed kernel of a model its one repair turn."""
    with session.at_work():
        history, wanted = session.history, []
        for failed in Missing.of(history).repairs:
            messages = prompts.repair_prompt(history, failed)
            address = f"{failed.address}/repair"
            request = Request(address=address, purpose="repair", messages=messages)
            to_be = (failed.round, failed.idea, (failed.number,))
            wanted.append((request, _keep_kernel(session, *to_be)))
        if wanted:
            session.calls.ask(wanted, session.stop)
        return Missing.of(session.history).candidates


def evaluate(session: Session, chosen: Sequence[Candidate | int]) -> tuple[Evaluation, ...]:
    """Build, check and time approved kernels: those chosen, or all that lack it.

    The gate: nothing that was not approved is ever submitted.
    """
    with session.at_work():
        history = session.history
        if chosen:
            numbers = [c if isinstance(c, int) else c.number for c in chosen]
        else:
            numbers = [c.number for c in Missing.of(history).evaluations]
        if held_back := [n for n in numbers if not history.is_approved("candidate", n)]:
            raise WorkbenchError(f"candidates {held_back} are not approved: approve() them first")
        if judged := [n for n in numbers if history.evaluation(n) is not None]:
            raise WorkbenchError(f"candidates {judged} are evaluated already")
        candidates = [history.candidate(n) for n in dict.fromkeys(numbers)]
        return _judged(session, candidates, session.run)


def confirm(session: Session) -> tuple[Evaluation, ...]:
    """Measure the best kernel again, a tier longer, until the best of all was measured twice.

    The best of many noisy measurements is best by luck too: what is published is a second one,
    from a fresh process on other inputs, and it may cost a kernel its place.
    """
    made: list[Evaluation] = []
    settings = replace(session.run.settings, tier=_LONGER[session.run.settings.tier])
    with session.at_work():
        while (best := session.history.best) and session.history.measurements(best.number) < 2:
            made += _judged(session, [best], replace(session.run, settings=settings))
    return tuple(made)


def form_of(session: Session) -> Form:
    """What a kernel file is on this run's backend."""
    return "cu" if session.run.backend == "cuda" else "cpp"


def _judged(session: Session, candidates: Sequence[Candidate], run: Run) -> tuple[Evaluation, ...]:
    """Submit all at once, so that builds run ahead; store each verdict as it comes."""
    pending: set[Future[Evaluation]] = set()
    submitted: list[Future[Evaluation]] = []
    made: list[Evaluation] = []
    failures: list[WorkbenchError] = []
    stopped = False
    try:
        for candidate in candidates:
            submitted.append(session.executor.submit(run, candidate))
            pending.add(submitted[-1])
        while pending and not stopped:
            done, pending = wait(pending, POLL_S, FIRST_COMPLETED)
            for future in sorted(done, key=submitted.index):
                try:
                    made.append(future.result())
                except CancelledError:
                    stopped = True
                except WorkbenchError as error:
                    failures.append(error)
                else:
                    session.store.add(made[-1])
            stopped = stopped or session.stop.is_set()
    finally:
        if pending:  # interrupted, or stopped: nothing is left running
            session.executor.cancel()
    if stopped:
        raise Cancelled(f"stopped after {len(made)} of {len(candidates)} evaluations")
    if failures:
        failures[0].add_note(f"{len(made)} of {len(candidates)} candidates were evaluated")
        raise failures[0]
    return tuple(made)


def _translation(branch: Branch) -> Idea:
    return Idea(
        number=0,
        branch=branch.number,
        index=0,
        title="Translate the reference",
        hypothesis="A direct translation, to have a correct kernel to start from.",
        category=None,
        author="workbench",
    )


def _keep_ideas(session: Session, branch: Branch) -> Keep:
    """Ideas keep the place they had in the reply, so that a replay finds their kernels."""
    known = {_plain(idea.title) for idea in session.history.all_ideas}

    def keep(completion: Completion) -> None:
        drafts = parse_ideas(completion.reply, branch.ideas) if completion.reply else ()
        with session.store.transaction():
            session.store.add(completion)
            for index, draft in enumerate(drafts):
                if (title := _plain(draft.title)) in known:
                    _log.warning("idea %r was proposed before; dropped", draft.title)
                    continue
                known.add(title)
                idea = Idea(
                    number=0,
                    branch=branch.number,
                    index=index,
                    title=draft.title,
                    hypothesis=draft.hypothesis,
                    category=draft.category,
                    author="model",
                )
                session.store.add_numbered(idea)

    return keep


def _keep_kernel(session: Session, round: int, idea: int | None, parents: tuple[int, ...]) -> Keep:
    """A reply and its kernel are stored together; a reply without code stays without one."""

    def keep(completion: Completion) -> None:
        form = form_of(session)
        source, flags = extract_kernel(completion.reply, form)
        with session.store.transaction():
            session.store.add(completion)
            if source:
                candidate = Candidate(
                    number=0,
                    round=round,
                    idea=idea,
                    parents=parents,
                    source=source,
                    form=form,
                    author="model",
                    address=completion.address,
                    flags=tuple(flags),
                )
                session.store.add_numbered(candidate)

    return keep


def _plain(title: str) -> str:
    """A title without case, spacing and a final full stop, to tell repetitions."""
    return " ".join(title.casefold().split()).rstrip(".")
