"""The panels say in words where things stand, and never run what a model wrote as HTML."""

from __future__ import annotations

from dataclasses import replace

import histories
import pytest

from workbench.history import History
from workbench.notebook import words
from workbench.records import Build, Decision, Status

HOSTILE = "<script>alert(1)</script>"


def waiting(*decisions: Decision) -> History:
    """A search whose last kernel was not run yet."""
    searched = histories.searched(rounds=1)
    return replace(searched, evaluations=searched.evaluations[:-1], decisions=decisions)


def about_last(*, approved: bool) -> Decision:
    number = histories.searched(rounds=1).candidates[-1].number
    return Decision(subject="candidate", number=number, approved=approved, by="person", at="")


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ((), "waits for approval"),
        ((about_last(approved=True),), "approved, not run yet"),
        ((about_last(approved=False),), "turned down by person"),
    ],
)
def test_a_kernel_that_was_not_run_says_why(decisions: tuple[Decision, ...], expected: str) -> None:
    history = waiting(*decisions)
    assert words.status(history, history.candidates[-1].number) == expected


def test_a_verdict_gives_speedup_and_time_with_their_intervals() -> None:
    history = histories.searched()
    assert history.best is not None
    number = history.best.number
    ratio, time = history.speedup(number), history.duration_us(number)
    assert ratio
    assert time
    shown = words.verdict(history, number)
    assert f"{ratio.value:.2f}× ({ratio.low:.2f} to {ratio.high:.2f})" in shown
    assert f"{time.value:.4g} µs ±" in shown
    assert "faster than PyTorch" in shown


def test_a_failed_build_opens_what_the_compiler_said() -> None:
    history = histories.nothing_passed()
    first = history.candidates[0].number
    build = Build(seconds=1, cached=False, log="kernel.cpp:1:1: error: no", command="g++")
    failed = replace(histories.evaluation(first, Status.compile_error), build=build)
    history = replace(history, evaluations=(failed,))
    assert "<details open><summary>What the compiler said" in words.verdict(history, first)


def test_an_idea_says_what_became_of_its_kernels() -> None:
    history = histories.searched()
    fates = [words.fate(history, idea) for idea in history.ideas]
    assert all("2 kernels, " in fate for fate in fates)
    assert any("passed, best" in fate for fate in fates)


def test_an_idea_says_which_kernel_it_builds_on() -> None:
    history = histories.searched()
    assert "on top of the reference" in words.origin(history, history.ideas[0])
    parent = history.branch(history.ideas[-1].branch).parents[0]
    assert f"on top of kernel {parent} (" in words.origin(history, history.ideas[-1])


def test_an_author_is_a_person_or_the_model_that_answered() -> None:
    history = histories.searched()
    authors = [words.author(history, c) for c in history.candidates]
    assert set(authors) == {"a-model-2026", "a person"}
    replies = tuple(replace(c, returned_model="human") for c in history.completions)
    by_hand = replace(history, completions=replies)
    assert {words.author(by_hand, c) for c in by_hand.candidates} == {"a person"}


def test_the_table_names_the_best_in_words() -> None:
    assert words.results(histories.searched()).count("passed, best so far") == 1


def test_an_empty_run_says_so() -> None:
    assert "No kernels yet" in words.results(histories.empty())


def test_what_a_model_wrote_is_text() -> None:
    history = histories.searched(rounds=2)
    ideas = tuple(replace(i, title=HOSTILE, hypothesis=HOSTILE) for i in history.all_ideas)
    candidates = tuple(replace(c, source=HOSTILE, flags=(HOSTILE,)) for c in history.candidates)
    evaluations = tuple(
        replace(e, detail=HOSTILE, output=HOSTILE, findings=(HOSTILE,)) for e in history.evaluations
    )
    history = replace(history, all_ideas=ideas, candidates=candidates, evaluations=evaluations)
    shown = [words.results(history), words.earlier_ideas(history)]
    shown += [words.idea_card(history, idea) for idea in history.ideas]
    for candidate in history.candidates:
        shown += [
            words.kernel_card(history, candidate),
            words.source(candidate, is_open=True),
            words.edit_heading(history, candidate),
            words.verdict(history, candidate.number),
        ]
    assert "<script" not in "".join(shown)
    assert "&lt;script" in "".join(shown)
