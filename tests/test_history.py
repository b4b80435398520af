"""A history answers from its records alone."""

from __future__ import annotations

import itertools
from dataclasses import replace

import histories
import pytest

from workbench.history import History, normalised
from workbench.records import Candidate, Decision, Idea, Status


def one_round(*ratios: float | None, sources: tuple[str, ...] = ()) -> History:
    """Person's kernels with these speedups; None: failed."""
    candidates = [
        Candidate(
            number=n, round=0, idea=None, parents=(), form="cpp", author="person",
            source=sources[n] if sources else f"int k{n};",
        )
        for n in range(len(ratios))
    ]  # fmt: skip
    evaluations = [
        histories.evaluation(n, Status.passed, r)
        if r is not None
        else histories.evaluation(n, Status.incorrect)
        for n, r in enumerate(ratios)
    ]
    return History.of([histories.RUN, *candidates, *evaluations])


def numbers(candidates: tuple[Candidate, ...]) -> list[int]:
    return [c.number for c in candidates]


def test_a_history_begins_with_its_run() -> None:
    with pytest.raises(ValueError, match="Run"):
        History.of([])


def test_ranking_is_by_the_lower_bound_and_leaves_out_failures() -> None:
    history = one_round(1.0, None, 3.0, 2.5)
    assert numbers(history.ranking()) == [2, 3, 0]
    assert history.best == history.candidate(2)
    noisy = histories.evaluation(2, Status.passed, 3.0)
    noisy = replace(noisy, timing=histories.timing(3.0, noise=0.9))
    wide = replace(history, evaluations=(*history.evaluations, noisy))
    assert numbers(wide.ranking()) == [3, 2, 0]


def test_near_duplicates_rank_once_as_the_best_of_them() -> None:
    sources = ("int a; // one", "int  a;\n/* two */", "int b;")
    assert numbers(one_round(1.0, 1.5, 1.2, sources=sources).ranking()) == [1, 2]


def test_a_comment_sign_inside_a_string_does_not_make_duplicates() -> None:
    assert normalised('puts("//a"); f();') != normalised('puts("//a"); g();')
    assert normalised("int a; // x") == normalised("int a;")


def test_ranking_of_equals_prefers_the_earlier() -> None:
    assert numbers(one_round(1.5, 1.5).ranking()) == [0, 1]


def test_ranking_can_end_at_a_round() -> None:
    history = histories.searched()
    early = history.ranking(until_round=1)
    assert early
    assert max(c.round for c in early) <= 1


def test_the_last_decision_and_the_last_evaluation_are_in_force() -> None:
    history = one_round(1.0)
    at = "2026-12-01T10:00:00+00:00"
    yes = Decision(subject="candidate", number=0, approved=True, by="person", at=at)
    again = histories.evaluation(0, Status.timeout)
    changed = replace(
        history,
        decisions=(yes, replace(yes, approved=False)),
        evaluations=(*history.evaluations, again),
    )
    assert not changed.is_approved("candidate", 0)
    assert not changed.is_approved("idea", 0)
    assert changed.evaluation(0) == again
    assert changed.best is None


def test_a_rewording_stands_for_the_idea_and_keeps_its_kernels_and_address() -> None:
    history = histories.searched(rounds=2)
    old = history.ideas[-1]
    new = replace(old, number=100, title="Other words", author="person", rewords=old.number)
    reworded = replace(history, all_ideas=(*history.all_ideas, new))
    assert old not in reworded.ideas
    assert new in reworded.ideas
    assert reworded.address(new) == history.address(old)
    assert reworded.candidates_of(new.number) == history.candidates_of(old.number)


def test_lineage_goes_back_to_a_kernel_without_parents() -> None:
    history = histories.searched()
    assert history.best is not None
    line = history.lineage(history.best.number)
    assert line[-1] == history.best
    assert line[0].parents == ()
    assert all(b.parents[0] == a.number for a, b in itertools.pairwise(line))


def test_frames_have_a_row_each_even_when_there_is_nothing() -> None:
    history = histories.searched()
    frame, ideas = history.frame(), history.ideas_frame()
    assert list(frame["candidate"]) == numbers(history.candidates)
    assert frame["speedup"].max() == pytest.approx(max(
        s.value for c in history.candidates if (s := history.speedup(c.number))
    ))  # fmt: skip
    assert len(ideas) == len(history.ideas)
    assert ideas["kernels"].sum() == sum(c.idea is not None for c in history.candidates)
    empty = histories.empty()
    assert list(empty.frame().columns) == list(frame.columns)
    assert list(empty.ideas_frame().columns) == list(ideas.columns)


def test_a_candidate_is_described_in_one_line() -> None:
    history = one_round(2.0, None)
    assert history.describe(0) == "Candidate 0 · round 0 · 2.00x · 200 µs ±0.2%"
    assert history.describe(1) == "Candidate 1 · round 0 · incorrect"
    waiting = replace(history, evaluations=())
    assert waiting.describe(0) == "Candidate 0 · round 0 · not evaluated"


def test_a_repair_turn_is_known_by_its_completion() -> None:
    history = histories.searched(rounds=1)
    first = history.candidates[0]
    assert not history.repaired(first.number)
    turn = replace(history.completions[0], address=f"{first.address}/repair")
    assert replace(history, completions=(*history.completions, turn)).repaired(first.number)


def test_rounds_are_counted_from_the_branches() -> None:
    assert histories.empty().round == -1
    assert histories.searched(rounds=3).round == 2
    ideas: tuple[Idea, ...] = histories.searched(rounds=3).ideas_of(0)
    assert [i.index for i in ideas] == [0]
