"""The family tree in print."""

from __future__ import annotations

import typing

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workbench.figures import style
from workbench.figures.screen_lineage import edges, elbow
from workbench.records import Status

if typing.TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_ROW = 0.13  # inches
_TALLEST = 6.5  # inches for all rows: a page
_HEAD = 0.9  # inches above the top row, for the slanted titles


def draw(data: pd.DataFrame, width: float) -> Figure:
    rows = max(int(data["row"].max()) + 1, 3) if len(data) else 3
    last = int(data["round"].max()) if len(data) else 0
    figure = Figure(figsize=(width, 1.5 + _HEAD + min(_ROW * rows, _TALLEST)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xlim(-0.25 - last / 50, last + 0.8)
    axes.set_xticks(style.round_ticks(last))
    axes.set_xlabel("round")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    _edges(axes, data)
    _marks(figure, axes, data)
    _titles(axes, data, width)
    _legend(figure, data, width)
    if not len(data):
        axes.text(0.5, 0.5, "no candidates yet", transform=axes.transAxes, ha="center", color="0.4")
    return figure


def _edges(axes: Axes, data: pd.DataFrame) -> None:
    looks: dict[str, dict[str, typing.Any]] = {
        "parent": {"color": "0.7", "lw": 0.6},
        "other parent": {"color": "0.5", "lw": 0.6, "ls": ":"},
        "path": {"color": style.GREEN, "lw": 1.6},
    }
    for start, end, kind in edges(data):
        axes.plot(*elbow(start, end), zorder=2 if kind == "path" else 1, **looks[kind])


def _marks(figure: Figure, axes: Axes, data: pd.DataFrame) -> None:
    passed = data[data["status"] == Status.passed.value]
    if len(passed):
        low, high = style.log_range(passed["speedup"].tolist(), pad=0)
        colours = ScalarMappable(LogNorm(low, high), "cividis")
        for person, marker in ((False, "o"), (True, "D")):
            part = passed[(passed["author"] == "person") == person]
            axes.scatter(
                part["x"], part["row"].astype(float), c=colours.to_rgba(part["speedup"].to_numpy()),
                s=[26 if p else 15 for p in part["path"].notna()], marker=marker,
                edgecolors="k", linewidths=0.5, zorder=4,
            )  # fmt: skip
        bar = figure.colorbar(colours, ax=axes, location="bottom", aspect=28, pad=0.02, shrink=0.5)
        ticks = style.log_ticks(low, high, most=7 if figure.get_figwidth() > 4 else 4)
        bar.set_ticks(ticks, labels=[f"{t:g}×" for t in ticks])
        bar.minorticks_off()
        bar.set_label("speedup over eager")
        bar.outline.set_visible(False)
    for status, (_, marker, colour) in style.FAILURES.items():
        part = data[data["status"] == status]
        axes.plot(
            part["x"], part["row"].astype(float), ls="none", marker=marker, ms=3.2, mfc="none",
            mew=0.7, color=colour, zorder=3,
        )  # fmt: skip


def _titles(axes: Axes, data: pd.DataFrame, width: float) -> None:
    """The ideas along the winner's line, slanted so that neighbours do not touch."""
    path = data[data["path"].notna()].sort_values("path")
    path = path.loc[_apart(path, (axes.get_xlim()[1] - axes.get_xlim()[0]) * 0.18 / width)]
    limit = 28 if width > 4 else 24
    for x, row, title, speedup in zip(
        path["x"], path["row"], path["title"], path["speedup"], strict=True
    ):
        number = f" {style.times(speedup)}" if speedup == speedup else ""
        axes.annotate(
            style.short(title, limit) + number, (x, float(row)), textcoords="offset points",
            xytext=(0, 6), rotation=35 if width > 4 else 45, rotation_mode="anchor", ha="left",
            va="bottom", fontsize=6.5, annotation_clip=False,
        )  # fmt: skip


def _apart(path: pd.DataFrame, gap: float) -> list[int]:
    """Rows at least a gap apart on the x axis: the ends first, then where most was gained."""
    gain = (path["speedup"] / path["speedup"].shift()).fillna(float("inf"))
    order = gain.sort_values(ascending=False, kind="stable").index.tolist()
    chosen: list[int] = []
    for row in [*path.index[-1:], *order]:
        if all(abs(path.loc[row, "x"] - path.loc[other, "x"]) >= gap for other in chosen):
            chosen.append(row)
    return chosen


def _legend(figure: Figure, data: pd.DataFrame, width: float) -> None:
    handles = []
    if data["path"].notna().any():
        handles.append(Line2D([], [], color=style.GREEN, lw=1.6, label="ancestors of the best"))
    if (data["author"] == "person").any():
        handles.append(_mark("D", "0.6", "edited by hand", edge="k"))
    for status, (_, marker, colour) in style.FAILURES.items():
        if (data["status"] == status).any():
            handles.append(_mark(marker, "none", style.words(status), edge=colour))
    if handles:
        figure.legend(
            handles=handles, loc="outside lower left", ncols=4 if width > 4 else 2, frameon=False,
            fontsize=7, handlelength=1.4, columnspacing=1.0, borderpad=0.1,
        )  # fmt: skip


def _mark(marker: str, face: str, label: str, *, edge: str) -> Line2D:
    return Line2D([], [], ls="none", marker=marker, ms=4, mfc=face, mec=edge, label=label)
