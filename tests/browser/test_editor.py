"""The editor in JupyterLab: it tells every edit, shows every message, and keeps to itself."""

from __future__ import annotations

from collections.abc import Callable

from lab import Lab
from playwright.sync_api import expect

EDITOR = """
from workbench.notebook.editor import KernelEditor
from workbench.notebook.diagnostics import Diagnostic
editor = KernelEditor("int a;\\nint b;\\n")
ran, saved = [], []
editor.on_run(lambda: ran.append(editor.value))
editor.on_save(lambda: saved.append(editor.value))
editor
"""
MARK = """editor.show_diagnostics([Diagnostic(
    file="kernel.cu", line=2, column=5, severity="error", message="no b here")])"""


def test_typing_reaches_the_kernel_and_ctrl_enter_is_a_callback(lab: Lab) -> None:
    lab.open(EDITOR)
    lab.editor.press("Control+End")
    lab.page.keyboard.type("__global__")
    lab.page.keyboard.press("Control+Enter")
    lab.expect_printed("print(ran)", r"['int a;\nint b;\n__global__']")


def test_messages_are_marked_at_their_lines(
    lab: Lab, screenshot: Callable[[Lab, str], object]
) -> None:
    lab.open(EDITOR)
    lab.execute(MARK)
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).to_have_count(1)
    expect(lab.page.locator(".wb-editor .cm-lintRange-error")).to_have_text("b")
    lab.page.locator(".wb-editor .cm-lint-marker-error").hover()
    expect(lab.page.locator(".cm-tooltip")).to_contain_text("no b here")
    screenshot(lab, "editor_message")
    lab.execute("editor.show_diagnostics([])")
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).to_have_count(0)


def test_a_diff_shows_both_texts_and_stays_editable(
    lab: Lab, screenshot: Callable[[Lab, str], object]
) -> None:
    lab.open(EDITOR)
    lab.execute("editor.original = 'int a;\\nlong b;\\n'")
    expect(lab.page.locator(".wb-editor .cm-mergeView")).to_be_visible()
    expect(lab.page.locator(".wb-editor .cm-content").first).to_contain_text("long b;")
    lab.editor.press("Control+End")
    lab.page.keyboard.type("int c;")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(saved)", r"['int a;\nint b;\nint c;']")
    screenshot(lab, "editor_diff")


def test_another_original_takes_neither_the_cursor_nor_the_focus(lab: Lab) -> None:
    lab.open(EDITOR)
    lab.editor.press("Control+End")
    lab.page.keyboard.type("one;")
    lab.execute("editor.original = 'int a;'")
    expect(lab.page.locator(".wb-editor .cm-mergeView")).to_be_visible()
    lab.page.keyboard.type("two;")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(saved)", r"['int a;\nint b;\none;two;']")


def test_a_read_only_editor_takes_no_typing(lab: Lab) -> None:
    lab.open(EDITOR, "editor.read_only = True")
    lab.editor.press("Control+End")
    lab.page.keyboard.type("x")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(saved)", r"['int a;\nint b;\n']")


def test_another_text_cannot_be_undone_into_the_one_before(lab: Lab) -> None:
    lab.open(EDITOR)
    lab.editor.press("Control+End")
    lab.page.keyboard.type("int mine;")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(len(saved))", "1")
    lab.execute("editor.load('int other;', label='Kernel 2')")
    expect(lab.editor).to_have_attribute("aria-label", "Kernel 2")
    lab.editor.press("Control+z")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(saved[1:])", "['int other;']")


def test_jupyter_shortcuts_leave_the_editor_alone(lab: Lab) -> None:
    lab.open(EDITOR)
    cells = lab.page.locator(".jp-Notebook .jp-Cell").count()
    lab.editor.press("Escape")
    lab.page.keyboard.type("dd")
    lab.page.keyboard.press("Shift+Enter")
    expect(lab.page.locator(".jp-Notebook .jp-Cell")).to_have_count(cells)
    expect(lab.editor).to_be_focused()


def test_tab_leaves_the_editor_after_escape(lab: Lab) -> None:
    lab.open(EDITOR)
    lab.editor.press("Escape")
    lab.page.keyboard.press("Tab")
    expect(lab.editor).not_to_be_focused()


def test_a_click_never_overtakes_typing(lab: Lab) -> None:
    lab.open(
        EDITOR,
        "import time, ipywidgets\nseen = []\nbutton = ipywidgets.Button(description='Use')\n"
        "button.on_click(lambda _: seen.append(editor.value))\nbutton",
        "editor.value = 'x'",
    )
    lab.start("time.sleep(3)")
    lab.editor.press("Control+End")
    lab.page.keyboard.type("abc", delay=400)
    lab.page.keyboard.type("d")
    lab.page.get_by_role("button", name="Use").click()
    lab.finish()
    lab.expect_printed("print(seen)", "['xabcd']")


def test_a_page_that_loaded_too_slowly_still_hears_the_kernel(new_lab: Callable[..., Lab]) -> None:
    """anywidget gives a widget's code 2 s to load; here, 1 ms."""
    lab = new_lab(
        "const timeout = AbortSignal.timeout.bind(AbortSignal);"
        "AbortSignal.timeout = (ms) => timeout(ms === 2000 ? 1 : ms);"
    )
    lab.open(EDITOR)
    lab.editor.wait_for()
    lab.execute(MARK)
    lab.execute("editor.value = 'int c;\\nint b;'")
    expect(lab.page.locator(".wb-editor .cm-line").first).to_have_text("int c;")
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).to_have_count(1)
    lab.close()


def test_a_page_that_is_loaded_again_has_the_same_text_and_still_listens(
    new_lab: Callable[..., Lab],
) -> None:
    lab = new_lab()  # its own: a page with a notebook in its address opens that one again, later
    lab.open(EDITOR)
    lab.editor.press("Control+End")
    lab.page.keyboard.type("int mine;")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(len(saved))", "1")
    lab.reload()
    expect(lab.editor).to_contain_text("int mine;")
    lab.execute(MARK)
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).to_have_count(1)
    lab.editor.press("Control+End")
    lab.page.keyboard.type("more;")
    lab.page.keyboard.press("Control+s")
    lab.expect_printed("print(saved[-1].splitlines()[-1])", "int mine;more;")
    lab.close()


def test_nothing_is_asked_of_other_hosts(lab: Lab) -> None:
    lab.open(
        EDITOR,
        "import plotly.graph_objects as go\nfrom workbench.notebook.plot import PlotPane\n"
        "pane = PlotPane(); pane.show(go.Figure(go.Scatter(y=[1, 2])), description='two points')\n"
        "pane",
    )
    expect(lab.page.locator(".js-plotly-plot .scatterlayer .point")).to_have_count(2)
    lab.editor.wait_for()
    assert lab.foreign == []
