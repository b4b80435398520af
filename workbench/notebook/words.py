"""Records -> the words and the HTML that the panels show."""

from __future__ import annotations

import html
from collections.abc import Iterable

from workbench.figures import style
from workbench.figures.trajectory import title_of
from workbench.history import History
from workbench.metrics import Interval, is_faster
from workbench.records import Candidate, Evaluation, Idea, Status
from workbench.search.missing import Missing


def speedup(interval: Interval) -> str:
    return f"{interval.value:.2f}× ({interval.low:.2f} to {interval.high:.2f})"


def time(us: Interval) -> str:
    number = f"{us.value:.4g} µs" if us.value < 10_000 else f"{us.value / 1000:.4g} ms"
    return f"{number} ±{us.halfwidth:.1%}"


def kernel(history: History, candidate: Candidate) -> str:
    """One line to choose a kernel by, e.g. "17 · round 2 · 2.31× · vectorized loads"."""
    ratio = history.speedup(candidate.number)
    merit = f"{ratio.value:.2f}×" if ratio else status(history, candidate.number)
    title = title_of(history, candidate)
    return f"{candidate.number} · round {candidate.round} · {merit} · {title}"


def status(history: History, number: int) -> str:
    """Where a candidate stands, from waiting for approval to its verdict."""
    evaluation, decision = history.evaluation(number), history.decision("candidate", number)
    if evaluation is not None:
        return style.words(evaluation.status.value)
    if decision is None:
        return "waits for approval"
    return "approved, not run yet" if decision.approved else f"turned down by {decision.by}"


def fate(history: History, idea: Idea) -> str:
    """What became of an idea."""
    kernels = history.candidates_of(idea.number)
    decision = history.decision("idea", idea.number)
    if kernels:
        ranked = [c for c in history.ranking() if c in kernels]
        passed = sum(history.speedup(c.number) is not None for c in kernels)
        words = f"{_count(len(kernels), 'kernel')}, {passed} passed"
        ratio = history.speedup(ranked[0].number) if ranked else None
        return f"{words}, best {ratio.value:.2f}× (kernel {ranked[0].number})" if ratio else words
    if decision is None:
        return "waits for your decision"
    note = f": {decision.note}" if decision.note else ""
    return f"{'approved' if decision.approved else 'rejected'} by {decision.by}{note}"


def origin(history: History, idea: Idea) -> str:
    """Who had an idea, of which kind, on top of what."""
    parents = history.branch(idea.branch).parents
    base = " and ".join(f"kernel {p}{_merit(history, p)}" for p in parents) or "the reference"
    kind = idea.category.value if idea.category else "translation"
    return f"{kind} · by {author(history, idea)} · on top of {base}"


def author(history: History, item: Idea | Candidate) -> str:
    """Who wrote an idea or a kernel: a person, the workbench, or which model."""
    if item.author != "model":
        return {"person": "a person", "workbench": "the workbench"}[item.author]
    if isinstance(item, Idea):
        completion = history.completion(f"{history.branch(item.branch).address}/ideas")
    else:
        completion = history.completion(item.address or "")
    name = (completion.returned_model or completion.model) if completion else "the model"
    return "a person" if name == "human" else name


def idea_card(history: History, idea: Idea) -> str:
    title, hypothesis = html.escape(idea.title), html.escape(idea.hypothesis)
    return (
        f"<h4>Idea {idea.number}: {title}</h4><p>{hypothesis}</p>"
        f"<p class='wb-quiet'>{html.escape(origin(history, idea))}</p>"
        f"<p><b>{html.escape(fate(history, idea))}</b></p>"
    )


def progress(history: History, missing: Missing) -> str:
    """What comes next, and where the run's ideas and kernels come from, if it says so."""
    note = f"<p class='wb-quiet'>{html.escape(history.run.note)}</p>" if history.run.note else ""
    return f"{note}<p role='status'>Next: {next_step(missing)}</p>"


def next_step(missing: Missing) -> str:
    """What a person does next; button names are those of the panel."""
    steps = (
        (missing.branches, "Propose ideas"),
        (missing.ideas, f"decide on {_count(len(missing.ideas), 'idea')}"),
        (missing.kernels, f"Write kernels ({len(missing.kernels)} to be written)"),
        (missing.candidates, f"decide on {_count(len(missing.candidates), 'kernel')}"),
        (missing.evaluations, f"Run approved kernels ({len(missing.evaluations)})"),
        (missing.repairs, f"Repair failures ({len(missing.repairs)})"),
    )
    return next((words for lacking, words in steps if lacking), "Propose ideas of a new round")


def earlier_ideas(history: History) -> str:
    """Ideas of earlier rounds and what became of them, newest first."""
    ideas = [i for i in history.ideas if history.branch(i.branch).round < history.round]
    items = "".join(
        f"<li>{idea.number}: {html.escape(idea.title)} "
        f"<span class='wb-quiet'>{html.escape(fate(history, idea))}</span></li>"
        for idea in reversed(ideas)
    )
    if not items:
        return ""
    count = _count(len(ideas), "idea")
    return f"<details><summary>{count} of earlier rounds</summary><ul>{items}</ul></details>"


def kernel_card(history: History, candidate: Candidate) -> str:
    title = html.escape(title_of(history, candidate))
    facts = [f"round {candidate.round}", f"by {author(history, candidate)}", *candidate.flags]
    return (
        f"<h4>Kernel {candidate.number}: {title}</h4>"
        f"<p class='wb-quiet'>{html.escape(' · '.join(facts))}</p>"
        f"<p><b>{html.escape(status(history, candidate.number))}</b></p>"
    )


def edit_heading(history: History, candidate: Candidate) -> str:
    made = f", made from kernel {candidate.parents[0]}" if candidate.parents else ""
    title = html.escape(title_of(history, candidate))
    return f"<h4>Kernel {candidate.number}{made}: {title}</h4>"


def verdict(history: History, number: int) -> str:
    """Everything worth knowing of a candidate's evaluation, the compiler's words included."""
    evaluation = history.evaluation(number)
    if evaluation is None:
        return f"<p>Kernel {number}: {html.escape(status(history, number))}</p>"
    ratio, duration = history.speedup(number), history.duration_us(number)
    head = f"Kernel {number}: {style.words(evaluation.status.value)}"
    if ratio and duration:
        faster = "faster than" if is_faster(ratio) else "not faster than"
        head += f" · {speedup(ratio)}, {faster} PyTorch · {time(duration)}"
    detail = "" if ratio else evaluation.detail  # a passed one repeats the numbers
    facts = [detail, *_facts(history, evaluation), *evaluation.findings]
    items = "".join(f"<li>{html.escape(fact)}</li>" for fact in facts if fact)
    list_ = f"<ul style='margin:0'>{items}</ul>" if items else ""
    return f"<div role='status'><b>{html.escape(head)}</b>{list_}{_logs(evaluation)}</div>"


def folded(summary: str, text: str, *, is_open: bool = False) -> str:
    """Text of any length behind one line that opens it."""
    opened = " open" if is_open else ""
    return (
        f"<details{opened}><summary>{html.escape(summary)}</summary>"
        f"<pre tabindex='0' aria-label='{html.escape(summary)}'>{html.escape(text)}</pre></details>"
    )


def source(candidate: Candidate, *, is_open: bool) -> str:
    lines = candidate.source.count("\n") + 1
    title = f"Source of kernel {candidate.number}, {_count(lines, 'line')}"
    return folded(title, candidate.source, is_open=is_open)


def results(history: History) -> str:
    """The table of all candidates, as they stand."""
    if not history.candidates:
        return "<p>No kernels yet.</p>"
    best = history.best
    columns = ("kernel", "round", "idea", "by", "verdict", "time", "speedup over eager")
    head = "".join(f"<th scope='col'>{name}</th>" for name in columns)
    rows = "".join(
        f"<tr{' class=best' if c is best else ''}>{_row(history, c, is_best=c is best)}</tr>"
        for c in history.candidates
    )
    return (
        "<div class='wb-scroll' tabindex='0' role='region' aria-label='Results of all kernels'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(history: History, candidate: Candidate, *, is_best: bool) -> str:
    ratio = history.speedup(candidate.number)
    duration = history.duration_us(candidate.number)
    words = status(history, candidate.number) + (", best so far" if is_best else "")
    before = (str(candidate.number), str(candidate.round))
    idea = f"<td class='text'>{html.escape(title_of(history, candidate))}</td>"
    after = (
        author(history, candidate),
        words,
        time(duration) if duration else "",
        speedup(ratio) if ratio else "",
    )
    return _cells(before) + idea + _cells(after)


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{html.escape(text)}</td>" for text in texts)


def _facts(history: History, evaluation: Evaluation) -> Iterable[str]:
    candidate = history.candidate(evaluation.candidate)
    for parent in candidate.parents[:1]:
        before, now = history.duration_us(parent), history.duration_us(candidate.number)
        if before and now:
            change = before.value / now.value
            yield f"kernel {parent}, which it was made from: {time(before)}, {change:.2f}× as long"
    if check := evaluation.check:
        if failed := next((c for c in check.cases if not c.passed), None):
            yield f"case {failed.name}: {failed.detail or 'outside the allowed error'}"
        yield (
            f"{sum(c.passed for c in check.cases)} of {_count(len(check.cases), 'test')} passed, "
            f"precision {check.precision} (reference: {check.reference_precision})"
        )
    if (build := evaluation.build) and evaluation.status is not Status.compile_error:
        yield f"built in {build.seconds:.1f} s" + (" (kept from before)" if build.cached else "")
        for k in build.kernels:
            yield (
                f"{k.name}: {k.registers} registers, {k.shared_bytes} bytes shared, "
                f"{k.spill_bytes} bytes spilled"
            )


def _logs(evaluation: Evaluation) -> str:
    failed = evaluation.status is Status.compile_error
    log = evaluation.build.log.strip() if evaluation.build else ""
    words = folded("What the compiler said", log, is_open=failed) if log else ""
    printed = evaluation.output.strip()
    return words + (folded("What the kernel printed", printed) if printed else "")


def _merit(history: History, number: int) -> str:
    ratio = history.speedup(number)
    return f" ({ratio.value:.2f}×)" if ratio else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
