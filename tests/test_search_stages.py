"""A round, stage by stage: who writes what, what waits for whom, what is never done."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
import scripted
from scripted import Played, Scripted, measured, search

from workbench.evaluation import Description
from workbench.llm import Request
from workbench.records import (
    Candidate,
    Category,
    Evaluation,
    ModelError,
    Problem,
    ReplayMiss,
    Run,
    Settings,
    Status,
    StoreError,
    WorkbenchError,
)
from workbench.search import Beam, Search
from workbench.store import Store

SMALL = Beam(width=2, ideas=3, samples=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_round_0_translates_the_reference(path: Path) -> None:
    model = Scripted()
    with search(path, model, strategy=SMALL) as s:
        (idea,) = s.propose()
        assert (idea.title, idea.author, idea.category) == (
            "Translate the reference", "workbench", None,
        )  # fmt: skip
        s.approve(idea)
        s.approve(s.implement())
        s.evaluate()
        assert model.asked == ["0/0/0/0", "0/0/0/1"]
        assert [c.address for c in s.history.candidates] == model.asked
        assert [e.status for e in s.history.evaluations] == [Status.passed] * 2


def test_later_rounds_put_ideas_on_the_best(path: Path) -> None:
    with search(path, executor=Played({"0/0/0/0": 1.0, "0/0/0/1": 2.0}), strategy=SMALL) as s:
        s.run(rounds=1)
        ideas = s.propose()
        assert [s.history.address(i) for i in ideas] == [
            "1/0/0", "1/0/1", "1/0/2", "1/1/0", "1/1/1", "1/1/2",
        ]  # fmt: skip
        assert [b.parents for b in s.history.branches_of(1)] == [(1,), (0,)]
        s.approve(ideas[4])
        s.reject(i for i in ideas if i != ideas[4])
        written = s.implement()
        assert [(c.address, c.parents, c.idea) for c in written] == [
            ("1/1/1/0", (0,), ideas[4].number), ("1/1/1/1", (0,), ideas[4].number),
        ]  # fmt: skip


def test_nothing_unapproved_is_ever_submitted(path: Path) -> None:
    executor = Played()
    with search(path, executor=executor, strategy=SMALL) as s:
        s.approve(s.propose())
        first, second = s.implement()
        assert s.evaluate() == ()
        for refused in (first, first.number):
            with pytest.raises(WorkbenchError, match=r"\[0\] are not approved"):
                s.evaluate(refused)
        s.approve(first)
        s.reject(second)
        with pytest.raises(WorkbenchError, match=r"\[1\] are not approved"):
            s.evaluate(first, second)
        assert executor.submitted == []
        s.evaluate()
        assert executor.submitted == [0]
        with pytest.raises(WorkbenchError, match="evaluated already"):
            s.evaluate(first)
        s.approve(second)
        s.reject(second)
        assert s.evaluate() == ()


def test_an_idea_that_is_not_approved_is_never_implemented(path: Path) -> None:
    model = Scripted()
    with search(path, model, strategy=SMALL) as s:
        s.propose()
        assert s.implement() == ()
        assert model.asked == []


def test_step_stops_where_a_decision_is_missing(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        assert not s.step()
        s.approve(s.missing.ideas)
        assert not s.step()
        s.approve(s.missing.candidates)
        assert s.step()
        assert s.missing.settled
        assert s.run(rounds=2, approve=False) == s.best
        assert len(s.missing.ideas) == 6


def test_who_decided_is_recorded(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        s.approve(s.propose(), by="ada", note="obvious")
        s.run(rounds=1)
        decisions = s.history.decisions
        assert [(d.subject, d.by, d.note) for d in decisions] == [
            ("idea", "ada", "obvious"), ("candidate", "run", ""), ("candidate", "run", ""),
        ]  # fmt: skip


def test_propose_says_what_the_round_still_needs(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        (idea,) = s.propose()
        assert s.propose() == (idea,)
        s.approve(idea)
        with pytest.raises(WorkbenchError, match=r"round 0 .* 2 kernels .*implement\(\)"):
            s.propose()


def test_an_integer_is_no_item(path: Path) -> None:
    with search(path) as s, pytest.raises(WorkbenchError, match=r"history\.candidate\(0\)"):
        s.approve(0)  # type: ignore[arg-type]


def test_run_counts_rounds_in_all_and_times_baselines_once(path: Path) -> None:
    with search(path, strategy=SMALL, settings=Settings()) as s:
        s.run(rounds=2)
        s.run(rounds=3)
        assert s.history.round == 2
        assert [b.name for b in s.history.baselines] == ["eager", "compile"]
        s.run(rounds=3)
        assert s.history.round == 2


def test_losers_are_kept_and_a_slower_round_does_not_lose_the_line(path: Path) -> None:
    slow: dict[str, float | Status] = {
        f"{r}/{b}/{i}/{k}": 0.1 + 0.01 * r
        for r in (1, 2) for b in (0, 1) for i in range(3) for k in (0, 1)
    }  # fmt: skip
    with search(path, executor=Played({"0/0/0/0": 2.0, "0/0/0/1": 1.0, **slow})) as s:
        s.run(rounds=3)
        s.propose()
        assert s.best is not None
        assert s.best.address == "0/0/0/0"
        assert [b.parents for b in s.history.branches] == [()] + [(0,), (1,)] * 3
        assert len(s.history.candidates) == 2 + 12 + 12
        assert measured(s.history) == {0: 2} | dict.fromkeys(range(1, 26), 1)


def test_when_nothing_passed_the_reference_is_translated_again(path: Path) -> None:
    failing: dict[str, float | Status] = {f"0/0/0/{k}": Status.rejected for k in range(2)}
    with search(path, executor=Played(failing), strategy=SMALL) as s:
        s.run(rounds=1)
        (idea,) = s.propose()
        assert (s.history.address(idea), idea.author) == ("1/0/0", "workbench")


def test_fewer_branches_when_fewer_passed(path: Path) -> None:
    with search(path, executor=Played({"0/0/0/1": Status.rejected}), strategy=SMALL) as s:
        s.run(rounds=1)
        s.propose()
        assert [b.parents for b in s.history.branches_of(1)] == [(0,)]


def test_a_failed_kernel_is_repaired_once(path: Path) -> None:
    broken: dict[str, float | Status] = {
        "0/0/0/0": Status.compile_error, "0/0/0/0/repair": Status.incorrect,
        "0/0/0/1": Status.rejected,
    }  # fmt: skip
    model = Scripted()
    with search(path, model, Played(broken), strategy=SMALL) as s:
        s.run(rounds=1)
        assert model.asked == ["0/0/0/0", "0/0/0/1", "0/0/0/0/repair"]
        repaired = s.history.candidates[2]
        assert (repaired.parents, repaired.idea, repaired.round) == ((0,), 0, 0)
        assert s.repair() == ()


def test_a_repair_waits_for_approval_and_can_be_declined(path: Path) -> None:
    model, executor = Scripted(), Played({f"0/0/0/{k}": Status.timeout for k in range(2)})
    with search(path, model, executor, strategy=SMALL) as s:
        s.approve(s.propose())
        first, second = s.implement()
        s.approve(first, second)
        s.evaluate()
        s.reject(second, note="hopeless")
        (waiting,) = s.repair()
        assert waiting.address == "0/0/0/0/repair"
        assert s.evaluate() == ()
        assert executor.submitted == [0, 1]


def test_a_reply_without_code_stays_visible(path: Path) -> None:
    with search(path, Scripted({"0/0/0/0": "I am sorry."}), strategy=SMALL) as s:
        s.run(rounds=1)
        assert [c.address for c in s.history.candidates] == ["0/0/0/1"]
        completion = s.history.completion("0/0/0/0")
        assert completion is not None
        assert completion.reply == "I am sorry."


def failing(address: str, error: WorkbenchError) -> Scripted:
    def fail(request: Request) -> None:
        if request.address == address:
            raise error

    return Scripted(before=fail)


def test_a_final_failure_of_the_model_is_recorded(path: Path) -> None:
    model = failing("0/0/0/0", ModelError("it will not", kind="refusal"))
    with search(path, model, strategy=SMALL) as s:
        s.run(rounds=1)
        completion = s.history.completion("0/0/0/0")
        assert completion is not None
        assert (completion.error, completion.finish) == ("it will not", "refusal")
        assert completion.messages
        assert len(s.history.candidates) == 1


def test_a_passing_failure_is_raised_last_and_asked_again(path: Path) -> None:
    model = failing("0/0/0/0", ModelError("server is full", kind="rate_limit"))
    with search(path, model, strategy=SMALL) as s:
        s.approve(s.propose())
        with pytest.raises(ModelError, match="server is full"):
            s.implement()
        assert [c.address for c in s.history.candidates] == ["0/0/0/1"]
        with pytest.raises(ModelError):
            s.implement()
        assert model.asked == ["0/0/0/0", "0/0/0/1", "0/0/0/0"]


def test_a_fatal_failure_stops_at_once_and_stores_nothing(path: Path) -> None:
    model = failing("0/0/0/0", ModelError("no such key", kind="auth", fatal=True))
    with search(path, model, strategy=SMALL) as s:
        s.approve(s.propose())
        with pytest.raises(ModelError, match="no such key"):
            s.implement()
        assert s.history.completion("0/0/0/0") is None


def test_a_missing_recording_does_not_stop_the_others(path: Path) -> None:
    model = failing("0/0/0/0", ReplayMiss("0/0/0/0"))
    with search(path, model, strategy=SMALL) as s:
        s.run(rounds=1)
        completion = s.history.completion("0/0/0/0")
        assert completion is not None
        assert completion.error.startswith("no reply recorded")


def test_repeated_ideas_are_dropped_and_the_others_keep_their_place(path: Path) -> None:
    replies = {
        "1/0/ideas": scripted.ideas("Tile", "Unroll", "tile."),
        "1/1/ideas": scripted.ideas("  UNROLL ", "Vectorize", "Prefetch"),
    }
    with search(path, Scripted(replies), strategy=SMALL) as s:
        s.run(rounds=1)
        found = [(s.history.address(i), i.title) for i in s.propose()]
        assert found == [
            ("1/0/0", "Tile"), ("1/0/1", "Unroll"), ("1/1/1", "Vectorize"), ("1/1/2", "Prefetch"),
        ]  # fmt: skip


def test_too_few_categories_are_told_and_tolerated(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    same = scripted.ideas("Pad rows", "Pack rows", "Reuse rows").replace(
        "asynchrony and latency hiding", "memory access"
    )
    same = same.replace("data type and precision", "memory access")
    model = Scripted({"1/0/ideas": same})
    with search(path, model, strategy=Beam(width=1)) as s, caplog.at_level(logging.WARNING):
        s.run(rounds=1)
        assert {i.category for i in s.propose()} == {Category.memory}
        assert "3 ideas of 1 categories" in caplog.text


def test_ideas_of_a_branch_see_those_of_the_branches_before_it(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        s.run(rounds=1)
        s.propose()
        first = s.history.completion("1/0/ideas")
        second = s.history.completion("1/1/ideas")
        assert first is not None
        assert second is not None
        assert "Tile rows by 0 at 1/0/ideas" not in str(first.messages)
        assert "Tile rows by 0 at 1/0/ideas" in str(second.messages)


def test_a_search_without_a_model_says_so_when_it_needs_one(path: Path) -> None:
    with Search(scripted.PROBLEM, path, executor=Played(), settings=scripted.NO_BASELINES) as s:
        s.approve(s.propose())
        with pytest.raises(WorkbenchError, match="has no model"):
            s.implement()


def test_a_store_of_another_problem_or_backend_is_refused(path: Path) -> None:
    search(path).close()
    other = replace(scripted.PROBLEM, source="x = 1\n")
    with pytest.raises(StoreError, match="holds a search of 'linear_relu'"):
        Search(other, path, executor=Played())
    with pytest.raises(StoreError, match="backend 'cpu', not 'cuda'"):
        Search(scripted.PROBLEM, path, backend="cuda")


def test_opening_a_finished_run_needs_no_executor(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        s.run(rounds=2)
        words = repr(s)
    with Search(scripted.PROBLEM, path) as again:
        assert repr(again) == words
        assert again.best == again.history.best
        assert again.run(rounds=2) == again.best
        assert again.activity == ()


def test_strategy_settings_and_seed_are_the_runs_unless_given(path: Path) -> None:
    settings = replace(scripted.NO_BASELINES, tier="triage")
    model = Scripted()
    search(path, strategy=Beam(width=1, ideas=1, samples=1), settings=settings).close()
    with Search(scripted.PROBLEM, path, llm=model, executor=Played()) as s:
        s.run(rounds=2)
        assert model.asked == ["0/0/0/0", "1/0/ideas", "1/0/0/0"]
        assert s.history.run.settings == settings


def test_an_executor_that_was_handed_in_is_left_open(path: Path) -> None:
    executor = Played()
    search(path, executor=executor).close()
    assert not executor.closed


def test_times_of_two_devices_are_never_mixed(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Elsewhere(Played):
        change: dict[str, str]

        def describe(self, problem: Problem) -> Description:
            found = super().describe(problem)
            return replace(found, environment=replace(found.environment, **self.change))

    search(path, strategy=SMALL).close()
    executor = Elsewhere()
    executor.change = {"device": "Another CPU"}
    with search(path, executor=executor) as s:
        with pytest.raises(StoreError, match=r"AMD EPYC 7B13 .* here is Another CPU"):
            s.run(rounds=1)
        assert executor.submitted == []
        assert len(s.history.candidates) == 2
    executor.change = {"torch": "2.99.0"}
    with search(path, executor=executor) as s, caplog.at_level(logging.WARNING):
        s.run(rounds=1)
        assert "here is torch 2.99.0" in caplog.text
        assert executor.described == 2


def test_a_store_that_was_handed_in_is_left_open(path: Path) -> None:
    store = Store(path)
    search(store).close()
    assert store.history() is not None


def test_a_best_that_was_lucky_once_loses_its_place_when_confirmed(path: Path) -> None:
    class Sobering(Played):
        """Gives a kernel's second measurement half its first speedup, if it was 0/0/0/0."""

        def submit(self, run: Run, candidate: Candidate) -> Future[Evaluation]:
            if candidate.address == "0/0/0/0" and candidate.number in self.submitted:
                self._verdicts["0/0/0/0"] = 1.5
                assert run.settings.tier == "record"  # a tier longer than the search's
            return super().submit(run, candidate)

    executor = Sobering({"0/0/0/0": 3.0, "0/0/0/1": 2.0})
    with search(path, executor=executor) as s:
        s.run(rounds=1)
        assert s.best is not None
        assert s.best.address == "0/0/0/1"
        assert set(measured(s.history).values()) == {2}
        assert s.confirm() == ()  # nothing is left to confirm
