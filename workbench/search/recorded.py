"""The branches of a recorded search: a replay measures the same kernels, here and now."""

from __future__ import annotations

import random
from dataclasses import dataclass

from workbench.history import History
from workbench.llm.recording import Recording
from workbench.records import Branch


@dataclass(frozen=True)
class Recorded:
    """Follows a recording branch by branch.

    Its lineage is the recording's, its numbers are this machine's: a recorded parent stays the
    parent although it is slower or fails here. A parent that was never made here (its idea was
    rejected) leaves its branch without parents. What a person rejected then is rejected again
    where nobody is asked.
    """

    recording: Recording

    @property
    def name(self) -> str:
        return "Recorded"

    @property
    def spec(self) -> str:
        return f"Recorded({self.recording.header.strategy!r})"

    def branches(self, history: History, rng: random.Random) -> list[Branch]:
        known = {c.address: c.number for c in history.candidates if c.address}
        return [
            Branch(
                number=len(history.branches) + place,
                round=branch.round,
                index=branch.index,
                parents=tuple(known[a] for a in branch.parents if a in known),
                lane=branch.lane,
                ideas=branch.ideas,
                samples=branch.samples,
            )
            for place, branch in enumerate(self.recording.branches)
            if branch.round == history.round + 1
        ]
