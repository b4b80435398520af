"""A job shows what it does, can be given up, and never fails in silence."""

from __future__ import annotations

import threading

from workbench.notebook.jobs import Job, JobRunner
from workbench.records import WorkbenchError

WAIT_S = 10


def finished(job: Job) -> Job:
    assert job.done.wait(WAIT_S)
    return job


def test_a_job_tells_its_result_once_it_is_over() -> None:
    runner, told = JobRunner(), []
    job = finished(runner.submit("add", lambda _: None, on_done=lambda j: told.append(j.state)))
    assert (job.state, told) == ("done", ["done"])
    assert "add: done" in runner.status.value
    assert runner.bar.value == 1.0
    assert runner.stop.disabled


def test_progress_log_and_activity_are_drawn_while_it_runs() -> None:
    drawn, release = threading.Event(), threading.Event()
    runner = JobRunner(activity=lambda: ("kernel 17: <timing>",))
    runner.output.observe(lambda c: "<timing>" not in c["new"] and drawn.set(), "value")

    def work(job: Job) -> None:
        job.fraction = 0.25
        job.log("built")
        assert drawn.wait(WAIT_S)
        assert release.wait(WAIT_S)

    job = runner.submit("evaluate", work)
    assert drawn.wait(WAIT_S)
    assert "kernel 17: &lt;timing&gt;" in runner.output.value
    assert "evaluate: running" in runner.status.value
    release.set()
    finished(job)
    assert "built" in runner.output.value
    assert "kernel 17" not in runner.output.value
    assert runner.bar.value == 0.25


def test_cancel_stops_the_running_job_and_those_behind_it() -> None:
    started, stopped = threading.Event(), []
    runner = JobRunner(on_cancel=lambda: stopped.append(True))

    def endless(job: Job) -> None:
        started.set()
        while not job.cancelled.wait(0.01):
            pass
        job.check()

    jobs = [runner.submit(name, endless) for name in ("one", "two")]
    assert started.wait(WAIT_S)
    runner.stop.click()
    assert [finished(job).state for job in jobs] == ["cancelled", "cancelled"]
    assert stopped == [True]


def test_a_failure_of_the_workbench_shows_its_message_alone() -> None:
    runner = JobRunner()

    def work(_: Job) -> None:
        raise WorkbenchError("nvcc is not on PATH")

    job = finished(runner.submit("build", work))
    assert job.state == "failed"
    assert "role='alert'" in runner.output.value
    assert "nvcc is not on PATH" in runner.output.value
    assert "Traceback" not in runner.output.value


def test_an_unforeseen_failure_shows_its_traceback() -> None:
    runner = JobRunner()
    finished(runner.submit("divide", lambda _: 1 / 0))
    assert "ZeroDivisionError" in runner.output.value


def test_a_failing_callback_is_shown() -> None:
    runner = JobRunner()
    runner.guard(lambda: {}["missing"])()
    assert "KeyError" in runner.alerts.value


def test_a_failing_callback_after_a_job_does_not_hang_it() -> None:
    runner = JobRunner()
    finished(runner.submit("fine", lambda _: None, on_done=lambda _: 1 / 0))
    assert "ZeroDivisionError" in runner.alerts.value
