"""What the panels of one search share: its jobs, its watcher, one look."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import anywidget
import ipywidgets

from workbench.history import History
from workbench.notebook.jobs import JobRunner
from workbench.notebook.watch import Watcher
from workbench.search import Search

_STATIC = Path(__file__).parent / "static"


class Desk:
    """One a search, so that two panels never start two jobs at once."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.jobs = JobRunner(activity=lambda: search.activity, on_cancel=search.cancel)
        self.watcher = Watcher(lambda: search.history)

    def follow(self, update: Callable[[History], object]) -> None:
        """Show the history with `update` on the kernel's loop, now and after every change."""
        self.watcher.subscribe(lambda h: self.jobs.on_loop(update, h), first=update)


@functools.cache
def desk_of(search: Search) -> Desk:
    return Desk(search)


def button(text: str, does: Callable[[], object], desk: Desk, *, tip: str) -> ipywidgets.Button:
    """A button whose effect is shown at once, its failure too."""

    def click(_: object) -> None:
        desk.jobs.alert("")
        does()
        desk.watcher.refresh()

    made = ipywidgets.Button(description=text, tooltip=tip, layout={"width": "auto"})
    made.on_click(desk.jobs.guard(click))
    return made


class _Look(anywidget.AnyWidget):  # type: ignore[misc]
    """The style of a panel, and its peace from JupyterLab's shortcuts."""

    _css = _STATIC / "panel.css"
    _esm = _STATIC / "panel.js"


def framed(*children: ipywidgets.Widget) -> ipywidgets.VBox:
    """Widgets below each other, in the workbench's look."""
    box = ipywidgets.VBox([_Look(layout={"display": "none"}), *children])
    box.add_class("wb")
    return box
