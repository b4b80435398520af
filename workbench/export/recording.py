"""A run as a recording, to be replayed on any machine without its model."""

from __future__ import annotations

from pathlib import Path

from workbench.history import History
from workbench.llm.model import prompt_sha
from workbench.llm.recording import (
    Header,
    RecordedBranch,
    RecordedCompletion,
    RecordedDecision,
    RecordedResult,
    Recording,
    write,
)
from workbench.records import Candidate, Completion, __version__


def recording(
    history: History,
    path: str | Path,
    *,
    author: str | None = None,
    provenance: str | None = None,
    license: str = "not stated",
) -> Path:
    """Write branches, replies, decisions and this device's results; `.gz` compresses.

    What a person added has no address and is left out: kernels written or edited by hand (their
    descendants name the nearest ancestor a model wrote), reworded and added ideas. `author` and
    `provenance` say who wrote the replies; None: made from the models' names.
    """
    run = history.run
    header = Header(
        problem=run.problem.name,
        problem_sha=run.problem.sha,
        source=run.problem.source,
        backend=run.backend,
        strategy=run.strategy,
        author=author or ", ".join(_models(history)) or run.model,
        provenance=provenance or _provenance(history),
        device=run.environment.device,
        created=run.created,
        license=license,
        workbench=__version__,
    )
    made = Recording(
        header=header,
        branches=_branches(history),
        completions=tuple(_reply(c) for c in history.completions if not c.error),
        decisions=_decisions(history),
        results=_results(history),
    )
    return write(path, made)


def _branches(history: History) -> tuple[RecordedBranch, ...]:
    return tuple(
        RecordedBranch(
            round=branch.round,
            index=branch.index,
            parents=tuple(
                dict.fromkeys(a for p in branch.parents if (a := _addressed(history, p)))
            ),
            lane=branch.lane,
            ideas=branch.ideas,
            samples=branch.samples,
        )
        for branch in history.branches
    )


def _reply(completion: Completion) -> RecordedCompletion:
    return RecordedCompletion(
        address=completion.address,
        model=completion.model,
        returned_model=completion.returned_model,
        reply=completion.reply,
        reasoning=completion.reasoning,
        finish=completion.finish,
        usage=completion.usage,
        cost_usd=completion.cost_usd,
        created=completion.created,
        prompt_sha=prompt_sha(completion.messages),
    )


def _decisions(history: History) -> tuple[RecordedDecision, ...]:
    """Verdicts in force, on the ideas and kernels that a model wrote."""
    found = [(history.address(i), history.decision("idea", i.number)) for i in history.ideas]
    found += [(a, history.decision("candidate", c.number)) for a, c in _by_model(history)]
    return tuple(
        RecordedDecision(address=address, approved=decision.approved, note=decision.note)
        for address, decision in found
        if decision is not None
    )


def _results(history: History) -> tuple[RecordedResult, ...]:
    results = []
    for address, candidate in _by_model(history):
        if (evaluation := history.evaluation(candidate.number)) is None:
            continue
        time, ratio = history.duration_us(candidate.number), history.speedup(candidate.number)
        results.append(
            RecordedResult(
                address=address,
                status=evaluation.status,
                detail=evaluation.detail,
                median_us=time.value if time else None,
                speedup=ratio.value if ratio else None,
                low=ratio.low if ratio else None,
                high=ratio.high if ratio else None,
            )
        )
    return tuple(results)


def _by_model(history: History) -> list[tuple[str, Candidate]]:
    return [(c.address, c) for c in history.candidates if c.address is not None]


def _addressed(history: History, candidate: int) -> str | None:
    """The address of a candidate, or of its nearest ancestor that has one."""
    line = reversed(history.lineage(candidate))
    return next((c.address for c in line if c.address is not None), None)


def _models(history: History) -> list[str]:
    return list(dict.fromkeys(c.returned_model or c.model for c in history.completions))


def _provenance(history: History) -> str:
    if history.run.note:
        return history.run.note
    models = " and ".join(_models(history)) or history.run.model
    return f"Ideas and kernels were written by {models}."
