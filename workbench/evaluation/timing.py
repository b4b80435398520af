"""Reference and candidate timed in turn, cold, until the ratio is known well enough."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from workbench import metrics
from workbench.records import Tier, Timing

TARGET = 0.01  # half-width of the ratio's interval at which pairs stop
CLOCK_TOLERANCE = 0.03  # runner's and judge's clocks may differ by this; else the longer counts
CLOCK_SLACK_S = 0.5e-3  # what an order to the runner and its answer may cost
Block = Callable[[int, int], float]  # first set, launches -> seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """How long blocks are and how many pairs a tier may take."""

    pairs: tuple[int, ...]  # look at the interval after so many pairs; the last is the end
    block_s: float
    budget_s: float  # no further pair is begun after this
    settle_s: float  # pause between blocks, so that one side's threads are asleep


PLANS: dict[tuple[str, Tier], Plan] = {
    ("cpu", "triage"): Plan((6,), 0.01, 0.6, 0.004),
    ("cpu", "search"): Plan((12, 24, 48), 0.02, 2.0, 0.004),
    ("cpu", "record"): Plan((24, 48, 96), 0.04, 8.0, 0.004),
    ("cuda", "triage"): Plan((6,), 0.004, 0.3, 0.0),
    ("cuda", "search"): Plan((12, 24, 48), 0.008, 1.5, 0.0),
    ("cuda", "record"): Plan((24, 48, 96), 0.016, 6.0, 0.0),
}


@dataclass
class Sides:
    """The two blocks that are compared, and what is done around a candidate's block."""

    reference: Block
    candidate: Block  # by the runner's own clock
    prepare: Callable[[], None]  # poison outputs
    verify: Callable[[int], None]  # check one set's outputs; raises CandidateFailed
    sets: int
    foreign: bool = True  # the candidate's clock is its own process's, so it is checked


def compare(sides: Sides, plan: Plan, *, method: str, rng: random.Random) -> Timing:
    """Paired blocks in alternating order; where clocks disagree the longer time counts."""
    own_launches = _launches(sides.candidate, plan.block_s)
    reference_launches = _launches(sides.reference, plan.block_s)
    own: list[float] = []
    reference: list[float] = []
    gaps: list[float] = []
    started = time.monotonic()
    while True:
        first = rng.randrange(sides.sets)
        if len(own) % 2:
            seconds, gap = _candidate_block(sides, first, own_launches, plan, rng)
            reference.append(_settled(sides.reference, first, reference_launches, plan))
        else:
            reference.append(_settled(sides.reference, first, reference_launches, plan))
            seconds, gap = _candidate_block(sides, first, own_launches, plan, rng)
        own.append(seconds / own_launches * 1e6)
        reference[-1] *= 1e6 / reference_launches
        gaps.append(gap)
        if _enough(own, reference, plan, time.monotonic() - started):
            break
    return Timing(
        method=method,
        samples_us=tuple(own),
        reference_us=tuple(reference),
        launches=own_launches,
        sets=sides.sets,
        clock_gap=statistics.median(gaps),
    )


def _candidate_block(
    sides: Sides, first: int, launches: int, plan: Plan, rng: random.Random
) -> tuple[float, float]:
    """Seconds of a block, and the fraction of the wall clock its process did not report.

    Double entry: where the two clocks disagree, the judge's longer time counts.
    """
    sides.prepare()
    time.sleep(plan.settle_s)
    started = time.perf_counter()
    seconds = sides.candidate(first, launches)
    wall = time.perf_counter() - started
    written = min(launches, sides.sets)
    last = launches - 1
    for turn in {last, last - rng.randrange(written)}:
        sides.verify((first + turn) % sides.sets)
    if not sides.foreign:
        return seconds, 0.0
    missing = wall - seconds
    agreed = 0 <= missing <= CLOCK_TOLERANCE * wall + CLOCK_SLACK_S
    return seconds if agreed else wall, max(missing - CLOCK_SLACK_S, 0.0) / wall


def _settled(block: Block, first: int, launches: int, plan: Plan) -> float:
    time.sleep(plan.settle_s)
    return block(first, launches)


def _launches(block: Block, block_s: float) -> int:
    """Launches that fill a block; warms the side up on the way."""
    once = max(block(0, 1), 1e-7)
    if once < block_s / 4:
        few = max(1, min(64, int(block_s / 4 / once)))
        once = max(block(0, few) / few, 1e-7)
    return max(1, min(10_000, math.ceil(block_s / once)))


def _enough(own: list[float], reference: list[float], plan: Plan, elapsed_s: float) -> bool:
    """At a look: is the ratio's interval narrow enough? Or are pairs or seconds spent?"""
    pairs = len(own)
    if pairs >= plan.pairs[-1] or (elapsed_s > plan.budget_s and pairs >= plan.pairs[0]):
        return True
    if elapsed_s > 4 * plan.budget_s and pairs >= 3:
        return True
    if pairs not in plan.pairs:
        return False
    ratios = [r / o for r, o in zip(reference, own, strict=True)]
    return metrics.median_interval(ratios).halfwidth < TARGET
