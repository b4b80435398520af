"""The fast-kernels method: ideas on the best kernels of all rounds, several kernels an idea."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass

from workbench.history import History
from workbench.records import Branch, WorkbenchError
from workbench.search.strategy import branch


@dataclass(frozen=True, kw_only=True)
class Beam:
    """Round 0 translates the reference; then the `width` best kernels get `ideas` ideas each,
    and every approved idea `samples` kernels.

    Best means the lower bound of the speedup, over all rounds: a round may get slower without
    losing the line. Near-duplicates count once. While nothing passes, the reference is
    translated again.
    """

    width: int = 2
    ideas: int = 3
    samples: int = 2

    def __post_init__(self) -> None:
        if min(self.width, self.ideas, self.samples) < 1:
            raise WorkbenchError(f"{self!r}: width, ideas and samples are at least 1")

    @property
    def name(self) -> str:
        return "Beam"

    @property
    def spec(self) -> str:
        return repr(self)

    @classmethod
    def of(cls, spec: str) -> Beam | None:
        """The beam a `spec` describes; None when it describes something else."""
        try:
            match ast.parse(spec, mode="eval").body:
                case ast.Call(func=ast.Name(id="Beam"), args=[], keywords=words):
                    return cls(**{str(w.arg): ast.literal_eval(w.value) for w in words})
        except (SyntaxError, ValueError, TypeError):
            pass
        return None

    def branches(self, history: History, rng: random.Random) -> list[Branch]:
        best = history.ranking()[: self.width]
        if not best or history.round < 0:
            return [branch(history, 0, ideas=0, samples=self.samples)]
        return [
            branch(history, i, parents=(c.number,), ideas=self.ideas, samples=self.samples)
            for i, c in enumerate(best)
        ]
