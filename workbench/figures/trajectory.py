"""Speedup of every candidate, round by round: how a search found its best kernel."""

from __future__ import annotations

import statistics
import typing
from collections.abc import Sequence
from typing import Literal

from workbench import metrics
from workbench.figures import screen_trajectory, style
from workbench.figures.figure import Figure, caption
from workbench.history import History
from workbench.records import Candidate

if typing.TYPE_CHECKING:
    import pandas as pd

Measure = Literal["speedup", "time"]
WIDTH_OF_ROUND = 0.7  # the part of a round that its candidates are spread over

_TYPES = {
    "kind": "str", "name": "str", "candidate": "Int64", "round": "Int64", "x": "float64",
    "title": "str", "category": "str", "author": "str", "status": "str", "detail": "str",
    "speedup": "float64", "speedup_low": "float64", "speedup_high": "float64",
    "time_us": "float64", "time_low_us": "float64", "time_high_us": "float64",
    "best": "Int64", "best_speedup": "float64", "best_time_us": "float64", "path": "Int64",
}  # fmt: skip


def trajectory(history: History, *, y: Measure = "speedup") -> Figure:
    """Every candidate by round, its speedup over eager PyTorch (or its time in µs), the best so
    far, the winner's ancestors with their ideas, the baselines, the floor, and the failures."""
    from workbench.figures import paper_trajectory

    if y not in ("speedup", "time"):
        raise ValueError(f"y is 'speedup' or 'time', not {y!r}")
    measure: Measure = y
    return Figure(
        name="trajectory",
        data=trajectory_data(history),
        caption=caption(history, _what(history, measure)),
        screen=lambda data: screen_trajectory.draw(data, measure),
        paper=lambda data, width: paper_trajectory.draw(data, measure, width),
    )


def trajectory_data(history: History) -> pd.DataFrame:
    """One row a candidate (in the order of the x axis), then one a baseline and the floor.

    `x` is the round plus the candidate's place in it; `best` is the best candidate up to this
    one by the lower bound; `path` counts along the winner's ancestors.
    """
    import pandas as pd

    rows = _candidate_rows(history) + _line_rows(history)
    frame = pd.DataFrame(rows, columns=list(_TYPES))
    return frame.astype(_TYPES)


def eager_us(history: History) -> float | None:
    """Median time of eager PyTorch over all blocks it was timed in; None before any."""
    eager = history.baseline("eager")
    if eager and eager.timing:
        return statistics.median(eager.timing.reference_us)
    judged = [history.evaluation(c.number) for c in history.candidates]
    timings = [e.timing for e in judged if e and e.timing]
    timings += [b.timing for b in history.baselines if b.timing]
    return statistics.median(us for t in timings for us in t.reference_us) if timings else None


def place_in_round(candidates: Sequence[Candidate]) -> dict[int, float]:
    """Candidate -> x: its round, and within it the order in which candidates were made."""
    by_round: dict[int, list[int]] = {}
    for candidate in sorted(candidates, key=lambda c: c.number):
        by_round.setdefault(candidate.round, []).append(candidate.number)
    return {
        number: round_ + WIDTH_OF_ROUND * ((index + 0.5) / len(numbers) - 0.5)
        for round_, numbers in by_round.items()
        for index, number in enumerate(numbers)
    }


def title_of(history: History, candidate: Candidate) -> str:
    """What a candidate is, in words: its idea's title, or who wrote it."""
    if candidate.idea is not None:
        title = history.idea(candidate.idea).title
        return f"{title} (edited by hand)" if candidate.author == "person" else title
    return "by hand" if candidate.author == "person" else "translation of the reference"


def _candidate_rows(history: History) -> list[dict[str, object]]:
    places = place_in_round(history.candidates)
    best = history.best
    path = {c.number: i for i, c in enumerate(history.lineage(best.number))} if best else {}
    leader: int | None = None
    rows: list[dict[str, object]] = []
    for candidate in sorted(history.candidates, key=lambda c: places[c.number]):
        number = candidate.number
        evaluation = history.evaluation(number)
        ratio, time = history.speedup(number), history.duration_us(number)
        ahead = history.speedup(leader) if leader is not None else None
        if ratio and (ahead is None or ratio.low > ahead.low):
            leader = number
        of_leader = history.speedup(leader) if leader is not None else None
        time_of_leader = history.duration_us(leader) if leader is not None else None
        idea = history.idea(candidate.idea) if candidate.idea is not None else None
        rows.append(
            {
                "kind": "candidate",
                "name": str(number),
                "candidate": number,
                "round": candidate.round,
                "x": places[number],
                "title": title_of(history, candidate),
                "category": idea.category.value if idea and idea.category else None,
                "author": candidate.author,
                "status": evaluation.status.value if evaluation else style.WAITING,
                "detail": evaluation.detail if evaluation else None,
                **_bounds("speedup", ratio),
                **_bounds("time", time, unit="_us"),
                "best": leader,
                "best_speedup": of_leader.value if of_leader else None,
                "best_time_us": time_of_leader.value if time_of_leader else None,
                "path": path.get(number),
            }
        )
    return rows


def _line_rows(history: History) -> list[dict[str, object]]:
    """The horizontal lines: eager, the other baselines that were timed, the floor."""
    eager = eager_us(history)
    one = metrics.Interval(1.0, 1.0, 1.0)
    rows: list[dict[str, object]] = [
        {"kind": "baseline", "name": "eager", "time_us": eager, **_bounds("speedup", one)}
    ]
    for name in dict.fromkeys(b.name for b in history.baselines):
        baseline = history.baseline(name)
        if name == "eager" or baseline is None or baseline.timing is None:
            continue
        ratio, time = metrics.speedup(baseline.timing), metrics.duration_us(baseline.timing)
        rows.append(
            {
                "kind": "baseline",
                "name": name,
                **_bounds("speedup", ratio),
                **_bounds("time", time, unit="_us"),
            }
        )
    floor = history.floor_us
    ratio_at_floor = eager / floor if eager and floor else None
    rows.append(
        {
            "kind": "floor",
            "name": "floor",
            "time_us": floor or None,
            "speedup": ratio_at_floor,
        }
    )
    return rows


def _bounds(
    name: str, interval: metrics.Interval | None, *, unit: str = ""
) -> dict[str, float | None]:
    if interval is None:
        return {}
    return {
        f"{name}{unit}": interval.value,
        f"{name}_low{unit}": interval.low,
        f"{name}_high{unit}": interval.high,
    }


def _what(history: History, measure: Measure) -> str:
    eager = eager_us(history)
    subject = (
        "Speedup over eager PyTorch of every kernel that passed, by round"
        if measure == "speedup"
        else "Time of one launch of every kernel that passed, by round"
    )
    number = f" (eager: {eager:.4g} µs)" if eager else ""
    best = history.best
    winner = f" Best: {history.describe(best.number)}." if best else " No kernel has passed."
    floor = (
        " The floor is the larger of compulsory bytes over measured bandwidth and operations over "
        "measured peak."
    )
    return f"{subject}{number}.{winner}{floor}"
