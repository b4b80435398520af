"""The trajectory in print: matplotlib, exact inches, short labels along the winner's ancestors."""

from __future__ import annotations

import itertools
import math
import typing

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from workbench.figures import labels, style
from workbench.figures.marks import Marks

if typing.TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def draw(data: pd.DataFrame, measure: str, width: float) -> Figure:
    marks = Marks(data, measure)
    rows = len(marks.rows)
    body, strip = width * (0.55 if width > 4 else 0.8), 0.13 * rows + 0.08
    layout = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02, hspace=0.0)
    figure = Figure(figsize=(width, body + (strip if rows else 0.0)), layout=layout)
    FigureCanvasAgg(figure)
    axes: Axes
    if rows:
        axes, below = figure.subplots(
            2, 1, sharex=True, gridspec_kw={"height_ratios": [body - 0.6, strip]}
        )
        _strip(below, marks)
    else:
        axes = below = figure.subplots()
    _frame(axes, below, marks)
    _horizontal_lines(axes, marks)
    _data(axes, marks)
    _legend(figure, marks)
    if not len(marks.passed):
        text = "no kernel has passed yet" if len(marks.candidates) else "no candidates yet"
        axes.text(0.5, 0.6, text, transform=axes.transAxes, ha="center", color="0.4")
    figure.draw_without_rendering()
    _line_labels(axes, marks)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    _path_labels(axes, marks)
    return figure


def _frame(axes: Axes, below: Axes, marks: Marks) -> None:
    low, high = marks.range
    ticks = style.log_ticks(low, high)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{t:g}×" if marks.measure == "speedup" else f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_ylabel(marks.title)
    below.set_xlim(-0.55, marks.last_round + 0.55)
    below.set_xticks(style.round_ticks(marks.last_round))
    below.set_xlabel("round")
    if below is not axes:
        axes.tick_params(bottom=False, labelbottom=False)
        axes.spines["bottom"].set_visible(False)


def _horizontal_lines(axes: Axes, marks: Marks) -> None:
    for name, value in zip(marks.lines["name"], marks.lines[marks.value], strict=True):
        dash: typing.Any = {"eager": "-", "floor": (0, (6, 2, 1, 2))}.get(name, (0, (4, 2)))
        colour = style.PURPLE if name == "floor" else "0.5"
        axes.axhline(value, color=colour, linewidth=0.7, linestyle=dash, zorder=1)


def _data(axes: Axes, marks: Marks) -> None:
    x, y = marks.leader
    axes.step(x, y, where="post", color=style.GREEN, zorder=2)
    axes.plot(marks.path["x"], marks.path[marks.value], color="k", lw=0.9, ls=":", zorder=3)
    low, high = marks.bounds
    for person in (False, True):
        chosen = marks.passed[(marks.passed["author"] == "person") == person]
        value = chosen[marks.value]
        colour, marker = _look(person)
        axes.errorbar(
            chosen["x"],
            value,
            yerr=[(value - chosen[low]).clip(lower=0), (chosen[high] - value).clip(lower=0)],
            fmt="none",
            ecolor=colour,
            elinewidth=0.7,
            zorder=4,
        )
        winners = chosen["path"].notna()
        for part, size, edge in ((chosen[~winners], 11, "none"), (chosen[winners], 24, "k")):
            axes.scatter(
                part["x"], part[marks.value], s=size, marker=marker, c=colour,
                edgecolors=edge, linewidths=0.6, zorder=5,
            )  # fmt: skip


def _strip(below: Axes, marks: Marks) -> None:
    for index, status in enumerate(marks.rows):
        _, marker, colour = style.FAILURES[status]
        chosen = marks.failed[marks.failed["status"] == status]
        for person in (False, True):
            part = chosen[(chosen["author"] == "person") == person]
            below.plot(
                part["x"], [index] * len(part), ls="none", marker="D" if person else marker,
                color=colour, ms=3.4, mfc="none", mew=0.8,
            )  # fmt: skip
    below.set_ylim(len(marks.rows) - 0.4, -0.6)
    below.set_yticks(range(len(marks.rows)), [style.words(s) for s in marks.rows])
    below.tick_params(axis="y", length=0, labelsize=7)
    below.spines["left"].set_visible(False)


def _legend(figure: Figure, marks: Marks) -> None:
    def mark(person: bool, name: str) -> Line2D:
        colour, marker = _look(person)
        return Line2D([], [], ls="none", marker=marker, color=colour, ms=4, label=name)

    handles = []
    authors = set(marks.candidates["author"])
    if len(marks.passed):
        handles.append(mark(False, "passed"))
    if "person" in authors:
        handles.append(mark(True, "edited by hand"))
    if len(marks.passed):
        handles.append(Line2D([], [], color=style.GREEN, label="best so far"))
    if len(marks.path) > 1:
        handles.append(Line2D([], [], color="k", lw=0.9, ls=":", label="ancestors of the best"))
    if handles:
        wide = figure.get_figwidth() > 4
        figure.legend(
            handles=handles, loc="outside upper left", ncols=len(handles) if wide else 2,
            frameon=False, handlelength=1.6, columnspacing=1.2, borderpad=0.1,
        )  # fmt: skip


def _line_labels(axes: Axes, marks: Marks) -> None:
    """Names and numbers of the horizontal lines, right of the axes, moved apart."""
    height = axes.get_window_extent().height / axes.get_figure(root=True).dpi * 72  # type: ignore[union-attr]
    low, high = (math.log10(v) for v in marks.range)
    values = marks.lines[marks.value].tolist()
    points = [(math.log10(v) - low) / (high - low) * height for v in values]
    for name, value, at in zip(marks.lines["name"], values, style.spread(points, 8), strict=True):
        axes.annotate(
            marks.line_label(name, value), (1.01, at / height), xycoords="axes fraction",
            va="center", ha="left", fontsize=7, annotation_clip=False,
        )  # fmt: skip


def _path_labels(axes: Axes, marks: Marks) -> None:
    wide = axes.get_figure(root=True).get_figwidth() > 4  # type: ignore[union-attr]
    path = marks.steps_up(9 if wide else 6)
    wanted: list[tuple[str, float, float]] = []
    for index, (_, row) in enumerate(path.iterrows()):
        text = style.short(row["title"], 28 if wide else 23)
        if index == len(path) - 1:
            text = f"{text}\n{marks.number(row[marks.value])}"
        wanted.append((text, row["x"], row[marks.value]))
    labels.place(axes, wanted[::-1], _obstacles(marks))


def _obstacles(marks: Marks) -> list[tuple[float, float]]:
    """Marks, and points along the lines close enough to be noticed by a label's box."""
    found = list(zip(marks.passed["x"], marks.passed[marks.value], strict=True)) * 2
    steps = list(zip(*marks.leader, strict=True))
    corners = [p for a, b in itertools.pairwise(steps) for p in (a, (b[0], a[1]), b)]
    path = list(zip(marks.path["x"], marks.path[marks.value], strict=True))
    for line in (corners, path):
        for (x0, y0), (x1, y1) in itertools.pairwise(line):
            for k in range(1, 8):
                part = k / 8
                y = math.exp(math.log(y0) * (1 - part) + math.log(y1) * part)
                found.append((x0 + (x1 - x0) * part, y))
    return found


def _look(person: bool) -> tuple[str, str]:
    return (style.VERMILLION, "D") if person else (style.BLUE, "o")
