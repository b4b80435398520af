"""The trajectory on screen: plotly, with everything known of a candidate in its hover box."""

from __future__ import annotations

import math
import typing

from workbench.figures import style
from workbench.figures.marks import Marks

if typing.TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_HEIGHT = 520
_ROW = 26  # pixels of one row of the strip of failures
_PLOT = _HEIGHT - 90


def draw(data: pd.DataFrame, measure: str) -> go.Figure:
    import plotly.graph_objects as go

    marks = Marks(data, measure)
    figure = go.Figure()
    style.screen_layout(figure, height=_HEIGHT)
    _axes(figure, marks)
    _horizontal_lines(figure, marks)
    _steps(figure, marks)
    _points(figure, marks)
    _strip(figure, marks)
    if not len(marks.passed):
        text = "no kernel has passed yet" if len(marks.candidates) else "no candidates yet"
        figure.add_annotation(text=text, x=0.5, y=0.6, xref="paper", yref="paper", showarrow=False)
    return figure


def _axes(figure: go.Figure, marks: Marks) -> None:
    low, high = marks.range
    ticks = style.log_ticks(low, high)
    strip = (_ROW * len(marks.rows) + 14) / _PLOT if marks.rows else 0.0
    figure.update_yaxes(
        title_text=marks.title,
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=ticks,
        ticktext=[f"{t:g}×" if marks.measure == "speedup" else f"{t:g}" for t in ticks],
        domain=[strip + 0.03 if strip else 0.0, 1.0],
    )
    figure.update_xaxes(
        title_text="round",
        range=[-0.55, marks.last_round + 0.55],
        tickvals=style.round_ticks(marks.last_round),
        showgrid=False,
        anchor="y2" if strip else "y",
    )
    if strip:
        figure.update_layout(
            yaxis2={
                "domain": [0.0, strip],
                "range": [len(marks.rows) - 0.4, -0.6],
                "tickvals": list(range(len(marks.rows))),
                "ticktext": [style.words(s) for s in marks.rows],
                "showgrid": False,
                "zeroline": False,
                "fixedrange": True,
            }
        )


def _horizontal_lines(figure: go.Figure, marks: Marks) -> None:
    import plotly.graph_objects as go

    low, high = (math.log10(v) for v in marks.range)
    height = _PLOT * (figure.layout.yaxis.domain[1] - figure.layout.yaxis.domain[0])
    pixels = [
        (math.log10(v) - low) / (high - low) * height for v in marks.lines[marks.value].tolist()
    ]
    apart = style.spread(pixels, 16)
    names, values = marks.lines["name"].tolist(), marks.lines[marks.value].tolist()
    for name, value, at, moved in zip(names, values, pixels, apart, strict=True):
        label = marks.line_label(name, value)
        figure.add_trace(
            go.Scatter(
                x=[-0.55, marks.last_round + 0.55],
                y=[value, value],
                mode="lines",
                line={
                    "color": style.GREY if name != "floor" else style.PURPLE,
                    "width": 1,
                    "dash": _dash(name),
                },
                hovertext=style.hover(label),
                hoverinfo="text",
                showlegend=False,
            )
        )
        figure.add_annotation(
            text=style.hover(label),
            x=1.0,
            xref="paper",
            y=math.log10(value),
            yshift=moved - at,
            xanchor="left",
            xshift=4,
            showarrow=False,
            font={"size": 12},
        )


def _steps(figure: go.Figure, marks: Marks) -> None:
    import plotly.graph_objects as go

    x, y = marks.leader
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            name="best so far",
            line={"color": style.GREEN, "width": 2, "shape": "hv"},
            hoverinfo="skip",
            visible=True if x else "legendonly",
            showlegend=bool(x),
        )
    )
    figure.add_trace(
        go.Scatter(
            x=marks.path["x"].tolist(),
            y=marks.path[marks.value].tolist(),
            mode="lines",
            name="ancestors of the best",
            line={"color": style.GREY, "width": 1.5, "dash": "dot"},
            hoverinfo="skip",
            showlegend=len(marks.path) > 1,
        )
    )


def _points(figure: go.Figure, marks: Marks) -> None:
    import plotly.graph_objects as go

    low, high = marks.bounds
    for person in (False, True):
        chosen = marks.passed[(marks.passed["author"] == "person") == person]
        value = chosen[marks.value]
        figure.add_trace(
            go.Scatter(
                x=chosen["x"].tolist(),
                y=value.tolist(),
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": (chosen[high] - value).tolist(),
                    "arrayminus": (value - chosen[low]).tolist(),
                    "thickness": 1,
                    "width": 2,
                },
                mode="markers",
                name="edited by hand" if person else "passed",
                marker={
                    "symbol": "diamond" if person else "circle",
                    "opacity": 1,
                    "color": style.VERMILLION if person else style.SCREEN_BLUE,
                    "size": [12 if p else 8 for p in chosen["path"].notna()],
                    "line": {
                        "color": style.GREY,
                        "width": [2 if p else 0 for p in chosen["path"].notna()],
                    },
                },
                hovertext=[_hover(row, marks) for _, row in chosen.iterrows()],
                hoverinfo="text",
                showlegend=bool(len(chosen)),
            )
        )


def _strip(figure: go.Figure, marks: Marks) -> None:
    import plotly.graph_objects as go

    for index, status in enumerate(marks.rows):
        symbol, _, colour = style.FAILURES[status]
        chosen = marks.failed[marks.failed["status"] == status]
        person = (chosen["author"] == "person").tolist()
        figure.add_trace(
            go.Scatter(
                x=chosen["x"].tolist(),
                y=[index] * len(chosen),
                yaxis="y2",
                mode="markers",
                name=style.words(status),
                marker={
                    "symbol": ["diamond-open" if p else symbol for p in person],
                    "color": colour,
                    "size": 9,
                    "line": {"width": 2, "color": colour},
                },
                hovertext=[_hover(row, marks) for _, row in chosen.iterrows()],
                hoverinfo="text",
                showlegend=False,
            )
        )


def _hover(row: pd.Series[typing.Any], marks: Marks) -> str:
    passed = row["status"] == "passed"
    numbers = f"{row['speedup']:.3g}× [{row['speedup_low']:.3g}, {row['speedup_high']:.3g}]"
    time = f"{row['time_us']:.4g} µs"
    return style.hover(
        f"candidate {row['name']} · round {row['round']} · {style.words(row['status'])}",
        row["title"],
        row["category"] if isinstance(row["category"], str) else None,
        f"{numbers} · {time}" if passed else None,
        row["detail"] if isinstance(row["detail"], str) else None,
        "written by a person" if row["author"] == "person" else None,
    )


def _dash(name: str) -> str:
    return {"eager": "solid", "floor": "dashdot"}.get(name, "dash")
