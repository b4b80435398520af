"""A replay measures a recorded search again: its lineage, this machine's numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scripted import NO_BASELINES, PROBLEM, Played, Scripted, search

from workbench.history import History
from workbench.llm import Replay
from workbench.llm.recording import (
    Header,
    RecordedBranch,
    RecordedCompletion,
    RecordedDecision,
    Recording,
    write,
)
from workbench.records import Problem, Status, WorkbenchError
from workbench.search import Beam, Search

FAST_FIRST: dict[str, float | Status] = {"0/0/0/0": 2.0, "0/0/0/1": 1.0}
FAST_SECOND: dict[str, float | Status] = {"0/0/0/0": 1.0, "0/0/0/1": 2.0}
NARROW = Beam(width=1, ideas=2, samples=2)


def recorded(history: History, path: Path) -> Replay:
    """What a run said, as a recording."""

    def address(number: int) -> str:
        return history.candidate(number).address or "none"

    header = Header(
        problem=PROBLEM.name,
        problem_sha=PROBLEM.sha,
        backend="cpu",
        strategy=history.run.strategy,
        author="a test",
        provenance="Ideas and kernels were made by a test.",
        device="none",
        created=history.run.created,
        license="MIT",
        workbench="0",
    )
    rejected = [d for d in history.decisions if not d.approved and d.subject == "idea"]
    recording = Recording(
        header=header,
        branches=tuple(
            RecordedBranch(
                round=b.round,
                index=b.index,
                parents=tuple(address(p) for p in b.parents),
                ideas=b.ideas,
                samples=b.samples,
            )
            for b in history.branches
        ),
        completions=tuple(
            RecordedCompletion(
                address=c.address, model=c.model, returned_model=c.model, reply=c.reply
            )
            for c in history.completions
        ),
        decisions=tuple(
            RecordedDecision(
                address=history.address(history.idea(d.number)), approved=False, note=d.note
            )
            for d in rejected
        ),
    )
    return Replay(write(path, recording))


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Three rounds in which 0/0/0/0 was the faster translation."""
    with search(tmp_path / "first.db", executor=Played(FAST_FIRST), strategy=NARROW) as s:
        s.run(rounds=1)
        s.reject(s.propose()[1], note="tried that in spring")
        s.run(rounds=3)
        return recorded(s.history, tmp_path / "first.jsonl")


def again(path: Path, replay: Replay, verdicts: dict[str, float | Status], **given: Beam) -> Search:
    return Search(
        PROBLEM, path, llm=replay, executor=Played(verdicts), settings=NO_BASELINES, **given
    )


def test_a_replay_keeps_the_lineage_where_other_kernels_are_fast(
    tmp_path: Path, replay: Replay
) -> None:
    with again(tmp_path / "again.db", replay, FAST_SECOND) as s:
        s.run(rounds=3)
        branch = s.history.branches_of(1)[0]
        assert [s.history.candidate(p).address for p in branch.parents] == ["0/0/0/0"]
        assert s.history.run.strategy.startswith("Recorded(")
        assert s.history.run.note == "Ideas and kernels were made by a test."
        asked = {c.address for c in s.history.completions}
        assert asked == {c.address for c in replay.recording.completions}
        assert not any(c.error for c in s.history.completions)


def test_a_recorded_parent_stays_the_parent_though_it_fails_here(
    tmp_path: Path, replay: Replay
) -> None:
    with again(tmp_path / "again.db", replay, {"0/0/0/0": Status.incorrect}) as s:
        s.run(rounds=2)
        branch = s.history.branches_of(1)[0]
        assert [s.history.candidate(p).address for p in branch.parents] == ["0/0/0/0"]
        repair = s.history.completion("0/0/0/0/repair")
        assert repair is not None
        assert repair.error.startswith("no reply recorded")
        assert s.missing.settled


def test_a_parent_that_was_never_made_here_is_left_out(tmp_path: Path, replay: Replay) -> None:
    with again(tmp_path / "again.db", replay, {}) as s:
        s.reject(s.propose())
        s.propose()
        assert [b.parents for b in s.history.branches] == [(), ()]


def test_an_idea_rejected_then_is_rejected_again_where_nobody_is_asked(
    tmp_path: Path, replay: Replay
) -> None:
    with again(tmp_path / "again.db", replay, {}) as s:
        s.run(rounds=2)
        verdicts = {s.history.address(s.history.idea(d.number)): d for d in s.history.decisions
                    if d.subject == "idea"}  # fmt: skip
        assert [(a, d.approved) for a, d in verdicts.items()] == [
            ("0/0/0", True), ("1/0/0", True), ("1/0/1", False),
        ]  # fmt: skip
        assert (verdicts["1/0/1"].by, verdicts["1/0/1"].note) == (
            "recording", "tried that in spring",
        )  # fmt: skip


def test_a_replay_ends_with_its_recording(tmp_path: Path, replay: Replay) -> None:
    with again(tmp_path / "again.db", replay, {}) as s:
        s.run(rounds=9)
        assert s.history.round == 2
        assert s.propose() == ()
        assert not s.step()


def test_a_beam_promotes_what_is_fast_here(tmp_path: Path, replay: Replay) -> None:
    with again(tmp_path / "again.db", replay, FAST_SECOND, strategy=NARROW) as s:
        s.run(rounds=2)
        branch = s.history.branches_of(1)[0]
        assert [s.history.candidate(p).address for p in branch.parents] == ["0/0/0/1"]


def test_two_replays_give_the_same_numbers(tmp_path: Path, replay: Replay) -> None:
    made = []
    for name in ("a.db", "b.db"):
        with again(tmp_path / name, replay, {}) as s:
            s.run(rounds=3)
            made.append([(c.number, c.address) for c in s.history.candidates])
    assert made[0] == made[1]


def test_a_resumed_replay_follows_its_recording_still(tmp_path: Path, replay: Replay) -> None:
    with again(tmp_path / "again.db", replay, FAST_SECOND) as s:
        s.run(rounds=1)
    with (
        Search(PROBLEM, tmp_path / "again.db", executor=Played()) as s,
        pytest.raises(WorkbenchError, match=r"pass strategy="),
    ):
        s.propose()
    with again(tmp_path / "again.db", replay, {}) as s:
        s.run(rounds=2)
        assert s.history.branches_of(1)[0].parents == (0,)


def test_a_persons_idea_takes_no_recorded_place(tmp_path: Path, replay: Replay) -> None:
    extra = RecordedCompletion(
        address="1/0/2/0", model="m", returned_model="m", reply="of another person's idea"
    )
    recording = replay.recording
    recording = replace(recording, completions=(*recording.completions, extra))
    with again(tmp_path / "a.db", Replay(write(tmp_path / "a.jsonl", recording)), {}) as s:
        s.run(rounds=1)
        s.propose()
        idea = s.add_idea("My own")
        assert s.history.address(idea) == "1/0/3"
        s.run(rounds=3)
        completion = s.history.completion("1/0/3/0")
        assert completion is not None
        assert completion.error
        assert s.history.round == 2


def test_a_recording_of_another_problem_or_backend_is_refused(
    tmp_path: Path, replay: Replay
) -> None:
    other = Problem(name="softmax", source="x = 1\n")
    with pytest.raises(WorkbenchError, match="of the problem 'linear_relu', not of 'softmax'"):
        Search(other, tmp_path / "a.db", llm=replay, executor=Played())
    smaller = Problem(name="linear_relu[rows=8]", source=PROBLEM.source.replace("64", "8"))
    Search(smaller, tmp_path / "b.db", llm=replay, executor=Played()).close()
    on_gpu = Played()
    on_gpu.backend = "cuda"
    with pytest.raises(WorkbenchError, match="kernels for backend 'cpu'"):
        Search(PROBLEM, tmp_path / "c.db", llm=replay, executor=on_gpu)


def test_another_model_may_carry_a_replay_on(tmp_path: Path, replay: Replay) -> None:
    with again(tmp_path / "again.db", replay, {}) as s:
        s.run(rounds=1)
    with Search(
        PROBLEM, tmp_path / "again.db", llm=Scripted(), strategy=Beam(), executor=Played()
    ) as s:
        s.run(rounds=2)
        assert s.history.completions[-1].model == "scripted"
