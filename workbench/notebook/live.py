"""The table and the plot of a run, kept up to date."""

from __future__ import annotations

import ipywidgets

from workbench import figures
from workbench.history import History
from workbench.notebook import words
from workbench.notebook.desk import Desk
from workbench.notebook.plot import PlotPane


def table(desk: Desk) -> ipywidgets.HTML:
    """Every candidate: idea, author, verdict, time and speedup with their intervals."""
    shown = ipywidgets.HTML(layout={"width": "100%"})

    def draw(history: History) -> None:
        shown.value = words.results(history)

    desk.watcher.subscribe(draw)
    return shown


def plot(desk: Desk) -> PlotPane:
    """The trajectory; redrawn when a kernel was judged or a baseline timed, not at each record."""
    pane = PlotPane(layout={"width": "100%"})
    drawn: list[int] = []

    def draw(history: History) -> None:
        state = [len(history.candidates), len(history.evaluations), len(history.baselines)]
        if drawn == state:
            return
        drawn[:] = state
        figure = figures.trajectory(history)
        pane.show(figure.plotly(), description=figure.caption)

    desk.watcher.subscribe(draw)
    return pane
