"""The kernel editor: CodeMirror for CUDA C++ as a widget."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import anywidget
import traitlets

from workbench.notebook.diagnostics import Diagnostic

_HINT = (
    "Ctrl-Enter: build, check, time · Ctrl-S: keep without running · Ctrl-F: find · "
    "F8: next message · Esc then Tab: leave the editor"
)


class KernelEditor(anywidget.AnyWidget):  # type: ignore[misc]
    """Source text that a person edits in the page. Make one and reuse it: each sends 0.5 MB.

    `value` is what was typed so far, also inside a callback that overtook nothing: edits come as
    messages in order with clicks, where trait updates are held back while the kernel is busy.
    """

    _esm = Path(__file__).parent / "static" / "cuda_editor.js"
    value = traitlets.Unicode("").tag(sync=True)
    original = traitlets.Unicode(None, allow_none=True).tag(sync=True)  # not None: shows a diff
    read_only = traitlets.Bool(False).tag(sync=True)
    diagnostics = traitlets.Dict({"revision": 0, "items": []}).tag(sync=True)
    height = traitlets.Unicode("420px").tag(sync=True)
    label = traitlets.Unicode("Kernel source").tag(sync=True)
    loads = traitlets.Int(0).tag(
        sync=True
    )  # a new text was loaded: the page forgets its undo steps
    hint = traitlets.Unicode(_HINT).tag(sync=True)
    wid = traitlets.Unicode().tag(sync=True)

    def __init__(self, value: str = "", *, label: str = "Kernel source") -> None:
        wid = uuid.uuid4().hex  # in the very first message, so that the page can find its own model
        super().__init__(value=value, label=label, wid=wid, model_id=wid)
        self._on_run: list[Callable[[], object]] = []
        self._on_save: list[Callable[[], object]] = []
        self.on_msg(self._receive)

    def load(self, source: str, *, label: str, original: str | None = None) -> None:
        """Show another text, with nothing marked and nothing to undo."""
        with self.hold_sync():
            self.value, self.original, self.label = source, original, label
            self.loads += 1
            self.show_diagnostics(())

    def show_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Mark these messages at their lines, in place of the ones shown."""
        items = [
            {"line": d.line, "column": d.column, "severity": d.severity, "message": d.message}
            for d in diagnostics
        ]  # the revision makes equal messages a change, which puts moved marks back
        self.diagnostics = {"revision": self.diagnostics["revision"] + 1, "items": items}

    def go_to(self, line: int) -> None:
        """Put the cursor on a line and the focus in the editor."""
        self.send({"goto": line})

    def on_run(self, callback: Callable[[], object]) -> None:
        """Call back on Ctrl-Enter."""
        self._on_run.append(callback)

    def on_save(self, callback: Callable[[], object]) -> None:
        """Call back on Ctrl-S."""
        self._on_save.append(callback)

    def _receive(self, _: object, message: dict[str, str], __: object) -> None:
        event = message.get("event")
        if event == "hello":  # a page joined, and may have missed all but the first state
            self.send_state(["value", "original", "read_only", "diagnostics", "label", "loads"])
        text = message.get("value")
        if text is not None and text != self.value:
            with self._lock_property(value=text):  # no echo into a page that has typed on
                self.value = text
        for callback in {"run": self._on_run, "save": self._on_save}.get(str(event), ()):
            callback()
