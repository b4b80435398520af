"""The only code that knows Jupyter: panels to review, edit and follow a search."""

from __future__ import annotations

import functools

import ipywidgets

from workbench.notebook import live
from workbench.notebook.cards import IdeaCards, KernelCards
from workbench.notebook.desk import desk_of, framed
from workbench.notebook.edit_panel import EditPanel
from workbench.notebook.panel import Panel
from workbench.search import Search

__all__ = ["edit", "open", "results", "review", "trajectory"]


@functools.cache
def review(search: Search) -> ipywidgets.VBox:
    """Ideas and new kernels as cards: approve, reject, reword, add one of your own."""
    desk = desk_of(search)
    return framed(desk.jobs.alerts, IdeaCards(desk), KernelCards(desk))


def edit(search: Search, number: int) -> ipywidgets.VBox:
    """A kernel in an editor: change it, then Ctrl-Enter builds, checks and times it."""
    desk = desk_of(search)
    editing = EditPanel(desk)
    editing.load(number)
    return framed(editing, desk.jobs)


@functools.cache
def results(search: Search) -> ipywidgets.VBox:
    """A table of all kernels that follows the run, also one in another process."""
    return framed(live.table(desk_of(search)))


@functools.cache
def trajectory(search: Search) -> ipywidgets.VBox:
    """The speedups by round, redrawn while the run goes on, also one in another process."""
    return framed(live.plot(desk_of(search)))


@functools.cache
def open(search: Search) -> ipywidgets.VBox:
    """All of it in one panel: steps, ideas, kernels, editor, results, plot."""
    return framed(Panel(desk_of(search)))
