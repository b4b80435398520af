"""What both drawings of a trajectory take from its frame: points, lines, ranges, strip rows."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from functools import cached_property

from workbench.figures import style
from workbench.records import Status

if typing.TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Marks:
    """One measure ("speedup" or "time") of a trajectory's frame."""

    data: pd.DataFrame
    measure: str

    @property
    def unit(self) -> str:
        return "" if self.measure == "speedup" else "_us"

    @property
    def value(self) -> str:
        return f"{self.measure}{self.unit}"

    @property
    def best(self) -> str:
        return f"best_{self.value}"

    @property
    def bounds(self) -> tuple[str, str]:
        return f"{self.measure}_low{self.unit}", f"{self.measure}_high{self.unit}"

    @property
    def title(self) -> str:
        return "speedup over eager" if self.measure == "speedup" else "time (µs)"

    @cached_property
    def candidates(self) -> pd.DataFrame:
        return self.data[self.data["kind"] == "candidate"]

    @cached_property
    def passed(self) -> pd.DataFrame:
        return self.candidates[self.candidates[self.value].notna()]

    @cached_property
    def failed(self) -> pd.DataFrame:
        return self.candidates[self.candidates["status"] != Status.passed.value]

    @cached_property
    def path(self) -> pd.DataFrame:
        """The winner's ancestors that passed, oldest first, the winner last."""
        return self.passed[self.passed["path"].notna()].sort_values("path")

    @cached_property
    def lines(self) -> pd.DataFrame:
        """Baselines and floor that have a number."""
        chosen = self.data[self.data["kind"].isin(["baseline", "floor"])]
        return chosen[chosen[self.value].notna()]

    @cached_property
    def leader(self) -> tuple[list[float], list[float]]:
        """The best so far as the corners of a step line, up to the last candidate."""
        known = self.candidates[self.candidates[self.best].notna()]
        return known["x"].tolist(), known[self.best].tolist()

    @cached_property
    def rows(self) -> list[str]:
        """Statuses that occur among the failures, in the order of the strip's rows."""
        present = set(self.failed["status"])
        return [status for status in style.FAILURES if status in present]

    @cached_property
    def range(self) -> tuple[float, float]:
        values = [*self.passed[self.value], *self.lines[self.value]]
        for bound in self.bounds:
            values += [*self.passed[bound].dropna()]
        return style.log_range(values, pad=0.15)

    @cached_property
    def last_round(self) -> int:
        return int(self.candidates["round"].max()) if len(self.candidates) else 0

    def steps_up(self, most: int) -> pd.DataFrame:
        """At most so many rows of the path: its ends, and where it gained most."""
        if len(self.path) <= most:
            return self.path
        gain = (self.path["speedup"] / self.path["speedup"].shift()).fillna(float("inf"))
        gain.iloc[-1] = float("inf")
        return self.path[gain.rank(method="first", ascending=False) <= most]

    def number(self, value: float) -> str:
        """A value as a label: "2.31×" or "182 µs"."""
        return style.times(value) if self.measure == "speedup" else f"{value:.4g} µs"

    def line_label(self, name: str, value: float) -> str:
        return f"{name} {self.number(value)}"
