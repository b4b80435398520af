"""History in, messages out: asking for ideas, for the kernel of an idea, for a repair."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from workbench.history import History
from workbench.llm.briefing import FENCES, briefing, micros, ratio
from workbench.records import Branch, Candidate, Category, Evaluation, Idea, Message, Status

COMPILER_LINES = 40
TABLE_ROWS = 40
_OUTPUT_LINES = 20
_VARIATIONS = (
    "Write the most direct realization of the idea.",
    "Go further than the obvious: take the idea as far as this device allows.",
    "Divide the work otherwise than one would at first: other tiles, other threads per row.",
    "Combine the idea with whatever it makes possible.",
)
IDEAS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ideas": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "hypothesis": {"type": "string"},
                    "category": {"type": "string", "enum": [c.value for c in Category]},
                },
                "required": ["title", "hypothesis", "category"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["ideas"],
    "additionalProperties": False,
}


def ideas_prompt(history: History, branch: Branch) -> tuple[Message, ...]:
    """Ask for `branch.ideas` ideas on top of its parents, told all earlier ones."""
    categories = min(3, branch.ideas)
    names = "\n".join(f"* {c.value}" for c in Category)
    task = [
        f"Propose {branch.ideas} different ideas to make "
        f"{'this kernel' if len(branch.parents) < 2 else 'a kernel out of these'} faster: one "
        "change each, in plain language, concrete enough for an engineer to write it. Say in the "
        "hypothesis what limits the kernel now and why the change lifts that limit. Repeat no "
        "idea of the table unless you say what was missing.",
        f"Use at least {categories} of these categories, one for each idea:\n{names}",
    ]
    if rare := _least_tried(history):
        task.append(f"Tried least so far: {', '.join(rare)}.")
    task.append(
        f"Answer with JSON only, {branch.ideas} ideas, the category in the words above:\n"
        '{"ideas": [{"title": "...", "hypothesis": "...", "category": "..."}]}'
    )
    parts = [_standing(history), _table(history), *_parents(history, branch), _section(task)]
    return _messages(history, parts)


def kernel_prompt(history: History, idea: Idea, sample: int) -> tuple[Message, ...]:
    """Ask for kernel number `sample` of an idea; each sample is asked to differ."""
    branch = history.branch(idea.branch)
    task = [_the_idea(idea)]
    if branch.samples > 1:
        task.append(
            f"This is kernel {sample + 1} of {branch.samples} for this idea; the others are "
            f"written independently. {_VARIATIONS[sample % len(_VARIATIONS)]}"
        )
    task.append(_kernel_contract(history))
    return _messages(history, [_standing(history), *_parents(history, branch), _section(task)])


def repair_prompt(history: History, candidate: Candidate) -> tuple[Message, ...]:
    """Show a failed kernel with the compiler's or the checker's words and ask for it mended."""
    evaluation = history.evaluation(candidate.number)
    words = _failure(evaluation) if evaluation else "It was not evaluated."
    idea = history.idea(candidate.idea) if candidate.idea is not None else None
    parts = [
        *([f"# The idea\n{_the_idea(idea)}"] if idea else []),
        f"# The kernel\n{_fenced(candidate.source, FENCES[history.run.backend])}",
        f"# What happened\n{words}",
        _section(
            [
                "Find the cause and mend it with the smallest change that is right. Keep the "
                "idea; do not fall back to a slower design unless the idea cannot work.",
                _kernel_contract(history),
            ]
        ),
    ]
    return _messages(history, parts)


def _messages(history: History, parts: list[str]) -> tuple[Message, ...]:
    return (
        Message(role="system", content=briefing(history)),
        Message(role="user", content="\n\n".join(part for part in parts if part)),
    )


def _section(task: list[str]) -> str:
    return "# Your task\n" + "\n\n".join(task)


def _kernel_contract(history: History) -> str:
    fence = FENCES[history.run.backend]
    return (
        "Begin the file with a comment of one or two sentences: what it does and why that is "
        f"fast. Answer with one ```{fence} block that holds the complete file, `launch` included, "
        "nothing left out, and nothing after it."
    )


def _the_idea(idea: Idea) -> str:
    if idea.author == "workbench":
        return (
            "Translate the reference into a kernel file: correct first, parallel, without tricks. "
            "It is what later rounds start from."
        )
    category = f" ({idea.category.value})" if idea.category else ""
    words = [f"Implement this idea: **{idea.title}**{category}", idea.hypothesis]
    return "\n\n".join(word for word in words if word)


# -- where the search stands ---------------------------------------------------------------


def _standing(history: History) -> str:
    """What eager PyTorch takes, what the best kernel takes; "" before the first time."""
    lines = []
    for name in ("eager", "compile"):
        baseline = history.baseline(name)
        if baseline and baseline.timing:
            times = sorted(baseline.timing.samples_us)
            lines.append(f"* PyTorch {name}: {micros(times[len(times) // 2])}")
    if best := history.best:
        lines.append(f"* best kernel so far: {_merit(history, best.number)}")
    return "\n".join(["# Where the search stands", *lines]) if lines else ""


def _merit(history: History, number: int) -> str:
    """Time, speedup and distance to the floor of a kernel that passed; else what became of it."""
    time, speedup = history.duration_us(number), history.speedup(number)
    if time is None or speedup is None:
        evaluation = history.evaluation(number)
        return evaluation.status.value if evaluation else "not evaluated"
    distance = time.value / history.floor_us
    return f"{micros(time.value)}, {ratio(speedup.value)} eager, {ratio(distance)} the least time"


def _parents(history: History, branch: Branch) -> list[str]:
    """The kernels to build on, each with its merit and resources."""
    return [_kernel(history, history.candidate(number)) for number in branch.parents]


def _kernel(history: History, candidate: Candidate) -> str:
    evaluation = history.evaluation(candidate.number)
    lines = [f"# Kernel {candidate.number}: {_merit(history, candidate.number)}"]
    if candidate.idea is not None and (idea := history.idea(candidate.idea)).author != "workbench":
        lines.append(f"Idea: {idea.title}")
    for kernel in evaluation.build.kernels if evaluation and evaluation.build else ():
        lines.append(
            f"* `{kernel.name}`: {kernel.registers} registers, {kernel.shared_bytes} bytes static "
            f"shared memory, {kernel.spill_bytes} bytes spilled"
        )
    lines += [f"* {finding}" for finding in evaluation.findings] if evaluation else []
    return "\n".join([*lines, _fenced(candidate.source, FENCES[history.run.backend])])


def _table(history: History) -> str:
    """Earlier ideas and what became of them, oldest first; "" while there are none."""
    ideas = [idea for idea in history.ideas if idea.author != "workbench"]
    if not ideas:
        return ""
    rows = [
        f"| {history.branch(i.branch).round} | {i.category.value if i.category else ''} "
        f"| {_cell(i.title)} | {_outcome(history, i)} |"
        for i in ideas[-TABLE_ROWS:]
    ]
    left_out = len(ideas) - len(rows)
    head = ["# Ideas so far", *([f"({left_out} older ones left out)"] if left_out else [])]
    names = ["| round | category | idea | best kernel of it |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *names, *rows])


def _outcome(history: History, idea: Idea) -> str:
    """An idea's best speedup beside its parent's, or how its kernels failed."""
    kernels = history.candidates_of(idea.number)
    speedups = [s.value for k in kernels if (s := history.speedup(k.number))]
    if speedups:
        parents = [
            s.value for p in history.branch(idea.branch).parents if (s := history.speedup(p))
        ]
        return ratio(max(speedups)) + (f", from {ratio(max(parents))}" if parents else "")
    failures = Counter(e.status.value for k in kernels if (e := history.evaluation(k.number)))
    if failures:
        return ", ".join(failures)
    decision = history.decision("idea", idea.number)
    if decision is not None and not decision.approved:
        return _cell(f"rejected: {decision.note}" if decision.note else "rejected")
    return "not tried yet"


def _least_tried(history: History) -> list[str]:
    """Up to three categories with the fewest ideas, when some have more than others."""
    counts = Counter(dict.fromkeys(Category, 0))
    counts.update(i.category for i in history.ideas if i.category)
    if len(set(counts.values())) == 1:
        return []
    order = list(Category)
    return [c.value for c in sorted(order, key=lambda c: (counts[c], order.index(c)))[:3]]


# -- what went wrong -----------------------------------------------------------------------


def _failure(evaluation: Evaluation) -> str:
    match evaluation.status:
        case Status.compile_error if evaluation.build and evaluation.build.log:
            return f"It does not compile:\n{_fenced(first_errors(evaluation.build.log), 'text')}"
        case Status.incorrect:
            return "\n".join(["Its results are wrong:", *_cases(evaluation)])
    words = [f"{evaluation.status.value.replace('_', ' ').capitalize()}: {evaluation.detail}"]
    if evaluation.output.strip():
        last = "\n".join(evaluation.output.strip().splitlines()[-_OUTPUT_LINES:])
        words.append(f"It printed:\n{_fenced(last, 'text')}")
    return "\n".join(words)


def first_errors(log: str) -> str:
    """A compiler's words from its first error on, 40 lines of them."""
    lines = [line for line in log.splitlines() if line.strip()]
    named = (i for i, line in enumerate(lines) if re.search(r"\berror\b|undefined", line))
    start = max(0, next(named, 0) - 1)  # the line before says in which function
    return "\n".join(line[:300] for line in lines[start : start + COMPILER_LINES])


def _cases(evaluation: Evaluation) -> list[str]:
    """A line a case that failed, then which passed; only the detail when none was kept."""
    cases = evaluation.check.cases if evaluation.check else ()
    failed = [
        f"* {c.name}: {c.detail or 'wrong'} (error "
        f"{'not finite' if c.error is None else f'{c.error:.2g}'} of the norm, {c.allowed:.2g} "
        "allowed)"
        for c in cases
        if not c.passed
    ]
    passed = list(dict.fromkeys(c.name for c in cases if c.passed))
    if not failed:
        return [f"* {evaluation.detail}"]
    return failed + ([f"Right on: {', '.join(passed)}."] if passed else [])


def _fenced(text: str, language: str) -> str:
    """A block whose fence the text cannot close."""
    plain = text.strip().replace("```", "'''")
    return f"```{language}\n{plain}\n```"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")
