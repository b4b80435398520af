"""One kernel file, judged: built, checked, timed; no search and no store."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from workbench import metrics
from workbench.cli import text
from workbench.evaluation import LocalExecutor, default_backend
from workbench.records import (
    Backend,
    Candidate,
    Evaluation,
    Form,
    Problem,
    ProblemError,
    Run,
    Settings,
    Status,
    Tier,
    encode,
)

_FORMS: dict[str, Form] = {".cpp": "cpp", ".cu": "cu", ".py": "module"}
_BACKENDS: dict[Form, Backend] = {"cpp": "cpu", "cu": "cuda"}


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and what its numbers are compared with."""

    run: Run
    evaluation: Evaluation


def backend_of(file: Path, asked: Backend | None) -> Backend:
    """The backend a kernel file is for, by its suffix; a contradiction is an error."""
    own = _BACKENDS.get(_form(file))
    if own and asked and own != asked:
        raise ProblemError(f"{str(file)!r} is a kernel for backend {own!r}, not {asked!r}")
    return own or asked or default_backend()


def judge(problem: Problem, file: Path, backend: Backend, tier: Tier) -> Judged:
    """Build, check and time one kernel file against a problem's reference."""
    try:
        source = file.read_text()
    except OSError as error:
        raise ProblemError(f"cannot read {str(file)!r}: {error.strerror}") from error
    candidate = Candidate(
        number=0, round=0, idea=None, parents=(), source=source, form=_form(file), author="person"
    )
    with LocalExecutor(backend) as executor:
        described = executor.describe(problem)
        run = Run(
            id="evaluate",
            problem=problem,
            backend=backend,
            strategy="none",
            model="none",
            settings=Settings(tier=tier),
            seed=0,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            signature=described.signature,
            environment=described.environment,
        )
        return Judged(run, executor.submit(run, candidate).result())


def as_json(judged: Judged) -> dict[str, object]:
    evaluation, timing = judged.evaluation, judged.evaluation.timing
    return {
        "problem": judged.run.problem.name,
        "backend": judged.run.backend,
        "status": evaluation.status.value,
        "detail": evaluation.detail,
        "time_us": encode(metrics.duration_us(timing)) if timing else None,
        "speedup": encode(metrics.speedup(timing)) if timing else None,
        "floor_us": metrics.floor_us(judged.run.signature, judged.run.environment),
        "evaluation": encode(evaluation),
    }


def as_text(judged: Judged) -> str:
    """The verdict, the numbers, every case, and the compiler's words when it did not build."""
    evaluation, run = judged.evaluation, judged.run
    lines = [f"{run.problem.name} on {run.environment.device}: {evaluation.status.value}"]
    if evaluation.status is not Status.passed:
        lines.append(evaluation.detail)
    if (build := evaluation.build) is not None:
        lines.append(f"build      {build.seconds:.1f} s" + (" (cached)" if build.cached else ""))
        lines += [
            f"  {k.name}: {k.registers} registers, {k.shared_bytes} bytes shared, "
            f"{k.spill_bytes} bytes spilled"
            for k in build.kernels
        ]
        if build.log and evaluation.status is Status.compile_error:
            lines.append(build.log)
    if (check := evaluation.check) is not None:
        lines.append(
            f"precision  {check.precision} (the reference's own: {check.reference_precision})"
        )
        for case in check.cases:
            error = "not finite" if case.error is None else f"{case.error:.1e}"
            verdict = "ok" if case.passed else f"FAILED {case.detail}"
            lines.append(f"  {case.name:<20} error {error}, allowed {case.allowed:.1e}  {verdict}")
    if (timing := evaluation.timing) is not None:
        floor = metrics.floor_us(run.signature, run.environment)
        time = metrics.duration_us(timing)
        lines += [
            f"time       {text.measured(time)}, {floor / time.value:.0%} of the floor's speed "
            f"({text.duration(floor)})",
            f"speedup    {text.ratio(metrics.speedup(timing))} over eager PyTorch",
            f"method     {timing.method}",
        ]
    lines += [f"finding    {finding}" for finding in evaluation.findings]
    if evaluation.output:
        lines += ["output of the candidate:", evaluation.output]
    return text.printable("\n".join(lines))


def _form(file: Path) -> Form:
    try:
        return _FORMS[file.suffix]
    except KeyError:
        known = ", ".join(_FORMS)
        raise ProblemError(
            f"a kernel file ends in one of {known}; {str(file)!r} does not"
        ) from None
