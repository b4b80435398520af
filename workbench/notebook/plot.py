"""A plot that is redrawn in place, from any thread."""

from __future__ import annotations

import json
from typing import Protocol

import ipywidgets

_PLOTLY = "application/vnd.plotly.v1+json"


class PlotlyFigure(Protocol):
    """What is needed of a plotly figure."""

    def to_json(self) -> str: ...


class PlotPane(ipywidgets.Output):  # type: ignore[misc]
    """Shows one figure; survives a page reload, which plotly's FigureWidget does not.

    A redraw costs the page a whole plot: show a figure once a round, not ten times a second.
    """

    def show(self, figure: PlotlyFigure, *, description: str) -> None:
        """Replace the figure; `description` says in words what it shows."""
        data = {_PLOTLY: json.loads(figure.to_json()), "text/plain": description}
        self.outputs = ({"output_type": "display_data", "metadata": {}, "data": data},)
