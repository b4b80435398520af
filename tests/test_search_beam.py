"""A beam is a pure function of the history, and its name makes it again."""

from __future__ import annotations

import random

import histories
import pytest

from workbench.records import WorkbenchError
from workbench.search import Beam


def test_a_beam_is_made_again_from_its_spec() -> None:
    beam = Beam(width=4, ideas=6, samples=2)
    assert beam.spec == "Beam(width=4, ideas=6, samples=2)"
    assert Beam.of(beam.spec) == beam
    assert Beam.of("Islands(count=3)") is None
    assert Beam.of("Beam(width=2, depth=3)") is None
    assert Beam.of("Recorded('Beam(width=2, ideas=3, samples=2)')") is None
    assert Beam.of("not python (") is None


@pytest.mark.parametrize("empty", [{"width": 0}, {"ideas": 0}, {"samples": -1}])
def test_an_empty_beam_is_refused(empty: dict[str, int]) -> None:
    with pytest.raises(WorkbenchError, match="at least 1"):
        Beam(**empty)


def test_branches_are_the_best_of_all_rounds_with_their_numbers_and_places() -> None:
    history = histories.searched(rounds=3)
    beam = Beam(width=3, ideas=4, samples=2)
    branches = beam.branches(history, random.Random(0))
    best = [c.number for c in history.ranking()[:3]]
    assert [b.parents for b in branches] == [(n,) for n in best]
    assert [b.index for b in branches] == [0, 1, 2]
    assert [b.number for b in branches] == [len(history.branches) + k for k in range(3)]
    assert {(b.round, b.ideas, b.samples) for b in branches} == {(3, 4, 2)}
    assert branches == beam.branches(history, random.Random(1))


def test_an_empty_history_begins_with_a_translation() -> None:
    (branch,) = Beam(samples=3).branches(histories.empty(), random.Random(0))
    assert (branch.round, branch.index, branch.parents) == (0, 0, ())
    assert (branch.ideas, branch.samples) == (0, 3)


def test_while_nothing_passes_the_reference_is_translated_again() -> None:
    (branch,) = Beam().branches(histories.nothing_passed(), random.Random(0))
    assert (branch.round, branch.ideas, branch.parents) == (1, 0, ())
