"""What a person clicks in a panel is what the search records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import ipywidgets
import pytest
from scripted import Played, Scripted, Stuck, search

from workbench import notebook
from workbench.notebook.desk import desk_of
from workbench.notebook.edit_panel import EditPanel
from workbench.notebook.panel import Panel
from workbench.records import Build, Status
from workbench.search import Beam, Search

WAIT_S = 20


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Search]:
    """A search whose round 1 has ideas that wait for a decision."""
    beam = Beam(width=1, ideas=3, samples=1)
    with search(tmp_path / "run.db", Scripted(), Played({"0/0/0/0": 0.6}), strategy=beam) as s:
        s.run(rounds=1)
        s.propose()
        yield s
        desk_of(s).watcher.close()


def every(root: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    yield root
    for child in getattr(root, "children", ()):
        yield from every(child)


def button(root: ipywidgets.Widget, tip: str) -> ipywidgets.Button:
    """The button that says this when pointed at."""
    return next(w for w in every(root) if getattr(w, "tooltip", None) == tip)


def fields(root: ipywidgets.Widget, name: str) -> list[ipywidgets.Widget]:
    return [w for w in every(root) if getattr(w, "description", None) == name]


def wait_for_jobs(s: Search) -> None:
    """Until the jobs submitted so far are over."""
    assert desk_of(s).jobs.submit("the last one", lambda _: None).done.wait(WAIT_S)


def test_approve_and_reject_are_recorded(begun: Search) -> None:
    panel = notebook.review(begun)
    first, second, third = begun.missing.ideas
    button(panel, f"Approve: idea {first.number}").click()
    button(panel, f"Reject: idea {second.number}").click()
    assert begun.missing.ideas == (third,)
    assert begun.history.is_approved("idea", first.number)
    assert not begun.history.is_approved("idea", second.number)


def test_a_decision_taken_cannot_be_taken_twice_but_changed(begun: Search) -> None:
    panel = notebook.review(begun)
    number = begun.missing.ideas[0].number
    approve, reject = (button(panel, f"{w}: idea {number}") for w in ("Approve", "Reject"))
    approve.click()
    assert (approve.disabled, reject.disabled) == (True, False)
    reject.click()
    assert (approve.disabled, reject.disabled) == (False, True)


def test_a_reworded_idea_stays_in_its_place_and_waits_again(begun: Search) -> None:
    panel = notebook.review(begun)
    old = begun.missing.ideas[0]
    button(panel, f"Reword: idea {old.number}").click()
    title, *_ = fields(panel, "Title")
    assert title.value == old.title
    title.value = "Tile by 64"
    button(panel, f"In place of the old: idea {old.number}").click()
    new = begun.missing.ideas[-1]
    assert (new.title, new.rewords, new.author) == ("Tile by 64", old.number, "person")
    shown = [w.value for w in every(panel) if isinstance(w, ipywidgets.HTML)]
    first = next(html for html in shown if "Idea " in html)
    assert f"Idea {new.number}: Tile by 64" in first


def test_an_idea_of_ones_own_is_approved_with_its_adding(begun: Search) -> None:
    panel = notebook.review(begun)
    fields(panel, "An idea of your own")[0].value = True
    fields(panel, "Title")[-1].value = "Mine"
    button(panel, "It is approved with that").click()
    (mine,) = (i for i in begun.history.ideas if i.title == "Mine")
    assert mine.author == "person"
    assert begun.history.is_approved("idea", mine.number)


def test_an_idea_without_a_title_is_refused_in_words(begun: Search) -> None:
    panel = notebook.review(begun)
    fields(panel, "An idea of your own")[0].value = True
    button(panel, "It is approved with that").click()
    assert "an idea needs a title" in desk_of(begun).jobs.alerts.value


def test_a_kernel_can_be_approved_before_it_runs(begun: Search) -> None:
    begun.approve(begun.missing.ideas)
    waiting = begun.implement()
    panel = notebook.review(begun)
    button(panel, f"Approve to run: kernel {waiting[0].number}").click()
    assert begun.missing.evaluations == waiting[:1]
    button(panel, "Approve the kernels that wait for a decision").click()
    assert begun.missing.evaluations == waiting


def test_an_edit_is_a_new_kernel_and_is_judged(begun: Search) -> None:
    panel = EditPanel(desk_of(begun))
    panel.load(0)
    panel.editor.value += "// mine\n"
    button(panel, "Run this text as a new kernel").click()
    wait_for_jobs(begun)
    made = begun.history.candidates[-1]
    assert (made.parents, made.author, made.source) == ((0,), "person", panel.editor.value)
    evaluation = begun.history.evaluation(made.number)
    assert evaluation is not None
    assert evaluation.status is Status.passed
    assert panel.number == made.number


def test_a_kernel_that_is_kept_is_not_run(begun: Search) -> None:
    panel = EditPanel(desk_of(begun))
    panel.load(0)
    panel.editor.value += "// mine\n"
    button(panel, "Make it a kernel, run it later").click()
    assert begun.missing.evaluations == (begun.history.candidates[-1],)


def test_a_text_that_was_left_comes_back(begun: Search) -> None:
    panel = EditPanel(desk_of(begun))
    other = begun.edit(0, "int other;")
    panel.load(0)
    panel.editor.value += "// unfinished"
    panel.load(other.number)
    assert panel.editor.value == "int other;"
    panel.load(0)
    assert panel.editor.value.endswith("// unfinished")


def test_the_changes_are_those_against_the_parent(begun: Search) -> None:
    panel = EditPanel(desk_of(begun))
    panel.load(begun.edit(0, "int other;").number)
    (toggle,) = fields(panel, "Changes against kernel 0")
    toggle.value = True
    assert panel.editor.original == begun.history.candidate(0).source
    toggle.value = False
    assert panel.editor.original is None


def test_compiler_errors_are_marked_in_the_editor(tmp_path: Path) -> None:
    class Failing(Played):
        def _verdict(self, candidate):  # type: ignore[no-untyped-def]
            failed = super()._verdict(candidate)
            log = "kernel.cpp:2:5: error: no\n/usr/include/x.h:9:1: error: elsewhere\n"
            build = Build(seconds=0.1, cached=False, log=log, command="g++")
            return type(failed)(
                candidate=candidate.number, status=Status.compile_error, detail="no",
                created="", seconds=0.1, build=build,
            )  # fmt: skip

    with search(tmp_path / "run.db", executor=Failing()) as s:
        s.approve(s.propose())
        s.approve(s.implement())
        s.evaluate()
        panel = EditPanel(desk_of(s))
        panel.load(0)
        desk_of(s).watcher.close()
    marked = [(d["line"], d["column"]) for d in panel.editor.diagnostics["items"]]
    assert marked == [(2, 5)]


def test_the_steps_of_the_panel_go_through_a_round(begun: Search) -> None:
    panel = Panel(desk_of(begun))
    button(panel, "Approve the ideas that wait for a decision").click()
    for tip in ("Approved ideas become kernels", "Build, check and time them"):
        button(panel, tip).click()
        wait_for_jobs(begun)
        if begun.missing.candidates:
            button(panel, "Approve the kernels that wait for a decision").click()
    assert begun.missing.settled
    assert "Next: Propose ideas of a new round" in "".join(
        w.value for w in every(panel) if isinstance(w, ipywidgets.HTML)
    )


def test_a_step_that_cannot_be_taken_says_why(begun: Search) -> None:
    panel = Panel(desk_of(begun))
    button(panel, "Approve the ideas that wait for a decision").click()
    button(panel, "Ask the model for ideas in plain language").click()
    jobs = desk_of(begun).jobs
    deadline = time.monotonic() + WAIT_S
    while "Propose ideas: failed" not in jobs.status.value and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "round 1 is not finished" in jobs.output.value


def test_cancel_stops_an_evaluation_and_loses_nothing(tmp_path: Path) -> None:
    executor = Stuck()
    with search(tmp_path / "run.db", executor=executor) as s:
        s.approve(s.propose())
        s.approve(s.implement())
        panel, jobs = Panel(desk_of(s)), desk_of(s).jobs
        button(panel, "Build, check and time them").click()
        assert executor.started.wait(WAIT_S)
        jobs.stop.click()
        wait_for_jobs(s)
        assert len(s.missing.evaluations) == len(s.history.candidates)
        desk_of(s).watcher.close()


def test_the_picker_follows_the_editor(begun: Search) -> None:
    panel = Panel(desk_of(begun))
    (picker,) = fields(panel, "Kernel")
    assert begun.best is not None
    assert picker.value == begun.best.number
    button(panel, "Run this text as a new kernel").click()
    wait_for_jobs(begun)
    desk_of(begun).watcher.refresh()
    assert picker.value == begun.history.candidates[-1].number


def test_another_best_does_not_take_the_editor_away(begun: Search) -> None:
    panel = Panel(desk_of(begun))
    (picker,) = fields(panel, "Kernel")
    assert picker.value == 0
    for number in range(4):
        begun.evaluate(begun.edit(0, f"int better{number};"))
    assert begun.best != begun.history.candidate(0)
    desk_of(begun).watcher.refresh()
    assert picker.value == 0


def test_the_same_search_has_the_same_panels(begun: Search) -> None:
    assert notebook.results(begun) is notebook.results(begun)
