"""One built candidate, judged: run it on secret tests, time it, say what became of it."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from workbench import metrics
from workbench.evaluation import correctness, load, timing
from workbench.evaluation.arena import FINITE_BYTE, Arena
from workbench.evaluation.bench import Bench
from workbench.evaluation.candidate import CandidateFailed, CandidateProcess
from workbench.evaluation.correctness import Expected
from workbench.evaluation.nursery import Nursery
from workbench.records import Backend, Case, Check, Settings, Status, Timing

FIRST_LAUNCH_S = 10.0  # allowed beyond 100 launches of the reference
SLOWER_THAN_ALLOWED = 100.0
BELOW_FLOOR = 0.95
CLOCK_LIE = 0.3  # share of the time a process hides, in most blocks


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge tells the driver about one candidate."""

    status: Status
    detail: str
    check: Check | None = None
    timing: Timing | None = None
    findings: tuple[str, ...] = ()
    output: str = ""


@dataclass
class Trial:
    """One candidate's process on one bench, step by step."""

    bench: Bench
    settings: Settings
    process: CandidateProcess
    arena: Arena
    launch_limit_s: float
    seconds: float = 0.0  # of the last single launch
    deterministic: bool | None = None

    def launch(self, which: int) -> None:
        self.bench.device.synchronize()
        self.seconds = self.process.block(which, 1, limit_s=self.launch_limit_s)

    def outcome(self, want: Expected, which: int, *, byte: int | None = None) -> Case:
        """Run one test in one set and compare a copy of its outputs."""
        self.arena.fill_inputs(which, want.inputs)
        if byte is None:
            self.arena.poison(which)
        else:
            self.arena.poison(which, byte)
        self.launch(which)
        got = [t.clone() for t in self.arena.tensors(which, "output")]
        self.arena.verify_untouched(which)
        if want.name == "normal" and self.deterministic is None:
            self._repeat(which, got)
        return correctness.judge(
            want,
            got,
            admitted=self.settings.precision,
            reference_class=self.bench.reference_class,
        )

    def _repeat(self, which: int, got: list[torch.Tensor]) -> None:
        """Once more on the same inputs over another poison: the same bits?"""
        self.arena.poison(which, FINITE_BYTE)
        self.launch(which)
        again = self.arena.tensors(which, "output")
        self.deterministic = all(_same_bits(a, b) for a, b in zip(got, again, strict=True))

    def check(self) -> Check:
        """All tests of the tier, until two have failed."""
        cases: list[Case] = []
        verdict: tuple[bool, bool] | None = None
        for index, want in enumerate(self.bench.tests(self.settings.tier)):
            which = index % len(self.arena.layout.sets)
            cases.append(self.outcome(want, which))
            if verdict is None and want.name == "given":
                verdict = correctness.kernelbench_verdict(want, self.arena.tensors(which, "output"))
            if sum(not c.passed for c in cases) == 2:
                break
        return Check(
            cases=tuple(cases),
            precision=_precision(cases),
            reference_precision=self.bench.reference_class,
            deterministic=self.deterministic,
            kernelbench=verdict,
        )

    def time(self) -> Timing:
        """Candidate against eager, in turn, over distinct inputs."""
        sets = self.bench.timing_sets()
        for which, want in enumerate(sets):
            self.arena.fill_inputs(which, want.inputs)
            self.arena.poison(which)
        device = self.bench.device

        def reference(first: int, count: int) -> float:
            return device.block(lambda k: self.bench.run(sets[k % len(sets)].inputs), first, count)

        def candidate(first: int, count: int) -> float:
            limit = self.launch_limit_s + 10 * count * self.seconds
            return self.process.block(first, count, limit_s=limit)

        def prepare() -> None:
            for which in range(len(sets)):
                self.arena.poison(which)
            device.synchronize()

        def verify(which: int) -> None:
            self._verify_timed(sets[which], which)

        device.synchronize()
        candidate(0, len(sets))
        reference(0, len(sets))
        sides = timing.Sides(reference, candidate, prepare, verify, len(sets))
        plan = timing.PLANS[device.backend, self.settings.tier]
        method = f"interleaved with eager, {len(sets)} input sets, {self.settings.tier}"
        return timing.compare(sides, plan, method=method, rng=random.Random(secrets.randbits(64)))

    def _verify_timed(self, want: Expected, which: int) -> None:
        case = correctness.judge(
            want,
            [t.clone() for t in self.arena.tensors(which, "output")],
            admitted=self.settings.precision,
            reference_class=self.bench.reference_class,
        )
        if not case.passed and (case.error is None or case.error > 2 * case.allowed):
            raise CandidateFailed(
                Status.rejected, f"right when tested, wrong while it was timed: {case.detail}"
            )


def judge(
    bench: Bench,
    library: Path,
    settings: Settings,
    *,
    nursery: Nursery,
    cancel: int | None,
    stage: Callable[[str], None],
    floor_us: float,
) -> Verdict:
    """Everything between a built library and its verdict; a candidate's failure is a Verdict."""
    process = CandidateProcess(
        nursery=nursery,
        backend=bench.device.backend,
        library=library,
        scalars=bench.scalars(),
        limit_s=settings.run_timeout_s,
        cancel=cancel,
        runtime=bench.device.runtime,
    )
    check: Check | None = None
    with process:
        arena: Arena | None = None
        try:
            stage("loading")
            process.load()
            _require_workspace(process.workspace_bytes, bench)
            arena = Arena.over(
                process, bench.signature, len(bench.timing_sets()), bench.device.torch_device
            )
            arena.fill_weights(bench.weights())
            trial = Trial(bench, settings, process, arena, _launch_limit(bench))
            stage("checking")
            check = trial.check()
            failed = [c for c in check.cases if not c.passed]
            if failed:
                detail = "; ".join(f"{c.name}: {c.detail}" for c in failed)
                return Verdict(Status.incorrect, detail, check, output=process.words())
            stage("timing")
            before = load.moment(process.pid)
            result = trial.time()
            others = load.foreign_share(before, load.moment(process.pid))
            return _timed(check, result, floor_us, process.words(), bench.device.backend, others)
        except CandidateFailed as failure:
            words = process.words()
            return Verdict(failure.status, failure.detail, check, output=words)
        finally:
            if arena is not None:
                arena.close()


def _timed(
    check: Check,
    result: Timing,
    floor_us: float,
    words: str,
    backend: Backend,
    others: float | None,
) -> Verdict:
    """A correct candidate with a time: passed, unless the time is faster than physics."""
    own, ratio = metrics.duration_us(result), metrics.speedup(result)
    findings = []
    busy = backend == "cpu" and (others is None or others > load.BUSY)
    if (gap := result.clock_gap or 0.0) > CLOCK_LIE:
        detail = f"clock mismatch: the kernel's process reports {1 - gap:.0%} of the judge's time"
        if not busy:
            return Verdict(Status.rejected, detail, check, output=words)
        findings.append(f"{detail}; the judge's counts (the machine was busy)")
    if not check.deterministic:
        findings.append("two runs on the same inputs gave different bits")
    if ratio.halfwidth > timing.TARGET * 3:
        findings.append(f"noisy: the speedup's interval is ±{ratio.halfwidth:.1%}")
    if busy and others is not None:
        findings.append(f"busy: other programs used {others:.0%} of the CPU while it was timed")
    if check.precision != check.reference_precision:
        findings.append(
            f"precision {check.precision}, the reference has {check.reference_precision}"
        )
    if own.value < BELOW_FLOOR * floor_us:
        detail = f"{own.value:.4g} µs is faster than this device's floor of {floor_us:.4g} µs"
        if backend == "cuda":
            return Verdict(Status.rejected, detail, check, result, tuple(findings), words)
        findings.append(detail)  # a CPU's rates depend on what else it does
    detail = f"{ratio.value:.2f}x eager, {own.value:.4g} µs"
    return Verdict(Status.passed, detail, check, result, tuple(findings), words)


def _precision(cases: list[Case]) -> str:
    """Class by the error on zero-mean data; "none" when a test failed."""
    if not cases or not all(c.passed for c in cases):
        return "none"
    decisive = [c for c in cases if c.name == "normal"] or cases
    classes = [correctness.precision_class(c.error) for c in decisive]
    order = [*correctness.CLASSES, "none"]
    return max(classes, key=order.index)


def _launch_limit(bench: Bench) -> float:
    """How long one launch may take: 10 s and a hundred times the reference."""
    inputs = bench.timing_sets()[0].inputs
    seconds = bench.device.block(lambda _: bench.run(inputs), 0, 1)
    return FIRST_LAUNCH_S + SLOWER_THAN_ALLOWED * seconds


def _require_workspace(nbytes: int, bench: Bench) -> None:
    free = bench.device.free_bytes()
    if nbytes < 0 or nbytes > free // 4:
        raise CandidateFailed(
            Status.rejected, f"workspace_bytes() asks for {nbytes} bytes; {free // 4} are allowed"
        )


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))
