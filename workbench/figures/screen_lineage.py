"""The family tree on screen."""

from __future__ import annotations

import math
import typing

from workbench.figures import style
from workbench.records import Status

if typing.TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_ROW = 24  # pixels


def draw(data: pd.DataFrame) -> go.Figure:
    import plotly.graph_objects as go

    figure = go.Figure()
    rows = int(data["row"].max()) + 1 if len(data) else 1
    last = int(data["round"].max()) if len(data) else 0
    style.screen_layout(figure, height=max(260, 130 + _ROW * rows))
    ticks = style.round_ticks(last)
    figure.update_xaxes(title_text="round", tickvals=ticks, range=[-0.3 - last / 50, last + 1])
    figure.update_yaxes(visible=False, range=[rows - 0.3, -0.9])
    _edges(figure, data)
    _passed(figure, data[data["status"] == Status.passed.value])
    for status in style.FAILURES:
        _failed(figure, data[data["status"] == status], status)
    if not len(data):
        text = "no candidates yet"
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure


def edges(data: pd.DataFrame) -> list[tuple[tuple[float, float], tuple[float, float], str]]:
    """(parent's place, child's place, kind); kind is "path", "other parent" or "parent"."""
    places = {
        int(c): (float(x), float(r))
        for c, x, r in zip(data["candidate"], data["x"], data["row"], strict=True)
    }
    on_path = set(data.loc[data["path"].notna(), "candidate"])
    found = []
    for child, parents in zip(data["candidate"], data["parents"], strict=True):
        for index, parent in enumerate(parents):
            kind = "other parent" if index else "parent"
            if not index and child in on_path and parent in on_path:
                kind = "path"
            found.append((places[parent], places[child], kind))
    return found


def elbow(start: tuple[float, float], end: tuple[float, float]) -> tuple[list[float], list[float]]:
    """A line that leaves its parent downwards and then runs along the child's row."""
    turn = start[0] + min(0.12, (end[0] - start[0]) / 2)
    return [start[0], turn, turn, end[0]], [start[1], start[1], end[1], end[1]]


def _edges(figure: go.Figure, data: pd.DataFrame) -> None:
    import plotly.graph_objects as go

    looks: dict[str, dict[str, object]] = {
        "parent": {"color": "rgba(127,127,127,.5)", "width": 1},
        "other parent": {"color": "rgba(127,127,127,.7)", "width": 1, "dash": "dot"},
        "path": {"color": style.GREEN, "width": 2.5},
    }
    for kind, line in looks.items():
        x: list[float | None] = []
        y: list[float | None] = []
        for start, end, its_kind in edges(data):
            if its_kind == kind:
                xs, ys = elbow(start, end)
                x, y = [*x, *xs, None], [*y, *ys, None]
        name = "ancestors of the best" if kind == "path" else kind
        figure.add_trace(
            go.Scatter(
                x=x, y=y, mode="lines", line=line, name=name, hoverinfo="skip",
                showlegend=bool(x) and kind != "parent",
            )
        )  # fmt: skip


def _passed(figure: go.Figure, passed: pd.DataFrame) -> None:
    import plotly.graph_objects as go

    if not len(passed):
        return
    if (passed["author"] == "person").any():
        figure.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name="edited by hand",
                marker={"symbol": "diamond", "size": 11, "color": style.GREY},
            )
        )  # fmt: skip
    low, high = style.log_range(passed["speedup"].tolist(), pad=0)
    ticks = style.log_ticks(low, high)
    figure.add_trace(
        go.Scatter(
            x=passed["x"].tolist(),
            y=passed["row"].tolist(),
            mode="markers",
            name="passed",
            showlegend=False,
            marker={
                "opacity": 1,
                "symbol": ["diamond" if a == "person" else "circle" for a in passed["author"]],
                "size": [14 if p else 11 for p in passed["path"].notna()],
                "color": [math.log10(v) for v in passed["speedup"]],
                "cmin": math.log10(low),
                "cmax": math.log10(high),
                "colorscale": "Cividis",
                "line": {"width": 1.5, "color": style.GREY},
                "colorbar": {
                    "title": {"text": "speedup"},
                    "tickvals": [math.log10(t) for t in ticks],
                    "ticktext": [f"{t:g}×" for t in ticks],
                    "thickness": 12,
                    "outlinewidth": 0,
                    "len": 180,
                    "lenmode": "pixels",
                    "y": 1,
                    "yanchor": "top",
                },
            },
            hovertext=[_hover(row) for _, row in passed.iterrows()],
            hoverinfo="text",
        )
    )


def _failed(figure: go.Figure, failed: pd.DataFrame, status: str) -> None:
    import plotly.graph_objects as go

    symbol, _, colour = style.FAILURES[status]
    if len(failed):
        figure.add_trace(
            go.Scatter(
                x=failed["x"].tolist(),
                y=failed["row"].tolist(),
                mode="markers",
                name=style.words(status),
                marker={
                    "symbol": symbol, "color": colour, "size": 9,
                    "line": {"width": 2, "color": colour},
                },
                hovertext=[_hover(row) for _, row in failed.iterrows()],
                hoverinfo="text",
            )
        )  # fmt: skip


def _hover(row: pd.Series[typing.Any]) -> str:
    passed = row["status"] == Status.passed.value
    parents = ", ".join(str(p) for p in row["parents"])
    return style.hover(
        f"candidate {row['candidate']} · round {row['round']} · {style.words(row['status'])}",
        row["title"],
        f"from candidate {parents}" if parents else None,
        f"{style.times(row['speedup'])} · {row['time_us']:.4g} µs" if passed else None,
        row["detail"] if isinstance(row["detail"], str) else None,
        "written by a person" if row["author"] == "person" else None,
    )
