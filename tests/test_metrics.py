"""Intervals cover what they say; speedups, floors and fast_p are what their definitions say."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import histories
import pytest

from workbench import metrics
from workbench.metrics import Interval
from workbench.records import Argument, Baseline


@pytest.mark.parametrize(
    ("n", "rank"), [(1, 0), (5, 0), (6, 0), (9, 1), (12, 2), (24, 6), (25, 7), (48, 16)]
)
def test_ranks_are_those_of_the_sign_test_table(n: int, rank: int) -> None:
    # Counted from 0; e.g. n = 25: the 8th smallest and the 8th largest (Dixon and Massey).
    interval = metrics.median_interval([float(k) for k in range(n)])
    assert (interval.low, interval.high) == (rank, n - 1 - rank)


def test_the_interval_of_the_median_covers_it_95_times_in_100() -> None:
    rng = random.Random(7)
    intervals = [metrics.median_interval([rng.gauss(0, 1) for _ in range(24)]) for _ in range(2000)]
    covered = sum(i.low <= 0 <= i.high for i in intervals) / len(intervals)
    assert 0.95 <= covered <= 0.99  # order statistics are coarse: 0.977 at n = 24


def test_a_speedup_is_reference_over_candidate_pair_by_pair() -> None:
    timing = replace(
        histories.timing(1.0), samples_us=(1.0, 2.0, 4.0), reference_us=(2.0, 4.0, 8.0)
    )
    assert metrics.speedup(timing) == Interval(2.0, 2.0, 2.0)
    assert metrics.duration_us(timing) == Interval(2.0, 1.0, 4.0)


def test_a_speedup_over_a_baseline_divides_out_eager() -> None:
    ratio = metrics.speedup_over(
        histories.timing(3.0), Baseline(name="compile", timing=histories.timing(1.5))
    )
    assert ratio is not None
    assert ratio.value == pytest.approx(2.0)
    assert ratio.low < 2.0 < ratio.high
    assert metrics.speedup_over(histories.timing(3.0), Baseline(name="x", timing=None)) is None


def test_faster_asks_for_the_lower_bound() -> None:
    assert not metrics.is_faster(Interval(1.5, 1.01, 2.0))
    assert metrics.is_faster(Interval(1.03, 1.02, 1.04))


def test_the_floor_is_the_slower_of_traffic_and_arithmetic() -> None:
    signature, here = histories.SIGNATURE, histories.ENVIRONMENT
    by_bytes = signature.bytes / 2e3  # µs at 2 GB/s
    by_flop = signature.flop / 0.05e6  # µs at 0.05 TFLOPS
    assert metrics.floor_us(signature, here) == pytest.approx(max(by_bytes, by_flop))
    assert metrics.floor_us(replace(signature, flop=0), here) == pytest.approx(by_bytes)
    assert metrics.floor_us(signature, replace(here, tflops=())) == pytest.approx(by_bytes)


def test_a_float32_problem_is_held_to_the_tensor_core_rate() -> None:
    rates = (("float32", 50.0), ("tfloat32", 400.0), ("float16", 800.0))
    here = replace(histories.ENVIRONMENT, tflops=rates)
    assert metrics.peak_tflops(histories.SIGNATURE, here) == 400.0
    half = Argument(name="x", role="input", dtype="float16", shape=(1,))
    assert metrics.peak_tflops(replace(histories.SIGNATURE, arguments=(half,)), here) == 800.0


def test_geometric_mean_and_fast_p() -> None:
    assert metrics.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert metrics.geometric_mean([]) is None
    assert metrics.fast_p([None, 0.5, 1.0, 2.0], 1.0) == 0.25  # strictly faster
    assert metrics.fast_p([None, 0.5], 0.0) == 0.5
    assert metrics.fast_p([], 1.0) is None


def test_an_interval_scales() -> None:
    doubled = Interval(1.0, 0.9, 1.1) * 2.0
    assert (doubled.value, doubled.low, doubled.high) == (2.0, 1.8, 2.2)
    assert math.isclose(doubled.halfwidth, 0.1)
