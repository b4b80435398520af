"""A run as a folder of files that people and git can read."""

from __future__ import annotations

import html
import json
from pathlib import Path

from workbench.history import History
from workbench.problems import header
from workbench.records import Candidate, Idea, encode

SUFFIXES = {"cu": ".cu", "cpp": ".cpp", "module": ".py"}


def folder(history: History, path: str | Path) -> Path:
    """Write README.md (the result table), problem.py, problem.h (what kernel files are compiled
    with), ideas/*.md, kernels/* and results.jsonl (verdicts with all raw samples).

    Writing a later state of the same run over an earlier one is fine: runs only grow.
    """
    root = Path(path)
    (root / "ideas").mkdir(parents=True, exist_ok=True)
    (root / "kernels").mkdir(exist_ok=True)
    run = history.run
    _write(root / "problem.py", run.problem.source)
    _write(root / "problem.h", header(run.signature, run.backend))
    for idea in history.ideas:
        _write(root / _idea_file(idea), _idea_text(history, idea))
    for candidate in history.candidates:
        sign = "#" if candidate.form == "module" else "//"
        text = f"{heading(history, candidate, sign=sign)}\n{candidate.source.rstrip()}\n"
        _write(root / _kernel_file(candidate), text)
    _write(root / "results.jsonl", _results(history))
    _write(root / "README.md", _readme(history))
    return root


def heading(history: History, candidate: Candidate, *, sign: str) -> str:
    """What a kernel is and what became of it, as comment lines for the top of its file."""
    idea = history.idea(candidate.idea) if candidate.idea is not None else None
    evaluation = history.evaluation(candidate.number)
    run = history.run
    lines = [
        history.describe(candidate.number),
        f"problem {run.problem.name} on {run.environment.device}, {run.created[:10]}",
    ]
    if idea is not None:
        lines += [f"idea: {idea.title}", *([idea.hypothesis] if idea.hypothesis else [])]
    if candidate.parents:
        lines.append("made from candidate " + ", ".join(str(p) for p in candidate.parents))
    if candidate.author == "person":
        lines.append("written by a person")
    if evaluation is not None and evaluation.detail:
        lines.append(evaluation.detail)
    return "\n".join(f"{sign} {_one_line(line)}" for line in lines)


def _idea_text(history: History, idea: Idea) -> str:
    decision = history.decision("idea", idea.number)
    verdict = "waiting for a decision"
    if decision is not None:
        verdict = f"{'approved' if decision.approved else 'rejected'} by {decision.by}"
        verdict += f" ({decision.note})" if decision.note else ""
    category = idea.category.value if idea.category else "translation"
    lines = [
        f"# {idea.title}",
        "",
        f"round {history.branch(idea.branch).round} · {category} · by {idea.author} · {verdict}",
        "",
        *([idea.hypothesis, ""] if idea.hypothesis else []),
    ]
    for candidate in history.candidates_of(idea.number):
        link = f"../{_kernel_file(candidate)}"
        lines.append(f"* [{history.describe(candidate.number)}]({link})")
    return "\n".join(lines).rstrip() + "\n"


def _results(history: History) -> str:
    """A line a candidate: its row of the frame, then the evaluation with its raw samples."""
    frame = history.frame()
    lines = []
    for number, row in zip(
        frame["candidate"], json.loads(frame.to_json(orient="records")), strict=True
    ):
        evaluation = history.evaluation(number)
        row["parent"] = next(iter(history.candidate(number).parents), None)
        row["evaluation"] = None if evaluation is None else encode(evaluation)
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def _readme(history: History) -> str:
    run, machine = history.run, history.run.environment
    best = history.best
    lines = [
        f"# {run.problem.name}",
        "",
        f"A search by Kernel Workbench: {run.strategy}, {run.model}, {run.created[:10]}.",
        "",
        f"Device: {machine.device} ({machine.arch}), "
        + (f"driver {machine.driver}, " if machine.driver else "")
        + f"torch {machine.torch}, {machine.compiler}.",
        *([f"Note: {run.note}"] if run.note else []),
        "",
        f"Best: [{history.describe(best.number)}]({_kernel_file(best)})."
        if best
        else "No kernel has passed.",
        "",
        "Speedups are over eager PyTorch, timed in turn with each kernel; intervals are 95 %.",
        f"No kernel should need less than {history.floor_us:.4g} µs.",
        "",
        "| kernel | round | idea | verdict | speedup | interval | µs | from |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *[_row(history, c) for c in _order(history)],
        "",
    ]
    return "\n".join(lines)


def _order(history: History) -> list[Candidate]:
    """Best first; then those that did not pass, in the order they were made."""
    passed = [c for c in history.candidates if history.speedup(c.number) is not None]
    rest = [c for c in history.candidates if history.speedup(c.number) is None]
    return sorted(passed, key=lambda c: -_low(history, c)) + rest


def _low(history: History, candidate: Candidate) -> float:
    ratio = history.speedup(candidate.number)
    return ratio.low if ratio else 0.0


def _row(history: History, candidate: Candidate) -> str:
    evaluation = history.evaluation(candidate.number)
    ratio, time = history.speedup(candidate.number), history.duration_us(candidate.number)
    idea = history.idea(candidate.idea) if candidate.idea is not None else None
    title = f"[{_cell(idea.title)}]({_idea_file(idea)})" if idea else "by hand"
    return (
        f"| [{candidate.number}]({_kernel_file(candidate)}) | {candidate.round} | {title} "
        f"| {evaluation.status.value if evaluation else 'not evaluated'} "
        f"| {f'{_digits(ratio.value)}×' if ratio else ''} "
        f"| {f'{_digits(ratio.low)} to {_digits(ratio.high)}' if ratio else ''} "
        f"| {f'{time.value:.4g}' if time else ''} "
        f"| {', '.join(str(p) for p in candidate.parents)} |"
    )


def _cell(text: str) -> str:
    """A model's words as one cell of a Markdown table."""
    plain = html.escape(" ".join(text.split()), quote=False)
    for sign in "\\`|[]*_":
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def _digits(ratio: float) -> str:
    return f"{ratio:#.3g}".rstrip(".")


def _one_line(text: str) -> str:
    """Text that cannot leave its comment line: no newline, and no backslash to join the next."""
    return " ".join(text.split()).rstrip("\\ ")


def _idea_file(idea: Idea) -> str:
    return f"ideas/{idea.number:03}.md"


def _kernel_file(candidate: Candidate) -> str:
    return f"kernels/{candidate.number:03}{SUFFIXES[candidate.form]}"


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
