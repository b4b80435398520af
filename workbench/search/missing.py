"""What a run still lacks, read from its history: the whole of the loop's state."""

from __future__ import annotations

from dataclasses import dataclass, fields

from workbench.history import History
from workbench.records import Branch, Candidate, Category, Idea, Status

_REPAIRABLE = {Status.compile_error, Status.incorrect, Status.runtime_error, Status.timeout}
_WORDS = {
    "branches": "branches lack their ideas: propose()",
    "ideas": "ideas wait for a decision: approve() or reject()",
    "kernels": "kernels are not written yet: implement()",
    "candidates": "kernels wait for a decision: approve() or reject()",
    "evaluations": "approved kernels are not evaluated: evaluate()",
    "repairs": "failed kernels have their repair turn: repair(), or reject() them",
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel to be asked for: sample `sample` of an approved idea."""

    idea: Idea
    sample: int
    address: str


@dataclass(frozen=True, slots=True)
class Missing:
    """What has to happen before the next round, in the order it happens."""

    branches: tuple[Branch, ...]  # nobody wrote their ideas
    ideas: tuple[Idea, ...]  # undecided
    kernels: tuple[Kernel, ...]  # approved ideas × samples, not asked for
    candidates: tuple[Candidate, ...]  # undecided
    evaluations: tuple[Candidate, ...]  # approved, not evaluated
    repairs: tuple[Candidate, ...]  # failed, by a model, not repaired yet

    @classmethod
    def of(cls, history: History) -> Missing:
        ideas, candidates = history.ideas, history.candidates
        return cls(
            branches=tuple(b for b in history.branches if not _proposed(history, b)),
            ideas=tuple(i for i in ideas if history.decision("idea", i.number) is None),
            kernels=tuple(_kernels(history)),
            candidates=tuple(
                c for c in candidates if history.decision("candidate", c.number) is None
            ),
            evaluations=tuple(
                c
                for c in candidates
                if history.is_approved("candidate", c.number)
                and history.evaluation(c.number) is None
            ),
            repairs=tuple(c for c in candidates if _repair_is_due(history, c)),
        )

    @property
    def decisions(self) -> bool:
        """Whether a person is asked for something."""
        return bool(self.ideas or self.candidates)

    @property
    def settled(self) -> bool:
        """Whether the next round may begin."""
        return not any(getattr(self, f.name) for f in fields(self))

    def __str__(self) -> str:
        parts = [
            f"{len(lacking)} {_WORDS[f.name]}"
            for f in fields(self)
            if (lacking := getattr(self, f.name))
        ]
        return "; ".join(parts) or "nothing is missing"


def shortfall(history: History, round: int) -> str | None:
    """Says so when a round's ideas are of fewer than three categories; None when they are not."""
    numbers = {b.number for b in history.branches_of(round) if b.ideas}
    ideas = [i for i in history.ideas if i.branch in numbers]
    found: set[Category] = {i.category for i in ideas if i.category}
    wanted = min(3, len(ideas))
    if len(found) >= wanted:
        return None
    names = ", ".join(sorted(found)) or "none"
    return f"round {round}: {len(ideas)} ideas of {len(found)} categories ({names}), not {wanted}"


def _proposed(history: History, branch: Branch) -> bool:
    """Whether a branch has what its round asks for; a person's ideas come on top."""
    if branch.ideas:
        return history.completion(f"{branch.address}/ideas") is not None
    return any(i.branch == branch.number and i.index == 0 for i in history.all_ideas)


def _kernels(history: History) -> list[Kernel]:
    return [
        Kernel(idea, sample, address)
        for idea in history.ideas
        if history.is_approved("idea", idea.number)
        for sample in range(history.branch(idea.branch).samples)
        if history.completion(address := f"{history.address(idea)}/{sample}") is None
    ]


def _repair_is_due(history: History, candidate: Candidate) -> bool:
    evaluation = history.evaluation(candidate.number)
    return (
        candidate.author == "model"
        and candidate.address is not None
        and not candidate.address.endswith("/repair")
        and evaluation is not None
        and evaluation.status in _REPAIRABLE
        and history.is_approved("candidate", candidate.number)
        and not history.repaired(candidate.number)
    )
