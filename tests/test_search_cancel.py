"""A stage under way can be stopped; what is paid for is still stored."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scripted import Played, Scripted, Stuck, measured, search

from workbench.records import WorkbenchError
from workbench.search import Beam, Cancelled

WAIT_S = 5.0
SMALL = Beam(width=1, ideas=2, samples=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_evaluations_under_way_are_stopped_and_made_later(path: Path) -> None:
    stuck = Stuck()
    with search(path, executor=stuck) as s, ThreadPoolExecutor(1) as thread:
        running = thread.submit(s.run, 1)
        assert stuck.started.wait(WAIT_S)
        s.cancel()
        with pytest.raises(Cancelled):
            running.result(WAIT_S)
        assert s.history.evaluations == ()
    with search(path, executor=Played()) as s:
        s.run(rounds=1)
        assert measured(s.history) == {0: 2, 1: 1}  # the best is confirmed


def test_model_calls_under_way_are_not_waited_for_nor_paid_twice(path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def wait(_: object) -> None:
        asked.set()
        assert release.wait(WAIT_S)

    model = Scripted(before=wait)
    with search(path, model, strategy=SMALL) as s, ThreadPoolExecutor(1) as thread:
        s.approve(s.propose())
        running = thread.submit(s.implement)
        assert asked.wait(WAIT_S)
        (line,) = s.activity
        assert line.startswith("scripted: 0/0/0/0, ")
        s.cancel()
        with pytest.raises(Cancelled):
            running.result(WAIT_S)
        again = thread.submit(s.implement)  # while the first reply is still under way
        time.sleep(0.05)
        release.set()
        assert [c.address for c in again.result(WAIT_S)] == ["0/0/0/0", "0/0/0/1"]
        assert model.asked == ["0/0/0/0", "0/0/0/1"]
        assert s.activity == ()


def test_cancel_without_a_stage_does_nothing(path: Path) -> None:
    with search(path) as s:
        s.cancel()
        s.run(rounds=1)
        assert measured(s.history) == {0: 2, 1: 1}  # the best is confirmed


def test_two_threads_never_advance_one_search(path: Path) -> None:
    stuck = Stuck()
    with search(path, executor=stuck) as s, ThreadPoolExecutor(1) as thread:
        running = thread.submit(s.run, 1)
        assert stuck.started.wait(WAIT_S)
        with pytest.raises(WorkbenchError, match="another thread"):
            s.propose()
        s.cancel()
        assert isinstance(running.exception(WAIT_S), Cancelled)


def test_an_interrupt_leaves_nothing_running(path: Path) -> None:
    class Interrupted(Stuck):
        def submit(self, run, candidate):  # type: ignore[no-untyped-def]
            if self.submitted:
                raise KeyboardInterrupt
            return super().submit(run, candidate)

    executor = Interrupted()
    with search(path, executor=executor) as s:
        with pytest.raises(KeyboardInterrupt):
            s.run(rounds=1)
        assert all(f.done() for f in executor._futures)


def test_a_failure_of_the_device_keeps_the_other_verdicts(path: Path) -> None:
    from concurrent.futures import Future

    from workbench.records import DeviceError

    class Lost(Played):
        def submit(self, run, candidate):  # type: ignore[no-untyped-def]
            if candidate.number != 0:
                return super().submit(run, candidate)
            future: Future[object] = Future()
            future.set_exception(DeviceError("the device fell off the bus"))
            return future

    with search(path, executor=Lost()) as s:
        with pytest.raises(DeviceError, match="fell off"):
            s.run(rounds=1)
        assert [e.candidate for e in s.history.evaluations] == [1]
    with search(path) as s:
        s.run(rounds=1)
        assert measured(s.history) == {0: 2, 1: 1}  # the best is confirmed
