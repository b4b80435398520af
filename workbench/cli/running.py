"""One search from the terminal: who writes the kernels, who approves them, how long it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from workbench.cli import approval, places, text
from workbench.cli.approval import Stopped, Terminal
from workbench.cli.live import Progress
from workbench.llm import Human, Model, OpenAI, Replay
from workbench.records import Backend, Problem, Settings, WorkbenchError
from workbench.search import Beam, Search

ROUNDS = 5
ALL_ROUNDS = 10_000  # a replay ends by itself
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who has the ideas and writes the kernels, as named on the command line."""

    replay: str | None = None
    model: str | None = None
    base_url: str | None = None
    preset: str | None = None
    human: str | None = None
    wait_s: float | None = None  # for ever

    def open(self) -> Model | None:
        """None: nobody was named."""
        if self.model is None and (self.base_url or self.preset):
            raise WorkbenchError("--base-url and --preset need --model NAME")
        if self.replay is not None:
            return Replay(self.replay)
        if self.human is not None:
            return Human(self.human, wait_s=self.wait_s)
        if self.model is not None:
            return OpenAI(self.model, base_url=self.base_url, preset=self.preset)
        return None


@dataclass(frozen=True, slots=True)
class Order:
    """A search as it was asked for."""

    problem: Problem
    backend: Backend
    store: Path
    writer: Writer
    settings: Settings | None  # None: those of the run that is carried on, or the default ones
    rounds: int | None  # None: as many as the recording has, or ROUNDS
    beam: Beam | None  # None: the strategy of the recording, or of the run that is carried on
    seed: int | None
    ask: bool


def search(order: Order, out: TextIO = sys.stderr) -> Search:
    """Run the search to its end, or until the person stops it; it is handed back open."""
    model = order.writer.open()
    carried_on = order.store.exists()
    if model is None:
        raise WorkbenchError(choices(order.problem, order.backend))
    say: Say = lambda line: print(line, file=out, flush=True)  # noqa: E731
    say(f"{order.problem.name} on {order.backend}: measuring this machine and the reference")
    opened = Search(
        order.problem,
        store=order.store,
        backend=order.backend,
        llm=model,
        strategy=order.beam,
        settings=order.settings,
        seed=order.seed,
    )
    try:
        _announce(opened, order, model, carried_on, say)
        _work(opened, order, model, out)
    except BaseException:
        opened.close()
        raise
    return opened


def choices(problem: Problem, backend: Backend) -> str:
    """What to type when nobody was named to write kernels."""
    lines = ["nobody was named to write kernels; use one of"]
    if (recording := places.recording_of(problem, backend)) is not None:
        lines.append(f"  --replay {recording}   the recorded search of this problem")
    else:
        lines.append("  --replay FILE            a recording of an earlier search")
    lines += [
        "  --model NAME             a model of OpenAI or of a compatible server (--base-url URL)",
        "  --human FOLDER           a person: prompts are written there, replies are read there",
    ]
    return "\n".join(lines)


def _announce(
    opened: Search, order: Order, model: Model | None, carried_on: bool, say: Say
) -> None:
    history = opened.history
    run = history.run
    say(f"{run.environment.device}, torch {run.environment.torch}, {run.environment.compiler}")
    say(f"{run.strategy}, {model.name if model else run.model}, store {order.store}")
    if carried_on and history.candidates:
        judged = {e.candidate for e in history.evaluations}
        say(f"carried on: {len(judged)} kernels are judged already")
    if not order.ask:
        say("every idea and kernel is approved by this command; --ask lets you decide")
    floor = text.duration(history.floor_us)
    say(f"floor {floor}; no kernel should be faster")


def _work(opened: Search, order: Order, model: Model | None, out: TextIO) -> None:
    replayed = isinstance(model, Replay)
    rounds = order.rounds or (ALL_ROUNDS if replayed else ROUNDS)
    progress = Progress(opened, out)
    if not order.ask:
        progress.follow(lambda: opened.run(rounds=rounds))
        return
    terminal = Terminal(out, sys.stdin)
    progress.follow(opened.baselines)
    try:
        while not opened.missing.settled or opened.history.round + 1 < rounds:
            advanced = progress.follow(opened.step)
            if opened.missing.decisions:
                approval.decide(opened, terminal)
            elif not advanced:
                return  # the strategy begins no further round
    except Stopped:
        out.write("\nstopped; the same command carries on from here\n")
