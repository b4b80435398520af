"""One kernel in the editor: change it, build, check and time it in place."""

from __future__ import annotations

import ipywidgets

from workbench.history import History
from workbench.notebook import words
from workbench.notebook.desk import Desk, button
from workbench.notebook.diagnostics import parse
from workbench.notebook.editor import KernelEditor
from workbench.notebook.jobs import Job
from workbench.records import Candidate, WorkbenchError


class EditPanel(ipywidgets.VBox):  # type: ignore[misc]
    """Stands at one candidate; running a changed text makes a new one, and moves on to it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._at: Candidate | None = None
        self._drafts: dict[int, str] = {}  # texts that were left without being run
        self._heading, self._verdict = ipywidgets.HTML(), ipywidgets.HTML()
        self.editor = KernelEditor()
        self.editor.on_run(desk.jobs.guard(self._run))
        self.editor.on_save(desk.jobs.guard(self._keep))
        self._before = ""
        self._diff = ipywidgets.ToggleButton(description="Changes", layout={"width": "auto"})
        self._diff.observe(lambda _: self._show_diff(), "value")
        run = button("Build, check, time", self._run, desk, tip="Run this text as a new kernel")
        keep = button(
            "Keep without running", self._keep, desk, tip="Make it a kernel, run it later"
        )
        row = ipywidgets.HBox([run, keep, self._diff])
        super().__init__([self._heading, self.editor, row, self._verdict])

    @property
    def number(self) -> int | None:
        """The candidate it stands at; None before the first."""
        return self._at.number if self._at else None

    def load(self, number: int) -> None:
        """Show a candidate; what was typed into the one before is kept for when it comes back."""
        if self._at is not None and self.editor.value != self._at.source:
            self._drafts[self._at.number] = self.editor.value
        history = self._desk.search.history
        candidate = history.candidate(number)
        text = self._drafts.pop(number, candidate.source)
        self.editor.load(text, label=f"Source of kernel {number}")
        self._stand_at(history, candidate)

    def _stand_at(self, history: History, candidate: Candidate) -> None:
        self._at = candidate
        self._heading.value = words.edit_heading(history, candidate)
        before = history.candidate(candidate.parents[0]) if candidate.parents else candidate
        self._before = before.source
        self._diff.description = f"Changes against kernel {before.number}"
        self._show_diff()
        evaluation = history.evaluation(candidate.number)
        self._verdict.value = words.verdict(history, candidate.number)
        log = evaluation.build.log if evaluation and evaluation.build else ""
        messages = parse(log, candidate.source)
        self.editor.show_diagnostics(m for m in messages if m.file.startswith("kernel."))

    def _show_diff(self) -> None:
        self.editor.original = self._before if self._diff.value else None

    def _run(self) -> None:
        """Run the text: as it is if it waits for that, else as a new kernel."""
        base, text, search = self._chosen(), self.editor.value, self._desk.search
        is_new = text != base.source or search.history.evaluation(base.number) is not None
        kernel = search.edit(base.number, text) if is_new else base
        search.approve(kernel)  # it is a person who runs it

        def work(_: Job) -> None:
            search.evaluate(kernel.number)

        def show(_: Job) -> None:
            if self._at is kernel:
                self._stand_at(search.history, kernel)
            self._desk.watcher.refresh()

        self._stand_at(search.history, kernel)
        self._desk.watcher.refresh()
        self._desk.jobs.submit(f"Kernel {kernel.number}", work, on_done=show)

    def _keep(self) -> None:
        base = self._chosen()
        if self.editor.value != base.source:
            kept = self._desk.search.edit(base.number, self.editor.value)
            self._stand_at(self._desk.search.history, kept)

    def _chosen(self) -> Candidate:
        if self._at is None:
            raise WorkbenchError("no kernel is open in the editor; choose one first")
        return self._at
