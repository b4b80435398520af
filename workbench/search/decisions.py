"""What a person does to a search: decides, rewords, adds ideas, edits kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.llm.model import now
from workbench.records import Candidate, Category, Decision, Form, Idea, WorkbenchError
from workbench.search import stages
from workbench.search.missing import Missing
from workbench.search.session import Session

Item = Idea | Candidate


def decide(
    session: Session, items: Iterable[Item | Iterable[Item]], approved: bool, by: str, note: str
) -> None:
    """Record one decision an item, all or none. The last one on an item is in force."""
    history = session.history
    standing = {i.number for i in history.ideas}
    decisions = []
    for item in _flat(items):
        if isinstance(item, Idea) and item.number not in standing:
            raise WorkbenchError(f"idea {item.number} was reworded; decide on its last wording")
        decisions.append(
            Decision(
                subject="idea" if isinstance(item, Idea) else "candidate",
                number=item.number,
                approved=approved,
                by=by,
                at=now(),
                note=note,
            )
        )
    session.store.add(*decisions)


def decide_all(session: Session, by: str) -> None:
    """Approve whatever waits for a decision, but for what was rejected in a recording."""
    history, followed = session.history, session.followed
    missing = Missing.of(history)
    places: list[tuple[Item, str | None]] = [(i, history.address(i)) for i in missing.ideas]
    places += [(c, c.address) for c in missing.candidates]
    with session.store.transaction():
        for item, address in places:
            verdict = followed.decision(address) if followed and address else None
            if verdict is None or verdict.approved:
                decide(session, [item], True, by, "")
            else:
                decide(session, [item], False, "recording", verdict.note)


def add_idea(
    session: Session, title: str, hypothesis: str, category: Category | None, branch: int | None
) -> Idea:
    """A person's idea. Without a branch it joins the first of the round under way; if that round
    is settled, the next one is begun for it."""
    if branch is None:
        branch = _open_branch(session)
    elif branch not in {b.number for b in session.history.branches}:
        raise WorkbenchError(f"there is no branch {branch} in this search")
    with session.store.transaction():
        idea = Idea(
            number=0,
            branch=branch,
            index=_free_index(session, branch),
            title=title.strip(),
            hypothesis=hypothesis.strip(),
            category=category,
            author="person",
        )
        return session.store.add_numbered(idea)


def reword(session: Session, number: int, title: str | None, hypothesis: str | None) -> Idea:
    """Another wording of an idea, at the same address; it waits for a decision of its own."""
    history = session.history
    old = next((i for i in history.ideas if i.number == number), None)
    if old is None:
        raise WorkbenchError(f"there is no idea {number}, or it was reworded already")
    address = history.address(old)
    if any(history.completion(f"{address}/{s}") for s in range(history.branch(old.branch).samples)):
        raise WorkbenchError(f"idea {number} has kernels already; add_idea() a new one instead")
    return session.store.add_numbered(
        replace(
            old,
            title=(title or old.title).strip(),
            hypothesis=old.hypothesis if hypothesis is None else hypothesis.strip(),
            author="person",
            rewords=number,
        )
    )


def edit(session: Session, number: int, source: str) -> Candidate:
    """A candidate with another source: a new one, of the same idea, approved by who wrote it."""
    history = session.history
    old = next((c for c in history.candidates if c.number == number), None)
    if old is None:
        raise WorkbenchError(f"there is no candidate {number} in this search")
    return _add(session, source, old.form, idea=old.idea, parents=(number,))


def add_kernel(session: Session, source: str) -> Candidate:
    """A person's own kernel, from no idea and no parent."""
    form: Form = "module" if "class ModelNew" in source else stages.form_of(session)
    return _add(session, source, form, idea=None, parents=())


def _add(
    session: Session, source: str, form: Form, *, idea: int | None, parents: tuple[int, ...]
) -> Candidate:
    candidate = Candidate(
        number=0,
        round=max(session.history.round, 0),
        idea=idea,
        parents=parents,
        source=source,
        form=form,
        author="person",
    )
    with session.store.transaction():
        candidate = session.store.add_numbered(candidate)
        session.store.add(
            Decision(
                subject="candidate",
                number=candidate.number,
                approved=True,
                by="person",
                at=now(),
            )
        )
    return candidate


def _open_branch(session: Session) -> int:
    history = session.history
    if Missing.of(history).settled:
        with session.at_work():
            if not stages.begin_round(session):
                raise WorkbenchError(
                    f"{session.strategy.name} begins no further round; name a branch of an earlier"
                )
            history = session.history
    return history.branches_of(history.round)[0].number


def _free_index(session: Session, number: int) -> int:
    """A place in the branch that no idea has, and none that its model or recording will take."""
    history = session.store.history()
    assert history is not None
    branch = history.branch(number)
    taken = [i.index for i in history.all_ideas if i.branch == number]
    replayed = session.replayed
    for completion in replayed.completions if replayed else ():
        round, index, *place = completion.address.split("/")
        if f"{round}/{index}" == branch.address and place[0].isdigit():
            taken.append(int(place[0]))
    return max(branch.ideas - 1, 0, *taken) + 1


def _flat(items: Iterable[Item | Iterable[Item]]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, (Idea, Candidate)):
            yield item
        elif isinstance(item, (int, str)):
            raise WorkbenchError(
                f"{item!r} could be an idea or a candidate; pass search.history.idea({item!r}) "
                f"or search.history.candidate({item!r})"
            )
        else:
            yield from _flat(item)
