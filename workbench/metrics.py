"""Speedup, fast_p, geometric mean, intervals: records -> numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.records import Baseline, Environment, Signature, Timing

FASTER = 1.01  # the lower bound that counts as faster than the reference
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds of its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def halfwidth(self) -> float:
        """Half the interval as a fraction of the estimate."""
        return (self.high - self.low) / 2 / self.value

    def __mul__(self, factor: float) -> Interval:
        return Interval(self.value * factor, self.low * factor, self.high * factor)


def median_interval(samples: Sequence[float]) -> Interval:
    """Median with its distribution-free interval: order statistics under the sign test.

    With fewer than six samples the interval is the whole range (coverage below 95 %).
    """
    ordered = sorted(samples)
    rank = _sign_test_rank(len(ordered))
    return Interval(statistics.median(ordered), ordered[rank], ordered[-1 - rank])


def speedup(timing: Timing) -> Interval:
    """Reference time / candidate time over the paired blocks: median of ratios, its interval."""
    pairs = zip(timing.reference_us, timing.samples_us, strict=True)
    return median_interval([reference / own for reference, own in pairs])


def duration_us(timing: Timing) -> Interval:
    """Median time of one launch in microseconds, with its interval."""
    return median_interval(timing.samples_us)


def speedup_over(timing: Timing, baseline: Baseline) -> Interval | None:
    """Speedup against a baseline that was itself timed in turn with eager; None: not timed.

    The two ratios come from different pairs, so their relative half-widths add in quadrature.
    """
    if baseline.timing is None:
        return None
    ours, theirs = speedup(timing), speedup(baseline.timing)
    ratio = ours.value / theirs.value
    spread = math.hypot(ours.halfwidth, theirs.halfwidth)
    return Interval(ratio, ratio * (1 - spread), ratio * (1 + spread))


def is_faster(interval: Interval) -> bool:
    """Faster than the reference: the lower bound lies above 1.01."""
    return interval.low > FASTER


def floor_us(signature: Signature, environment: Environment) -> float:
    """Time no kernel should beat: max(compulsory bytes / bandwidth, flop / measured peak)."""
    by_bytes = signature.bytes / (environment.bandwidth_gbs * 1e3)
    peak = peak_tflops(signature, environment)
    by_flop = signature.flop / (peak * 1e6) if peak else 0.0
    return max(by_bytes, by_flop)


def peak_tflops(signature: Signature, environment: Environment) -> float | None:
    """Fastest measured matrix rate the problem's dtypes admit; None: not measured.

    float32 operands may be rounded or split for tensor cores, so their bound is the tf32 rate.
    """
    rates = dict(environment.tflops)
    rates["float32"] = max(rates.get("float32", 0.0), rates.get("tfloat32", 0.0))
    known = [rates.get(a.dtype, 0.0) for a in signature.of("input", "weight")]
    return max([*known, 0.0]) or rates["float32"] or None


def geometric_mean(values: Iterable[float]) -> float | None:
    """exp(mean(log)); None for no values."""
    logs = [math.log(v) for v in values]
    return math.exp(statistics.fmean(logs)) if logs else None


def fast_p(speedups: Sequence[float | None], p: float) -> float | None:
    """Fraction of problems solved correctly and more than `p` times as fast (strictly).

    None stands for a problem without a correct kernel. Source: KernelBench.
    """
    if not speedups:
        return None
    return sum(s is not None and s > p for s in speedups) / len(speedups)


def _sign_test_rank(n: int) -> int:
    """Largest k such that the k-th smallest and k-th largest sample bound the median at 95 %."""
    tail, rank = 0.0, 0
    for k in range(n // 2):
        tail += math.comb(n, k) * 0.5**n
        if tail > (1 - CONFIDENCE) / 2:
            break
        rank = k
    return rank
