"""A search that is stopped anywhere goes on as if it had not been."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import Played, Scripted, measured, search, timeless

from workbench.llm import Request
from workbench.records import Completion, Settings, Status, StoreError
from workbench.search import Beam, Search
from workbench.store import Store

TINY = Beam(width=2, ideas=1, samples=2)
SETTINGS = Settings(baselines=("eager",))
VERDICTS: dict[str, float | Status] = {
    "0/0/0/1": Status.compile_error,
    "1/0/0/0": Status.incorrect,
    "1/0/0/0/repair": Status.timeout,
}


class Killed(BaseException):
    pass


class Dying(Store):
    """A store whose process ends right after its n-th write, or within it."""

    def __init__(self, path: Path, writes: int, *, within: bool) -> None:
        self._left, self._within, self._deep = writes + 1, within, False  # + 1: opening it
        self.dead = False
        super().__init__(path)
        self._db.execute("PRAGMA synchronous=OFF")  # a test of order, not of the disk

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        if self._deep:
            yield
            return
        if self.dead:
            raise Killed
        self._left -= 1
        self.dead = self._left == 0
        self._deep = True
        try:
            with super().transaction():
                yield
                if self.dead and self._within:
                    raise Killed
        finally:
            self._deep = False
        if self.dead:
            raise Killed


class Mortal(Scripted):
    """A model that dies with the store's process."""

    store: Dying | None = None

    def complete(self, request: Request) -> Completion:
        if self.store and self.store.dead:
            raise Killed
        return super().complete(request)


def run_to_the_end(store: Store | Path, model: Scripted, executor: Played) -> Search:
    s = search(store, model, executor, strategy=TINY, settings=SETTINGS)
    s.run(rounds=2)
    return s


@pytest.mark.parametrize("within", [False, True])
def test_a_search_killed_at_any_record_ends_the_same(tmp_path: Path, within: bool) -> None:
    with run_to_the_end(tmp_path / "whole.db", Scripted(), Played(VERDICTS)) as s:
        expected = timeless(s.history)
        total = s.history
    assert len(total.candidates) == 2 + 1 + 4 + 1
    for n in range(1, 200):
        model, executor = Mortal(), Played(VERDICTS)
        store = model.store = Dying(tmp_path / f"{n}.db", n, within=within)
        try:
            run_to_the_end(store, model, executor).close()
        except Killed:
            store.close()
            model.store = None
        else:
            break
        told = Store(tmp_path / f"{n}.db").history()
        judged = measured(told) if told else Counter()
        before = len(executor.submitted)
        whole = Dying(store.path, 1000, within=False)
        with run_to_the_end(whole, model, executor) as s:
            assert timeless(s.history) == expected
        twice = [a for a, count in Counter(model.asked).items() if count > 1]
        assert len(twice) <= within  # only the reply that was on its way to the disk
        again = judged + Counter(executor.submitted[before:])
        assert again == measured(total)  # once each, the confirmed best twice
    assert n >= 30


SLOW_RUN = """
import sys, time
sys.path.insert(0, {tests!r})
from test_search_resume import *
class Slow(Played):
    def submit(self, run, candidate):
        time.sleep(0.01)
        return super().submit(run, candidate)
model = Scripted(before=lambda _: time.sleep(0.01))
run_to_the_end(Path({path!r}), model, Slow(VERDICTS))
"""


@pytest.mark.parametrize("records", [3, 11, 20])
def test_a_killed_process_is_carried_on_by_another(tmp_path: Path, records: int) -> None:
    path = tmp_path / "run.db"
    store = Store(path)
    code = SLOW_RUN.format(path=str(path), tests=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while store.revision() < records and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = {c.address for c in told.completions} if (told := store.history()) else set()
    model = Scripted()
    with run_to_the_end(tmp_path / "whole.db", Scripted(), Played(VERDICTS)) as s:
        expected = timeless(s.history)
    with run_to_the_end(path, model, Played(VERDICTS)) as s:
        assert timeless(s.history) == expected
    assert not done & set(model.asked)


WORKER = """
import sys, time
sys.path.insert(0, {tests!r})
from test_search_resume import *
s = search(Path({path!r}), Scripted(before=lambda _: time.sleep(60)))
s.run(rounds=1)
"""


def test_two_processes_never_advance_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with search(path) as s:
        code = WORKER.format(path=str(path), tests=str(Path(__file__).parent))
        with subprocess.Popen([sys.executable, "-c", code]) as process:
            while not s.history.decisions and process.poll() is None:
                time.sleep(0.01)
            for stage in (s.step, s.run, s.propose, s.implement, s.repair):
                with pytest.raises(StoreError, match="another process"):
                    stage()
            assert len(s.history.ideas) == 1  # it can be followed
            s.add_kernel("int k;")  # and added to
            process.kill()
        s.run(rounds=1)
        assert sorted(measured(s.history).values()) == [1, 1, 2]  # the best is confirmed


def test_a_run_made_in_steps_equals_one_made_at_once(tmp_path: Path) -> None:
    with run_to_the_end(tmp_path / "whole.db", Scripted(), Played(VERDICTS)) as s:
        expected = timeless(s.history)
    steps = search(
        tmp_path / "steps.db", Scripted(), Played(VERDICTS), strategy=TINY, settings=SETTINGS
    )
    with steps as s:
        s.baselines()
        for _ in range(2):
            while not s.step():
                s.approve(s.missing.ideas, s.missing.candidates, by="run")
        s.confirm()
        assert timeless(s.history) == expected


def test_parallel_calls_make_the_same_kernels(tmp_path: Path) -> None:
    def made(path: Path, model: Scripted) -> set[tuple[str | None, str]]:
        with search(path, model, strategy=TINY) as s:
            s.run(rounds=2)
            return {(c.address, c.source) for c in s.history.candidates}

    model = Scripted(parallel=8, before=lambda _: time.sleep(0.005))
    assert made(tmp_path / "a.db", model) == made(tmp_path / "b.db", Scripted())
