"""What a person adds, rewords and edits takes part in the search like anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted import Played, Scripted, kernel, search

from workbench.llm import Request
from workbench.records import Category, ReplayMiss, Status, WorkbenchError
from workbench.search import Beam

SMALL = Beam(width=1, ideas=2, samples=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_a_persons_idea_comes_after_the_models_places(path: Path) -> None:
    model = Scripted()
    with search(path, model, strategy=SMALL) as s:
        s.run(rounds=1)
        early = s.add_idea("Use shared memory", "Rows are read twice.", Category.memory)
        assert s.history.address(early) == "1/0/2"
        s.propose()
        late = s.add_idea("Unroll")
        assert s.history.address(late) == "1/0/3"
        s.approve(early)
        s.reject(s.missing.ideas)
        (written,) = s.implement()
        assert (written.address, written.idea) == ("1/0/2/0", early.number)
        assert model.asked[-1] == "1/0/2/0"


def test_a_persons_idea_can_come_first_of_all(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        idea = s.add_idea("Translate by hand")
        assert s.history.address(idea) == "0/0/1"
        assert [i.title for i in s.propose()] == ["Translate by hand", "Translate the reference"]


def test_a_persons_idea_can_join_an_earlier_branch(path: Path) -> None:
    with search(path, strategy=SMALL) as s:
        s.run(rounds=2)
        s.approve(s.add_idea("Again", branch=1))
        s.run(rounds=2)
        assert s.history.by_address("1/0/2/0") is not None
        assert s.history.round == 1
        with pytest.raises(WorkbenchError, match="no branch 9"):
            s.add_idea("Nowhere", branch=9)


def test_an_idea_nobody_has_a_reply_for_does_not_stop_the_run(path: Path) -> None:
    def only_recorded(request: Request) -> None:
        if request.address == "1/0/2/0":
            raise ReplayMiss(request.address)

    with search(path, Scripted(before=only_recorded), strategy=SMALL) as s:
        s.run(rounds=1)
        s.approve(s.add_idea("My own"))
        s.run(rounds=3)
        assert s.history.round == 2
        completion = s.history.completion("1/0/2/0")
        assert completion is not None
        assert completion.error


def test_a_reworded_idea_keeps_its_address_and_waits_again(path: Path) -> None:
    model = Scripted()
    with search(path, model, strategy=SMALL) as s:
        s.run(rounds=1)
        old, other = s.propose()
        s.approve(old, other)
        new = s.reword(old.number, title="Tile by 64")
        assert (new.title, new.hypothesis, new.author) == ("Tile by 64", old.hypothesis, "person")
        assert s.history.address(new) == s.history.address(old) == "1/0/0"
        assert s.missing.ideas == (new,)
        with pytest.raises(WorkbenchError, match="last wording"):
            s.approve(old)
        s.approve(new)
        written = s.implement()
        assert [(c.address, c.idea) for c in written] == [
            ("1/0/1/0", other.number), ("1/0/0/0", new.number),
        ]  # fmt: skip
        with pytest.raises(WorkbenchError, match="has kernels already"):
            s.reword(new.number, title="Too late")
        with pytest.raises(WorkbenchError, match="no idea 1"):
            s.reword(old.number, title="Old wording")


def test_an_edit_is_a_new_candidate_of_the_same_idea(path: Path) -> None:
    executor = Played()
    with search(path, executor=executor, strategy=SMALL) as s:
        s.run(rounds=1)
        edited = s.edit(0, kernel("by hand"))
        assert (edited.parents, edited.idea, edited.author, edited.address) == (
            (0,), 0, "person", None,
        )  # fmt: skip
        (evaluation,) = s.evaluate(edited)
        assert evaluation.candidate == edited.number
        assert executor.submitted == [0, 0, edited.number]  # the best was confirmed
        assert s.history.candidate(0).source != edited.source
        with pytest.raises(WorkbenchError, match="no candidate 77"):
            s.edit(77, "")


def test_a_persons_failed_kernel_is_not_repaired_by_a_model(path: Path) -> None:
    class Failing(Played):
        def _verdict(self, candidate):  # type: ignore[no-untyped-def]
            self._verdicts = {"": Status.compile_error}
            return super()._verdict(candidate)

    with search(path, executor=Failing(), strategy=SMALL) as s:
        s.add_kernel("int broken")
        s.evaluate()
        assert s.missing.settled
        assert s.repair() == ()


def test_a_persons_kernel_is_ranked_with_the_others(path: Path) -> None:
    with search(path, executor=Played({"": 9.0}), strategy=SMALL) as s:
        mine = s.add_kernel(kernel("mine"))
        assert (mine.round, mine.idea, mine.form) == (0, None, "cpp")
        assert s.add_kernel("class ModelNew:\n    pass\n").form == "module"
        s.run(rounds=1)
        s.propose()
        assert s.best == s.history.candidate(mine.number)
        assert s.history.branches_of(1)[0].parents == (mine.number,)
