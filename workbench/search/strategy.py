"""What decides where a search goes next: records in, branches out."""

from __future__ import annotations

import random
from typing import Protocol

from workbench.history import History
from workbench.records import Branch


class Strategy(Protocol):
    """Decides the next round from the history alone: no clock, no disk, no model, no state.

    Whatever it needs (islands, arms of a bandit) it computes again, so a run that was cut
    anywhere goes on as if it had not been.
    """

    @property
    def name(self) -> str:
        """One word for tables and figures, e.g. "Beam"."""
        ...

    @property
    def spec(self) -> str:
        """The call that makes it again, e.g. "Beam(width=2, ideas=3, samples=2)"; kept in Run."""
        ...

    def branches(self, history: History, rng: random.Random) -> list[Branch]:
        """Branches of round `history.round + 1`; none: the search is over.

        `rng` is seeded by run and round. The store numbers the branches.
        """
        ...


def branch(
    history: History,
    index: int,
    *,
    parents: tuple[int, ...] = (),
    lane: int = 0,
    ideas: int,
    samples: int,
) -> Branch:
    """A branch of the next round; `ideas=0` asks for a translation of the reference."""
    return Branch(
        number=len(history.branches) + index,
        round=history.round + 1,
        index=index,
        parents=parents,
        lane=lane,
        ideas=ideas,
        samples=samples,
    )
