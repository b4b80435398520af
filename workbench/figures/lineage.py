"""Who descends from whom: every candidate beside its parents, the winner's line straight on top."""

from __future__ import annotations

import math
import typing
from dataclasses import dataclass, field

from workbench.figures import style
from workbench.figures.figure import Figure, caption
from workbench.figures.trajectory import title_of
from workbench.history import History
from workbench.records import Candidate, Status

if typing.TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    "candidate": "Int64", "round": "Int64", "x": "float64", "row": "Int64", "parent": "Int64",
    "parents": "object", "title": "str", "category": "str", "author": "str", "status": "str",
    "detail": "str", "speedup": "float64", "speedup_low": "float64", "speedup_high": "float64",
    "time_us": "float64", "path": "Int64",
}  # fmt: skip
_APART = 0.13  # of a round: failures of one parent stand side by side in one row


def lineage(history: History) -> Figure:
    """The family tree of a search: rounds from left to right, colour by speedup, failures marked
    by status, the winner's ancestors in the top row with their ideas."""
    from workbench.figures import paper_lineage, screen_lineage

    best = history.best
    what = "Candidates and their parents, by round; colour: speedup over eager PyTorch."
    winner = f" Top row: ancestors of {history.describe(best.number)}." if best else ""
    return Figure(
        name="lineage",
        data=lineage_data(history),
        caption=caption(history, what + winner),
        screen=screen_lineage.draw,
        paper=paper_lineage.draw,
    )


def lineage_data(history: History) -> pd.DataFrame:
    """One row a candidate: where it stands (`x`, `row`), its parents, its verdict.

    A child made in its parent's round (an edit, a repair) stands a little right of it.
    `parents` holds all parents; `parent`, the first, is the one the tree is drawn by.
    """
    import pandas as pd

    tree = _Tree.of(history)
    best = history.best
    path = {c.number: i for i, c in enumerate(history.lineage(best.number))} if best else {}
    rows: list[dict[str, object]] = []
    for candidate in history.candidates:
        number = candidate.number
        evaluation = history.evaluation(number)
        idea = history.idea(candidate.idea) if candidate.idea is not None else None
        ratio, time = history.speedup(number), history.duration_us(number)
        rows.append(
            {
                "candidate": number,
                "round": candidate.round,
                "x": tree.x[number],
                "row": tree.row[number],
                "parent": candidate.parents[0] if candidate.parents else None,
                "parents": candidate.parents,
                "title": title_of(history, candidate),
                "category": idea.category.value if idea and idea.category else None,
                "author": candidate.author,
                "status": evaluation.status.value if evaluation else style.WAITING,
                "detail": evaluation.detail if evaluation else None,
                "speedup": ratio.value if ratio else None,
                "speedup_low": ratio.low if ratio else None,
                "speedup_high": ratio.high if ratio else None,
                "time_us": time.value if time else None,
                "path": path.get(number),
            }
        )
    return pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)


@dataclass
class _Tree:
    """Rows as in a commit graph: the best child goes on in its parent's row, others below."""

    history: History
    children: dict[int | None, list[Candidate]]
    merit: dict[int, float] = field(default_factory=dict)  # best lower bound among descendants
    x: dict[int, float] = field(default_factory=dict)
    row: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History) -> _Tree:
        children: dict[int | None, list[Candidate]] = {}
        for candidate in history.candidates:
            parent = candidate.parents[0] if candidate.parents else None
            children.setdefault(parent, []).append(candidate)
        tree = cls(history, children)
        for candidate in sorted(history.candidates, key=lambda c: -c.number):
            tree._judge(candidate)
        for candidate in sorted(history.candidates, key=lambda c: c.number):
            tree._step_right(candidate)
        tree._stack(None, 0)
        return tree

    def _judge(self, candidate: Candidate) -> None:
        """Parents have lower numbers than children, so children are judged first."""
        ratio = self.history.speedup(candidate.number)
        below = [self.merit[c.number] for c in self.children.get(candidate.number, ())]
        self.merit[candidate.number] = max([ratio.low if ratio else -math.inf, *below])

    def _step_right(self, candidate: Candidate) -> None:
        self.x[candidate.number] = float(candidate.round)
        if candidate.parents:
            left = self.x[candidate.parents[0]]
            if left >= candidate.round:
                self.x[candidate.number] = left + 0.3 * (math.floor(left) + 1 - left)

    def _stack(self, parent: int | None, first: int) -> int:
        """Give rows to all descendants of `parent`, from `first` on; the next free row."""
        family = sorted(
            self.children.get(parent, ()), key=lambda c: (-self.merit[c.number], c.number)
        )
        childless = [c for c in family if self._is_dead_end(c)]
        dead_ends: dict[float, list[Candidate]] = {}
        for child in childless:
            dead_ends.setdefault(self.x[child.number], []).append(child)
        free = first
        for child in family:
            if child not in childless:
                self.row[child.number] = free
                free = max(free + 1, self._stack(child.number, free))
        for _, side_by_side in sorted(dead_ends.items()):
            for index, child in enumerate(side_by_side):
                self.row[child.number] = free
                self.x[child.number] += _APART * index
            free += 1
        return free

    def _is_dead_end(self, candidate: Candidate) -> bool:
        evaluation = self.history.evaluation(candidate.number)
        passed = evaluation is not None and evaluation.status is Status.passed
        return not passed and candidate.number not in self.children
