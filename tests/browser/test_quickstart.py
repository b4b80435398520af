"""A person's way through a search in JupyterLab, with real kernels on this machine's CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import REPOSITORY, Lab
from playwright.sync_api import Locator, expect

import workbench as wb
from workbench.llm import recording

SIZES = {"batch_size": 256, "dim": 512}
FIRST = """\
#include <cmath>

// A row at a time, in double precision.
extern "C" void launch(const float* x, float* out, void* workspace) {
  using namespace problem;
  for (long long r = 0; r < batch_size; ++r) {
    const float* from = x + r * dim;
    float* to = out + r * dim;
    float top = from[0];
    for (long long i = 1; i < dim; ++i) top = std::fmax(top, from[i]);
    double sum = 0;
    for (long long i = 0; i < dim; ++i) sum += std::exp((double)from[i] - top);
    for (long long i = 0; i < dim; ++i) to[i] = std::exp((double)from[i] - top) / sum;
  }
}
"""
EDITED = FIRST.replace("(double)from", "from").replace("in double", "in single")
BROKEN = EDITED.replace("float top", "float tip")
PANEL = """
import workbench as wb
from workbench import notebook
problem = wb.resized(wb.load_problems({problems!r})["softmax"], {sizes!r})
search = wb.Search(
    problem, {store!r}, backend="cpu", llm=wb.Replay({replay!r}),
    settings=wb.Settings(tier="triage", baselines=("eager",)),
)
notebook.open(search)
"""
JUDGED_MS = 120_000


@pytest.fixture
def panel(tmp_path: Path) -> str:
    """A cell that opens a panel on a replayed search whose only kernel is FIRST."""
    problems = REPOSITORY / "problems"
    problem = wb.resized(wb.load_problems(problems)["softmax"], SIZES)
    header = recording.Header(
        problem=problem.name, problem_sha=problem.sha, backend="cpu",
        strategy="Beam(width=1, ideas=1, samples=1)", author="tests", provenance="Written by hand.",
        device="any", created="2026-12-01", license="MIT", workbench=wb.__version__,
    )  # fmt: skip
    reply = recording.RecordedCompletion(
        address="0/0/0/0", model="hand", returned_model="hand", reply=f"```cpp\n{FIRST}```\n"
    )
    branch = recording.RecordedBranch(round=0, index=0, ideas=0, samples=1)
    replay = recording.write(
        tmp_path / "softmax.jsonl",
        recording.Recording(header=header, branches=(branch,), completions=(reply,)),
    )
    return PANEL.format(
        problems=str(problems), sizes=SIZES, store=str(tmp_path / "run.db"), replay=str(replay)
    )


def button(lab: Lab, name: str) -> Locator:
    """A button that can be seen: those of other tabs are there too."""
    return lab.panel.get_by_role("button", name=name, exact=True).locator("visible=true").first


def tab(lab: Lab, name: str) -> Locator:
    return lab.panel.get_by_role("tab", name=re.compile(f"^{name}"))


def rewrite(lab: Lab, source: str) -> None:
    lab.editor.press("Control+a")
    lab.page.keyboard.insert_text(source)
    lab.page.keyboard.press("Control+Enter")


def test_from_an_idea_to_an_edited_kernel(
    lab: Lab, panel: str, screenshot: Callable[[Lab, str], object]
) -> None:
    lab.open(panel)
    button(lab, "Propose ideas").click()
    expect(lab.panel).to_contain_text("Translate the reference")
    screenshot(lab, "1_ideas")
    button(lab, "Approve").click()
    button(lab, "Write kernels").click()
    expect(lab.panel).to_contain_text("A row at a time, in double precision.")
    screenshot(lab, "2_kernels")
    button(lab, "Approve to run").click()
    button(lab, "Run approved kernels").click()
    first = lab.panel.get_by_role("row", name=re.compile("^0 0 Translate the reference"))
    expect(first).to_contain_text("passed", timeout=JUDGED_MS)
    points = lab.page.locator(".js-plotly-plot .scatterlayer .point")
    expect(points).to_have_count(1)

    tab(lab, "Editor").click()
    expect(lab.editor).to_contain_text("in double precision")
    rewrite(lab, BROKEN)
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).not_to_have_count(
        0, timeout=JUDGED_MS
    )
    expect(lab.panel).to_contain_text("Kernel 1: compile error")
    screenshot(lab, "3_compile_error")

    rewrite(lab, EDITED)
    last = 2
    expect(lab.panel).to_contain_text(f"Kernel {last}: passed", timeout=JUDGED_MS)
    expect(lab.page.locator(".wb-editor .cm-lint-marker-error")).to_have_count(0)
    row = lab.panel.get_by_role("row", name=re.compile(f"^{last} 0 Translate"))
    expect(row).to_contain_text(re.compile("[µm]s ±"))
    expect(points).to_have_count(last + 1)  # failed ones have their place, too
    screenshot(lab, "4_edited")
    button(lab, f"Changes against kernel {last - 1}").click()
    lab.command("apputils:change-theme", theme="JupyterLab Dark")
    expect(lab.page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(lab.page.locator("#jupyterlab-splash")).to_have_count(0)
    screenshot(lab, "5_dark")
    lab.command("apputils:change-theme", theme="JupyterLab Light")
    assert lab.execute("print({c.author for c in search.history.candidates[1:]})") == "{'person'}"
    assert lab.foreign == []


def test_letters_typed_at_a_list_are_no_shortcuts(lab: Lab, panel: str) -> None:
    """To JupyterLab, "dd" outside a text deletes the cell."""
    lab.open(panel)
    button(lab, "An idea of your own").click()
    category = lab.panel.get_by_label("Category")
    category.focus()
    lab.page.keyboard.type("dd")
    expect(category).to_be_visible()
