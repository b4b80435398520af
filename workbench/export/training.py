"""Ideas, kernels and verdicts as JSON lines, to train models that write kernels."""

from __future__ import annotations

import json
from pathlib import Path

from workbench import metrics
from workbench.history import History
from workbench.problems import prototype
from workbench.records import Candidate, Evaluation


def training_data(history: History, path: str | Path) -> Path:
    """One line a candidate that was evaluated: problem, idea, kernel, verdict, time, parent.

    A time is the median of one launch in µs with the bounds of its interval, null unless the
    kernel passed. `parent` is the candidate of the same run that the kernel was made from.
    """
    file = Path(path)
    lines = [
        json.dumps(_example(history, candidate, evaluation), ensure_ascii=False)
        for candidate in history.candidates
        if (evaluation := history.evaluation(candidate.number)) is not None
    ]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def _example(history: History, candidate: Candidate, evaluation: Evaluation) -> dict[str, object]:
    run = history.run
    idea = history.idea(candidate.idea) if candidate.idea is not None else None
    completion = history.completion(candidate.address) if candidate.address else None
    return {
        "run": run.id,
        "candidate": candidate.number,
        "round": candidate.round,
        "problem": run.problem.name,
        "reference": run.problem.source,
        "prototype": prototype(run.signature, run.backend),
        "backend": run.backend,
        "device": run.environment.device,
        "idea": None
        if idea is None
        else {
            "title": idea.title,
            "hypothesis": idea.hypothesis,
            "category": idea.category.value if idea.category else None,
            "author": idea.author,
        },
        "kernel": candidate.source,
        "form": candidate.form,
        "author": candidate.author,
        "model": completion.returned_model if completion else None,
        "verdict": evaluation.status.value,
        "detail": evaluation.detail,
        "precision": evaluation.check.precision if evaluation.check else None,
        "time_us": _numbers(history.duration_us(candidate.number)),
        "speedup": _numbers(history.speedup(candidate.number)),
        "parent": candidate.parents[0] if candidate.parents else None,
    }


def _numbers(interval: metrics.Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"value": interval.value, "low": interval.low, "high": interval.high}
