"""Several searches of one problem: the best speedup found against the kernels it took."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence

from workbench.figures import style
from workbench.figures.figure import Figure, caption
from workbench.history import History

if typing.TYPE_CHECKING:
    import matplotlib.figure
    import pandas as pd
    import plotly.graph_objects as go

Runs = Mapping[str, History | Sequence[History]]
_TYPES = {
    "name": "str", "run": "Int64", "kernels": "Int64", "candidate": "Int64",
    "best": "Int64", "best_speedup": "float64",
}  # fmt: skip
_DASHES = (("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."))


def comparison(runs: Runs) -> Figure:
    """Best speedup so far against the number of kernels evaluated, a line for each name.

    A name with several runs (seeds) is drawn as their median with the quartiles as a band, from
    where every run has a kernel that passed to where the shortest ends.
    """
    histories = [h for _, group in _grouped(runs) for h in group]
    problems = sorted({h.run.problem.name for h in histories})
    devices = sorted({h.run.environment.device for h in histories})
    if len({(h.run.problem.sha, h.run.environment.device) for h in histories}) != 1:
        raise ValueError(
            f"only runs of one problem on one device compare; these are of "
            f"{', '.join(problems) or 'none'} on {', '.join(devices) or 'none'}"
        )
    sizes = ", ".join(f"{name} ({len(group)})" for name, group in _grouped(runs))
    what = (
        "Best speedup over eager PyTorch found so far against the number of kernels evaluated; "
        f"runs: {sizes}. Several runs: median and quartiles. Strategy, model and numbers that "
        "follow are those of the first run."
    )
    return Figure(
        name="comparison",
        data=comparison_data(runs),
        caption=caption(histories[0], what),
        screen=_screen,
        paper=_paper,
    )


def comparison_data(runs: Runs) -> pd.DataFrame:
    """One row an evaluated candidate: its place in its run, the best so far and its speedup."""
    import pandas as pd

    rows: list[dict[str, object]] = []
    for name, group in _grouped(runs):
        for index, history in enumerate(group):
            rows += _rows(name, index, history)
    return pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)


def bands(data: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """For each name a frame by number of kernels: low, middle and high over its runs."""
    found = {}
    for name in dict.fromkeys(data["name"]):
        table = data[data["name"] == name].pivot_table(
            index="kernels", columns="run", values="best_speedup"
        )
        quartiles = table.dropna().astype(float).quantile([0.25, 0.5, 0.75], axis=1).T
        quartiles.columns = ["low", "middle", "high"]
        found[name] = quartiles
    return found


def _rows(name: str, index: int, history: History) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    best: tuple[float, int, float] | None = None  # lower bound, candidate, speedup
    judged = [c for c in history.candidates if history.evaluation(c.number)]
    for count, candidate in enumerate(judged, start=1):
        ratio = history.speedup(candidate.number)
        if ratio and (best is None or ratio.low > best[0]):
            best = (ratio.low, candidate.number, ratio.value)
        rows.append(
            {
                "name": name,
                "run": index,
                "kernels": count,
                "candidate": candidate.number,
                "best": best[1] if best else None,
                "best_speedup": best[2] if best else None,
            }
        )
    return rows


def _grouped(runs: Runs) -> list[tuple[str, Sequence[History]]]:
    return [(n, [g] if isinstance(g, History) else list(g)) for n, g in runs.items()]


def _range(groups: dict[str, pd.DataFrame]) -> tuple[float, float]:
    return style.log_range([1.0, *(v for g in groups.values() for v in g.to_numpy().ravel())])


def _screen(data: pd.DataFrame) -> go.Figure:
    import plotly.graph_objects as go

    groups = bands(data)
    low, high = _range(groups)
    ticks = style.log_ticks(low, high)
    figure = go.Figure()
    style.screen_layout(figure, height=440)
    figure.update_xaxes(title_text="kernels evaluated", rangemode="tozero", showgrid=False)
    figure.update_yaxes(
        title_text="best speedup over eager",
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=ticks,
        ticktext=[f"{t:g}×" for t in ticks],
    )
    figure.add_hline(1, line={"color": style.GREY, "width": 1})
    for index, (name, group) in enumerate(groups.items()):
        colour = _colour(index, style.SCREEN_BLUE, style.GREY)
        x = group.index.tolist()
        for column in ("low", "high"):
            figure.add_trace(
                go.Scatter(
                    x=x, y=group[column].tolist(), mode="lines", hoverinfo="skip",
                    line={"width": 0, "shape": "hv"}, showlegend=False, legendgroup=name,
                    fill="tonexty" if column == "high" else None, fillcolor=_faint(colour),
                )
            )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=x, y=group["middle"].tolist(), mode="lines", name=name, legendgroup=name,
                line={"color": colour, "width": 2, "shape": "hv", "dash": _DASHES[index % 4][0]},
                hovertext=[
                    style.hover(f"{name}: {style.times(v)} after {k} kernels")
                    for k, v in group["middle"].items()
                ],
                hoverinfo="text",
            )
        )  # fmt: skip
    return figure


def _paper(data: pd.DataFrame, width: float) -> matplotlib.figure.Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    groups = bands(data)
    low, high = _range(groups)
    ticks = style.log_ticks(low, high)
    figure = Canvas(figsize=(width, width * (0.5 if width > 4 else 0.72)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{t:g}×" for t in ticks])
    axes.minorticks_off()
    axes.axhline(1, color="0.5", lw=0.7)
    axes.set_xlabel("kernels evaluated")
    axes.set_ylabel("best speedup over eager")
    for index, (name, group) in enumerate(groups.items()):
        colour = _colour(index, style.BLUE, style.BLACK)
        axes.fill_between(
            group.index, group["low"], group["high"], step="post", color=colour, alpha=0.15, lw=0
        )
        dash = _DASHES[index % 4][1]
        found = style.times(group["middle"].iloc[-1]) if len(group) else "none passed"
        label = f"{name}, {found}"
        axes.step(group.index, group["middle"], where="post", color=colour, ls=dash, label=label)
    axes.set_xlim(0, None)
    axes.legend(loc="best", frameon=False)
    return figure


def _colour(index: int, first: str, last: str) -> str:
    colours = (first, *style.OKABE_ITO[1:6], last)
    return colours[index % len(colours)]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},.15)"
