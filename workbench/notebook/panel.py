"""All of a search in one panel: steps, ideas, kernels, editor, results, plot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import ipywidgets

from workbench.history import History
from workbench.notebook import live, words
from workbench.notebook.cards import IdeaCards, KernelCards
from workbench.notebook.desk import Desk, button
from workbench.notebook.edit_panel import EditPanel
from workbench.notebook.jobs import Job
from workbench.search.missing import Missing

_IDEAS, _KERNELS, _EDITOR = range(3)


@dataclass(frozen=True)
class _Step:
    """A button: what it does, the tab that then matters, and how much is left of its work."""

    name: str
    work: Callable[[], object]
    tip: str
    shows: int | None = None  # None: the tab stays
    left: Callable[[Missing], int] = lambda _: 0  # 0 at first: its progress is not known


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """Callbacks only submit jobs or record decisions; everything shown is read from the store."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._edit = EditPanel(desk)
        self._progress: tuple[Job, Callable[[Missing], int], int] | None = None
        self._filling = False  # the picker's options change, not a person's choice
        self._picker = ipywidgets.Dropdown(
            description="Kernel", options=[("none yet", None)], layout={"width": "98%"}
        )
        self._picker.observe(lambda change: self._load(change["new"]), "value")
        self._tabs = ipywidgets.Tab(
            [
                IdeaCards(desk),
                KernelCards(desk, self._open),
                ipywidgets.VBox([self._picker, self._edit]),
            ],
            titles=["Ideas", "Kernels", "Editor"],
        )
        plot = _titled("Trajectory", live.plot(desk))
        table = _titled("Results", live.table(desk))
        self._next = ipywidgets.HTML()
        super().__init__([self._steps(), self._next, desk.jobs, self._tabs, plot, table])
        desk.follow(self._update)

    def _steps(self) -> ipywidgets.HBox:
        search = self._desk.search
        steps = (
            _Step("Time PyTorch", search.baselines, "Eager and compiled, to compare with"),
            _Step(
                "Propose ideas", search.propose, "Ask the model for ideas in plain language",
                shows=_IDEAS,
            ),
            _Step(
                "Write kernels", search.implement, "Approved ideas become kernels",
                shows=_KERNELS, left=lambda missing: len(missing.kernels),
            ),
            _Step(
                "Run approved kernels", search.evaluate, "Build, check and time them",
                left=lambda missing: len(missing.evaluations),
            ),
            _Step(
                "Repair failures", search.repair, "Show the model what failed, once",
                shows=_KERNELS, left=lambda missing: len(missing.repairs),
            ),
            _Step("Run a round", lambda: search.step(approve=True), "All, approving by itself"),
        )  # fmt: skip
        buttons = [
            button(step.name, functools.partial(self._take, step), self._desk, tip=step.tip)
            for step in steps
        ]
        return ipywidgets.HBox(buttons, layout={"flex_flow": "row wrap"})

    def _take(self, step: _Step) -> None:
        """Submit a step; what it leaves to do shrinks, which is its progress."""

        def work(job: Job) -> None:
            self._progress = (job, step.left, step.left(self._desk.search.missing))
            step.work()

        def done(job: Job) -> None:
            self._progress = None
            self._desk.watcher.refresh()
            if job.state == "done" and step.shows is not None:
                self._tabs.selected_index = step.shows

        self._desk.jobs.submit(step.name, work, on_done=done)

    def _open(self, number: int) -> None:
        self._tabs.selected_index = _EDITOR
        self._picker.value = number

    def _load(self, number: int | None) -> None:
        if not self._filling and number is not None and number != self._edit.number:
            self._edit.load(number)

    def _update(self, history: History) -> None:
        self._fill_picker(history)
        missing = Missing.of(history)
        if self._progress is not None:
            job, left, at_first = self._progress
            job.fraction = 1 - left(missing) / at_first if at_first else None
        ideas, kernels = len(missing.ideas), len(missing.candidates)
        self._next.value = words.progress(history, missing)
        self._tabs.titles = [
            f"Ideas ({ideas} to decide)" if ideas else "Ideas",
            f"Kernels ({kernels} to decide)" if kernels else "Kernels",
            "Editor",
        ]

    def _fill_picker(self, history: History) -> None:
        """Offer all kernels, newest first; stay at the one in the editor, or begin at the best."""
        options = tuple((words.kernel(history, c), c.number) for c in reversed(history.candidates))
        if not options or self._picker.options == options:
            return
        best = history.best
        chosen = self._edit.number
        if chosen is None:
            chosen = best.number if best else options[0][1]
        self._filling = True
        self._picker.options, self._picker.value = options, chosen
        self._filling = False
        self._load(chosen)


def _titled(title: str, widget: ipywidgets.Widget) -> ipywidgets.VBox:
    return ipywidgets.VBox([ipywidgets.HTML(f"<h3>{title}</h3>"), widget])
