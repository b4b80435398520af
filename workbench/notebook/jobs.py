"""Long work behind a page that stays alive: one worker thread, one thread that draws.

A callback only submits. The work touches no widget a person can edit: what it found is shown by
`on_done`, on the kernel's loop. The bar, the words and the log take no input, so a thread may draw
them, and they move even while a cell runs.
"""

from __future__ import annotations

import asyncio
import functools
import html
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, ParamSpec

import ipywidgets

from workbench.records import WorkbenchError
from workbench.search.asking import Cancelled

DRAW_EVERY_S = 0.1
LOG_LINES = 200

State = Literal["waiting", "running", "done", "failed", "cancelled"]
_BAR_STYLE = {"done": "success", "failed": "danger", "cancelled": "warning"}
_LOG_STYLE = (
    "max-height:150px;overflow:auto;margin:0;line-height:1.3;display:flex;"
    "flex-direction:column-reverse;font-family:var(--jp-code-font-family,monospace)"
)

_P = ParamSpec("_P")


class Job:
    """One piece of work: what it says of itself, and how it ended."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: State = "waiting"
        self.fraction: float | None = None  # of the work done; None: not known
        self.lines: list[str] = []
        self.error: BaseException | None = None
        self.started = self.ended = 0.0
        self.cancelled = threading.Event()
        self.done = threading.Event()

    def log(self, text: str) -> None:
        self.lines += text.rstrip("\n").split("\n")

    def check(self) -> None:
        """Raises Cancelled when the work is no longer wanted."""
        if self.cancelled.is_set():
            raise Cancelled("stopped by a person")

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started if self.started else 0.0


class JobRunner(ipywidgets.VBox):  # type: ignore[misc]
    """Runs one job after another and shows it: bar, Cancel, words, log."""

    def __init__(
        self,
        *,
        activity: Callable[[], Sequence[str]] = tuple,
        on_cancel: Callable[[], object] = lambda: None,
    ) -> None:
        """`activity`: what goes on right now, asked at each drawing; `on_cancel`: stops it."""
        self._loop = _running_loop()
        self._activity, self._on_cancel = activity, on_cancel
        self._pool = ThreadPoolExecutor(1, "workbench-job")
        self._jobs: list[Job] = []  # unfinished ones, the running one first
        self._lock = threading.Lock()
        self.bar = ipywidgets.FloatProgress(min=0, max=1, layout={"width": "200px"})
        self.stop = ipywidgets.Button(description="Cancel", icon="stop", disabled=True)
        self.stop.tooltip = "Stop the work under way and what waits behind it"
        self.status = ipywidgets.HTML("<span role='status'>idle</span>")
        self.clock = ipywidgets.HTML()  # apart from the status, which screen readers read aloud
        self.output = ipywidgets.HTML()
        self.alerts = ipywidgets.HTML()
        self.stop.on_click(lambda _: self.cancel())
        first_row = ipywidgets.HBox([self.bar, self.stop, self.status, self.clock])
        super().__init__([first_row, self.output, self.alerts])

    def submit(
        self,
        name: str,
        work: Callable[[Job], object],
        *,
        on_done: Callable[[Job], object] | None = None,
    ) -> Job:
        """Queue a piece of work; `on_done` is called on the kernel's loop, however it ended."""
        job = Job(name)
        with self._lock:
            self._jobs.append(job)
        self.stop.disabled = False
        self._pool.submit(self._run, job, work, on_done)
        return job

    def cancel(self) -> None:
        """Give up every unfinished job."""
        with self._lock:
            unfinished = list(self._jobs)
        for job in unfinished:
            job.cancelled.set()
        if unfinished:
            self._on_cancel()

    async def wait(self, job: Job) -> Job:
        """In a cell, `await runner.wait(job)`: every button stays alive meanwhile."""
        await asyncio.get_running_loop().run_in_executor(None, job.done.wait)
        return job

    def on_loop(self, call: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call on the kernel's loop, where editable widgets live; here and now without one."""
        bound = functools.partial(self.guard(call), *args, **kwargs)
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(bound)
        else:
            bound()

    def guard(self, call: Callable[_P, object]) -> Callable[_P, None]:
        """The same call, its exception shown in the page, which would show nothing otherwise."""

        @functools.wraps(call)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
            try:
                call(*args, **kwargs)
            except WorkbenchError as error:
                self.alert(_words(error))
            except Exception:
                self.alert(traceback.format_exc())

        return guarded

    def alert(self, text: str) -> None:
        """Show why a callback failed, until the next one; nothing for no text."""
        shown = f"<pre role='alert' style='margin:0'>{html.escape(text)}</pre>"
        self.alerts.value = shown if text else ""

    def _run(
        self, job: Job, work: Callable[[Job], object], on_done: Callable[[Job], object] | None
    ) -> None:
        job.started, job.state = time.monotonic(), "running"
        drawing = threading.Thread(target=self._draw_until_done, args=(job,), daemon=True)
        drawing.start()
        state = self._outcome(job, work)
        with self._lock:
            self._jobs.remove(job)
        job.ended, job.state = time.monotonic(), state
        drawing.join()
        if on_done is not None:
            self.on_loop(on_done, job)
        job.done.set()

    def _outcome(self, job: Job, work: Callable[[Job], object]) -> State:
        try:
            job.check()
            work(job)
        except Cancelled:
            return "cancelled"
        except WorkbenchError as error:
            job.error = error
            job.log(_words(error))
        except Exception as error:
            job.error = error
            job.log(traceback.format_exc())
        else:
            return "done"
        return "failed"

    def _draw_until_done(self, job: Job) -> None:
        while job.state == "running":
            self._draw(job)
            time.sleep(DRAW_EVERY_S)
        self._draw(job)

    def _draw(self, job: Job) -> None:
        running, waiting = job.state == "running", len(self._jobs) - 1
        self.bar.bar_style = _BAR_STYLE.get(job.state, "info")
        self.bar.value = job.fraction if job.fraction is not None else float(not running)
        behind = f", {waiting} waiting" if running and waiting > 0 else ""
        words = f"{html.escape(job.name)}: {job.state}{behind}"
        self.status.value = f"<span role='status'>{words}</span>"
        self.clock.value = f"{job.seconds:.1f} s"
        self.stop.disabled = not self._jobs
        role = "role='alert'" if job.state == "failed" else ""
        lines = [*job.lines[-LOG_LINES:], *(self._activity() if running else ())]
        log = html.escape("\n".join(lines))
        shown = f"<pre {role} style='{_LOG_STYLE}'><span>{log}</span></pre>"
        self.output.value = shown if log else ""


def _words(error: WorkbenchError) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The kernel's loop; None in a plain script or test."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
