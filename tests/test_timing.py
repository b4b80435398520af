"""The comparison of two sides, with clocks played by functions."""

from __future__ import annotations

import random

import pytest

from workbench import metrics
from workbench.evaluation import timing
from workbench.evaluation.timing import Plan, Sides
from workbench.records import Timing

PLAN = Plan((6, 12, 24), 0.002, 5.0, 0.0)


class Clock:
    """A wall clock that moves when a side works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(timing.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(timing.time, "sleep", lambda s: None)

    def side(
        self, seconds: float, *, hidden: float = 0.0, noise: float = 0.0, seed: int = 7
    ) -> timing.Block:
        rng = random.Random(seed)

        def block(first: int, count: int) -> float:
            true = count * seconds * (1 + noise * rng.uniform(-1, 1))
            self.now += true
            return true * (1 - hidden)

        return block


def compare(reference: timing.Block, candidate: timing.Block, plan: Plan = PLAN) -> Timing:
    sides = Sides(reference, candidate, lambda: None, lambda which: None, 3)
    return timing.compare(sides, plan, method="test", rng=random.Random(1))


def test_a_known_ratio_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    result = compare(clock.side(300e-6), clock.side(100e-6))
    assert metrics.speedup(result).value == pytest.approx(3.0)
    assert metrics.duration_us(result).value == pytest.approx(100.0)


def test_quiet_sides_stop_at_the_first_look_and_noisy_ones_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    assert len(compare(clock.side(1e-4), clock.side(1e-4)).samples_us) == 6
    noisy = compare(clock.side(1e-4, noise=0.3), clock.side(1e-4, noise=0.2, seed=8))
    assert len(noisy.samples_us) == 24


def test_a_budget_ends_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    plan = Plan((6, 12, 24), 0.002, 1.0, 0.0)
    slow = compare(clock.side(0.5), clock.side(2.0), plan)
    assert 3 <= len(slow.samples_us) < 6


def test_what_a_process_hides_is_told_and_gains_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    result = compare(clock.side(1e-3), clock.side(1e-3, hidden=0.5), Plan((6,), 0.1, 60.0, 0.0))
    assert result.clock_gap == pytest.approx(0.5, abs=0.01)
    assert metrics.speedup(result).value == pytest.approx(1.0)


def test_where_clocks_disagree_the_longer_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    plan = Plan((6,), 0.1, 60.0, 0.0)
    result = compare(clock.side(1e-3), clock.side(1e-3, hidden=0.2), plan)
    assert metrics.speedup(result).value == pytest.approx(1.0)


def test_outputs_of_the_last_launch_are_always_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    seen: list[int] = []
    firsts: list[int] = []
    inner = clock.side(1e-3)

    def candidate(first: int, count: int) -> float:
        firsts.append((first + count - 1) % 3)
        return inner(first, count)

    sides = Sides(clock.side(1e-3), candidate, lambda: None, seen.append, 3)
    result = timing.compare(sides, PLAN, method="test", rng=random.Random(1))
    blocks = firsts[-len(result.samples_us) :]
    assert set(blocks) <= set(seen)
    assert len(seen) >= len(blocks)
