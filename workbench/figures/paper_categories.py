"""Categories in print."""

from __future__ import annotations

import textwrap
import typing

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from workbench.figures import style
from workbench.figures.categories import FASTER, LOOKS, counts
from workbench.figures.screen_categories import offsets

if typing.TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def draw(data: pd.DataFrame, width: float) -> Figure:
    table = counts(data)
    groups = list(table.index)
    figure = Figure(
        figsize=(width, (0.95 if width > 4 else 1.2) + 0.3 * max(len(groups), 2)),
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [3, 2]})
    left.set_ylim(max(len(groups), 1) - 0.5, -0.5)
    left.set_yticks(range(len(groups)), ["\n".join(textwrap.wrap(g, 20)) for g in groups])
    left.tick_params(axis="y", length=0, labelsize=7)
    left.set_xlabel("kernels")
    left.xaxis.get_major_locator().set_params(integer=True)
    _bars(left, table)
    _gains(right, data, groups, ticks=8 if width > 4 else 3)
    if groups:
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside upper left", frameon=False, fontsize=7,
            ncols=len(table.columns) if width > 4 else 3, handlelength=1.4, handletextpad=0.5,
            columnspacing=1.0, borderpad=0.1,
        )  # fmt: skip
    else:
        left.text(0.5, 0.5, "no candidates yet", transform=left.transAxes, ha="center", color="0.4")
    return figure


def _bars(axes: Axes, table: pd.DataFrame) -> None:
    start = [0] * len(table.index)
    rows = list(range(len(table.index)))
    for outcome in table.columns:
        colour, hatch, _ = LOOKS[outcome]
        numbers = [int(n) for n in table[outcome]]
        axes.barh(
            rows, numbers, left=start, height=0.6, color=colour, hatch=hatch, edgecolor="white",
            linewidth=0.5, label=style.words(outcome),
        )  # fmt: skip
        for row, number, begin in zip(rows, numbers, start, strict=True):
            if number:
                axes.text(
                    begin + number / 2, row, str(number), ha="center", va="center", fontsize=6.5,
                    bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
                )  # fmt: skip
        start = [a + b for a, b in zip(start, numbers, strict=True)]


def _gains(axes: Axes, data: pd.DataFrame, groups: list[str], *, ticks: int) -> None:
    gained = data[data["gain"].notna()].reset_index(drop=True)
    low, high = style.log_range([1.0, *gained["gain_low"], *gained["gain_high"]])
    places = style.log_ticks(low, high, most=ticks)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(places, [f"{t:g}×" for t in places])
    axes.minorticks_off()
    axes.set_xlabel("gain over parent" if ticks > 4 else "gain")
    axes.tick_params(axis="y", length=0)
    axes.axvline(1, color="0.5", lw=0.7, zorder=1)
    gained = gained.assign(at=offsets(gained, groups))
    for person in (False, True):
        for won in (False, True):
            part = gained[
                ((gained["author"] == "person") == person) & ((gained["outcome"] == FASTER) == won)
            ]
            colour = style.VERMILLION if person else style.BLUE
            axes.errorbar(
                part["gain"], part["at"], fmt="D" if person else "o", color=colour, ms=3.2,
                xerr=[part["gain"] - part["gain_low"], part["gain_high"] - part["gain"]],
                mfc=colour if won else "white", mew=0.7, elinewidth=0.6, zorder=3,
            )  # fmt: skip
