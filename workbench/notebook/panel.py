"""All of a search in one panel: steps, ideas, kernels, editor, results, plot."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets

from workbench.history import History
from workbench.notebook import live, words
from workbench.notebook.cards import IdeaCards, KernelCards
from workbench.notebook.desk import Desk, button
from workbench.notebook.edit_panel import EditPanel
from workbench.search.missing import Missing

_IDEAS, _KERNELS, _EDITOR = range(3)


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """Callbacks only submit jobs or record decisions; everything shown is read from the store."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._edit = EditPanel(desk)
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
        steps: list[tuple[str, Callable[[], object], int | None, str]] = [
            ("Time PyTorch", search.baselines, None, "Eager and compiled, to compare with"),
            ("Propose ideas", search.propose, _IDEAS, "Ask the model for ideas in plain language"),
            ("Write kernels", search.implement, _KERNELS, "Approved ideas become kernels"),
            ("Run approved kernels", search.evaluate, None, "Build, check and time them"),
            ("Repair failures", search.repair, _KERNELS, "Show the model what failed, once"),
            (
                "Run a round",
                lambda: search.step(approve=True),
                None,
                "All of it, approving by itself",
            ),
        ]
        return ipywidgets.HBox(
            [self._step(*step) for step in steps], layout={"flex_flow": "row wrap"}
        )

    def _step(
        self, name: str, work: Callable[[], object], then: int | None, tip: str
    ) -> ipywidgets.Button:
        def done(_: object) -> None:
            self._desk.watcher.refresh()
            if then is not None:
                self._tabs.selected_index = then

        def submit() -> None:
            self._desk.jobs.submit(name, lambda _: work(), on_done=done)

        return button(name, submit, self._desk, tip=tip)

    def _open(self, number: int) -> None:
        self._tabs.selected_index = _EDITOR
        self._picker.value = number

    def _load(self, number: int | None) -> None:
        if not self._filling and number is not None and number != self._edit.number:
            self._edit.load(number)

    def _update(self, history: History) -> None:
        self._fill_picker(history)
        missing = Missing.of(history)
        ideas, kernels = len(missing.ideas), len(missing.candidates)
        self._next.value = f"<p role='status'>Next: {words.next_step(missing)}</p>"
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
        chosen = self._edit.number or (best.number if best else options[0][1])
        self._filling = True
        self._picker.options, self._picker.value = options, chosen
        self._filling = False
        self._load(chosen)


def _titled(title: str, widget: ipywidgets.Widget) -> ipywidgets.VBox:
    return ipywidgets.VBox([ipywidgets.HTML(f"<h3>{title}</h3>"), widget])
