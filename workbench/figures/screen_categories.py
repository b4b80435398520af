"""Categories on screen."""

from __future__ import annotations

import math
import textwrap
import typing

from workbench.figures import style
from workbench.figures.categories import FASTER, LOOKS, counts

if typing.TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw(data: pd.DataFrame) -> go.Figure:
    import plotly.graph_objects as go

    table = counts(data)
    groups = list(table.index)
    figure = go.Figure()
    style.screen_layout(figure, height=150 + 44 * max(len(groups), 2))
    figure.update_layout(
        barmode="stack",
        legend_traceorder="normal",
        bargap=0.35,
        margin_l=150,
        margin_r=30,
        xaxis={"domain": [0, 0.56], "title": {"text": "kernels"}},
        yaxis={
            "tickvals": list(range(len(groups))),
            "ticktext": ["<br>".join(textwrap.wrap(g, 20)) for g in groups],
            "range": [len(groups) - 0.4, -0.6],
            "showgrid": False,
        },
    )
    for outcome in table.columns:
        colour, _, pattern = LOOKS[outcome]
        numbers = table[outcome].tolist()
        figure.add_trace(
            go.Bar(
                x=numbers,
                y=list(range(len(groups))),
                orientation="h",
                name=style.words(outcome),
                marker={
                    "color": style.SCREEN_BLUE if outcome == FASTER else colour,
                    "pattern": {"shape": pattern, "fgcolor": "#fff", "size": 6},
                    "line": {"width": 0},
                },
                text=[str(n) if n else "" for n in numbers],
                textposition="inside",
                insidetextanchor="middle",
                textfont={"color": "#000"},
                textangle=0,
                hovertemplate=f"%{{x}} {style.words(outcome)}<extra></extra>",
            )
        )
    if groups:
        _gains(figure, data, groups)
    else:
        figure.update_layout(xaxis_visible=False, yaxis_visible=False, xaxis_domain=[0, 1])
        text = "no candidates yet"
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure


def _gains(figure: go.Figure, data: pd.DataFrame, groups: list[str]) -> None:
    import plotly.graph_objects as go

    gained = data[data["gain"].notna()].reset_index(drop=True)
    low, high = style.log_range([1.0, *gained["gain_low"], *gained["gain_high"]])
    ticks = style.log_ticks(low, high)
    figure.update_layout(
        xaxis2={
            "domain": [0.62, 1],
            "anchor": "y",
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "tickvals": ticks,
            "ticktext": [f"{t:g}×" for t in ticks],
            "title": {"text": "gain over parent"},
            "gridcolor": "rgba(127,127,127,.25)",
        },
        shapes=[
            {
                "type": "line", "xref": "x2", "yref": "paper", "x0": 1, "x1": 1, "y0": 0, "y1": 1,
                "line": {"color": style.GREY, "width": 1.5},
            }
        ],
    )  # fmt: skip
    person = (gained["author"] == "person").tolist()
    won = (gained["outcome"] == FASTER).tolist()
    figure.add_trace(
        go.Scatter(
            x=gained["gain"].tolist(),
            y=offsets(gained, groups),
            xaxis="x2",
            mode="markers",
            showlegend=False,
            marker={
                "symbol": [
                    ("diamond" if p else "circle") + ("" if w else "-open")
                    for p, w in zip(person, won, strict=True)
                ],
                "color": [style.VERMILLION if p else style.SCREEN_BLUE for p in person],
                "size": 8,
                "line": {"width": 1.5},
            },
            hovertext=[
                style.hover(
                    f"candidate {row['candidate']} · round {row['round']}",
                    row["title"],
                    f"{style.times(row['gain'])} over {row['against']}",
                )
                for _, row in gained.iterrows()
            ],
            hoverinfo="text",
        )
    )


def offsets(gained: pd.DataFrame, groups: list[str]) -> list[float]:
    """A row for each gain: its group's, moved up and down in the order of the candidates."""
    sizes = gained["group"].value_counts()
    seen: dict[str, int] = {}
    rows = []
    for group in gained["group"]:
        seen[group] = seen.get(group, 0) + 1
        part = (seen[group] - 0.5) / int(sizes[group]) - 0.5
        rows.append(groups.index(group) + 0.6 * part)
    return rows
