"""Records go to JSON and come back equal, and refuse what cannot be."""

from __future__ import annotations

import dataclasses
import json

import histories
import pytest

from workbench import records
from workbench.history import History
from workbench.records import Candidate, Category, Evaluation, Idea, Problem, Record, Status, Timing


def everything(history: History) -> list[Record]:
    return [
        history.run, *history.branches, *history.all_ideas, *history.decisions,
        *history.candidates, *history.evaluations, *history.completions, *history.baselines,
    ]  # fmt: skip


def test_every_record_survives_json() -> None:
    for record in everything(histories.searched()):
        text = json.dumps(records.encode(record))
        assert records.decode(type(record), json.loads(text)) == record


def test_a_category_and_a_missing_one_survive_json() -> None:
    for category in (Category.latency, None):
        idea = Idea(
            number=0, branch=0, index=0, title="t", hypothesis="h", category=category,
            author="model",
        )  # fmt: skip
        assert records.decode(Idea, records.encode(idea)).category is category


def test_records_are_frozen() -> None:
    problem = Problem(name="p", source="")
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.name = "q"  # type: ignore[misc]


def test_a_pass_without_a_timing_is_refused() -> None:
    with pytest.raises(ValueError, match="a check and a timing"):
        Evaluation(candidate=0, status=Status.passed, detail="", created="", seconds=0.0)


@pytest.mark.parametrize(("own", "reference"), [((), ()), ((1.0,), (1.0, 2.0))])
def test_a_timing_needs_pairs(own: tuple[float, ...], reference: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="as many reference samples"):
        Timing(method="", samples_us=own, reference_us=reference, launches=1, sets=1)


def test_a_sha_tells_forms_apart_and_takes_any_text() -> None:
    candidate = Candidate(
        number=0, round=0, idea=None, parents=(), source="x\ud800", form="cpp", author="person"
    )
    assert candidate.sha == dataclasses.replace(candidate, number=9).sha
    assert candidate.sha != dataclasses.replace(candidate, form="cu").sha
