"""A run as a person reads it: every verdict, the best, what it is compared with."""

from __future__ import annotations

from pathlib import Path

from workbench import metrics
from workbench.cli import text
from workbench.history import History
from workbench.metrics import Interval
from workbench.records import Candidate, Status, StoreError, encode
from workbench.store import Store

_HEADER = ("#", "address", "idea", "status", "time", "speedup")


def read(path: str) -> History:
    """The history in a store; raises StoreError where there is none."""
    if not Path(path).is_file():
        raise StoreError(f"no store {path!r}")
    store = Store(path)
    try:
        history = store.history()
    finally:
        store.close()
    if history is None:
        raise StoreError(f"the store {path!r} holds no run yet")
    return history


def verdict_line(history: History, candidate: int) -> str:
    """One verdict as it comes: number, address, idea, status, µs and speedup or what failed."""
    number, address, idea, status, time, speedup = _row(history, history.candidate(candidate))
    if speedup == "-":
        evaluation = history.evaluation(candidate)
        time, speedup = text.shortened(evaluation.detail if evaluation else "", 40), ""
    line = f"{number:>4}  {address:<10}  {text.shortened(idea, 36):<36}  {status:<13}"
    return f"{line}  {time:<16}  {speedup}".rstrip()


def table(history: History) -> str:
    """Every candidate, in the order it was written."""
    rows = [_row(history, c) for c in history.candidates]
    shown = [(*row[:2], text.shortened(row[2], 48), *row[3:]) for row in rows]
    return text.table(_HEADER, shown, right="#")


def summary(history: History) -> str:
    """The best candidate, the baselines, the floor, what the models cost."""
    run = history.run
    machine = run.environment
    lines = [
        f"{run.problem.name} · {machine.device} · torch {machine.torch} · {run.created[:10]}",
        f"{run.strategy} · {run.model} · {_counts(history)}",
    ]
    lines += [
        f"{b.name:<10} {text.measured(metrics.duration_us(b.timing)) if b.timing else b.detail}"
        for b in history.baselines
    ]
    lines.append(f"{'floor':<10} {text.duration(history.floor_us)}")
    if (best := history.best) is None:
        lines.append(f"{'best':<10} none passed")
    else:
        lines.append(f"{'best':<10} {_best(history, best)}")
    costs = [c.cost_usd for c in history.completions if c.cost_usd]
    if costs:
        lines.append(f"{'cost':<10} ${sum(costs):.2f} for {len(history.completions)} replies")
    return "\n".join(lines)


def as_json(history: History) -> dict[str, object]:
    best = history.best
    return {
        "run": encode(history.run),
        "rounds": history.round + 1,
        "floor_us": history.floor_us,
        "baselines": [
            {"name": b.name, "time_us": encode(metrics.duration_us(b.timing)) if b.timing else None}
            for b in history.baselines
        ],
        "best": best.number if best else None,
        "candidates": [candidate_json(history, c) for c in history.candidates],
    }


def candidate_json(history: History, candidate: Candidate) -> dict[str, object]:
    evaluation = history.evaluation(candidate.number)
    return {
        "candidate": candidate.number,
        "round": candidate.round,
        "address": candidate.address,
        "parents": list(candidate.parents),
        "idea": text.idea_title(history, candidate.number),
        "author": candidate.author,
        "status": evaluation.status.value if evaluation else None,
        "detail": evaluation.detail if evaluation else None,
        "precision": evaluation.check.precision if evaluation and evaluation.check else None,
        "time_us": encode(history.duration_us(candidate.number)),
        "speedup": encode(history.speedup(candidate.number)),
    }


def over_fastest_baseline(history: History, candidate: int) -> tuple[str, Interval] | None:
    """The fastest timed baseline besides eager, and the speedup against it."""
    evaluation = history.evaluation(candidate)
    if evaluation is None or evaluation.timing is None:
        return None
    others = [
        (b.name, ratio)
        for b in history.baselines
        if b.name != "eager" and (ratio := metrics.speedup_over(evaluation.timing, b))
    ]
    return min(others, key=lambda other: other[1].value, default=None)


def _best(history: History, best: Candidate) -> str:
    time = history.duration_us(best.number)
    assert time is not None
    words = [
        f"#{best.number}",
        text.idea_title(history, best.number),
        text.measured(time),
        f"{text.ratio(history.speedup(best.number))} over eager",
    ]
    if (other := over_fastest_baseline(history, best.number)) is not None:
        words.append(f"{text.ratio(other[1])} over {other[0]}")
    words.append(f"{history.floor_us / time.value:.0%} of the floor's speed")
    return " · ".join(words)


def _row(history: History, candidate: Candidate) -> tuple[str, str, str, str, str, str]:
    evaluation = history.evaluation(candidate.number)
    status = evaluation.status.value if evaluation else "waiting"
    if evaluation and evaluation.status is Status.passed and evaluation.check:
        status = f"passed {evaluation.check.precision}"
    return (
        str(candidate.number),
        candidate.address or "by hand",
        text.idea_title(history, candidate.number),
        status,
        text.measured(history.duration_us(candidate.number)),
        text.ratio(history.speedup(candidate.number)),
    )


def _counts(history: History) -> str:
    judged = [e for c in history.candidates if (e := history.evaluation(c.number))]
    passed = sum(e.status is Status.passed for e in judged)
    return (
        f"{history.round + 1} rounds, {len(history.ideas)} ideas, "
        f"{len(history.candidates)} kernels, {passed} passed"
    )
