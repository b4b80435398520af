"""Recorded searches replayed: the model's words are old, every verdict and time is made here."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from workbench import metrics
from workbench.cli import drawing, places, running, show, text
from workbench.history import History
from workbench.records import Backend, Settings, WorkbenchError, encode

_MOST = 3
_PREFERRED = ("softmax", "layernorm")  # on a GPU, whose recordings take longer
_HEADER = ("problem", "eager", "compile", "best", "speedup", "over compile", "class", "floor/best")


@dataclass(frozen=True, slots=True)
class Shown:
    """One finished search and the files that show it; no figures: `why`."""

    history: History
    figures: tuple[Path, ...]
    why: str = ""


def replay_all(backend: Backend, folder: Path, out: TextIO = sys.stderr) -> list[Shown]:
    """Replay the chosen recordings, each in a folder of its own; an earlier demo is replaced."""
    shown = []
    for name in _chosen(backend):
        print(f"\n== {name} ==", file=out, flush=True)
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        store = place / "run.db"
        for suffix in ("", "-wal", "-shm", ".lock"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{store}{suffix}").unlink()
        order = running.Order(
            problem=places.find_problem(name),
            backend=backend,
            store=store,
            writer=running.Writer(replay=str(places.recordings(backend)[name])),
            settings=Settings(tier="triage"),
            rounds=None,
            beam=None,
            seed=None,
            ask=False,
        )
        with running.search(order, out) as search:
            history = search.history
        shown.append(_drawn(history, place))
    return shown


def as_json(shown: list[Shown]) -> dict[str, object]:
    return {
        "problems": [
            {
                **show.as_json(s.history),
                "class": _class(s.history),
                "over_compile": encode(_over(s.history, "compile")),
                "figures": [str(path) for path in s.figures],
            }
            for s in shown
        ]
    }


def as_text(shown: list[Shown]) -> str:
    machine = shown[0].history.run.environment
    rows = [_row(s.history) for s in shown]
    lines = [
        "",
        text.table(_HEADER, rows, right="eager compile best floor/best"),
        "",
        f"{machine.device}, {machine.cores} threads, torch {machine.torch}, {machine.compiler}"
        if machine.backend == "cpu"
        else f"{machine.device}, torch {machine.torch}, {machine.compiler}",
    ]
    for s in shown:
        lines += [str(path) for path in s.figures] or [s.why]
    return "\n".join(lines)


def _chosen(backend: Backend) -> list[str]:
    """The preferred recordings where there are any of those, else the first three by name."""
    found = places.recordings(backend)
    names = [name for name in _PREFERRED if name in found] or sorted(found)[:_MOST]
    if not names:
        raise WorkbenchError(f"there is no recording for backend {backend!r} to replay")
    return names


def _drawn(history: History, place: Path) -> Shown:
    try:
        return Shown(history, tuple(drawing.trajectory(history, place, (".html", ".svg"))))
    except WorkbenchError as error:
        return Shown(history, (), str(error))


def _row(history: History) -> tuple[str, ...]:
    best = history.best
    name = history.run.problem.name
    if best is None:
        return (name, _baseline(history, "eager"), _baseline(history, "compile"), *("-",) * 5)
    time = history.duration_us(best.number)
    assert time is not None
    return (
        name,
        _baseline(history, "eager"),
        _baseline(history, "compile"),
        text.duration(time.value),
        text.ratio(history.speedup(best.number)),
        text.ratio(_over(history, "compile")),
        _class(history),
        f"{history.floor_us / time.value:.0%}",
    )


def _baseline(history: History, name: str) -> str:
    baseline = history.baseline(name)
    if baseline is None or baseline.timing is None:
        return "-"
    return text.duration(metrics.duration_us(baseline.timing).value)


def _over(history: History, name: str) -> metrics.Interval | None:
    """The best kernel's speedup over a baseline; None where either is missing."""
    baseline, best = history.baseline(name), history.best
    evaluation = history.evaluation(best.number) if best else None
    if baseline is None or evaluation is None or evaluation.timing is None:
        return None
    return metrics.speedup_over(evaluation.timing, baseline)


def _class(history: History) -> str:
    """The precision class of the best kernel."""
    evaluation = history.evaluation(history.best.number) if history.best else None
    return evaluation.check.precision if evaluation and evaluation.check else "-"
