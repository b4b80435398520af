"""What a timing is taken for: accusations need a machine that was quiet."""

from __future__ import annotations

import pytest

from workbench.evaluation import verdict
from workbench.records import Backend, Check, Status, Timing

CHECK = Check(
    cases=(), precision="fp32", reference_precision="fp32", deterministic=True, kernelbench=None
)


def judged(gap: float, backend: Backend, others: float | None) -> verdict.Verdict:
    timing = Timing(
        method="test",
        samples_us=(100.0,) * 6,
        reference_us=(200.0,) * 6,
        launches=10,
        sets=2,
        clock_gap=gap,
    )
    return verdict._timed(CHECK, timing, 10.0, "", backend, others)


@pytest.mark.parametrize(("backend", "others"), [("cpu", 0.02), ("cuda", 0.02), ("cuda", 0.9)])
def test_hidden_time_is_rejected_where_load_does_not_explain_it(
    backend: Backend, others: float
) -> None:
    result = judged(0.5, backend, others)
    assert result.status is Status.rejected
    assert "reports 50% of the judge's time" in result.detail
    assert result.timing is None


@pytest.mark.parametrize("others", [0.5, None])
def test_on_a_busy_cpu_an_honest_kernel_is_not_accused_of_hiding_time(
    others: float | None,
) -> None:
    result = judged(0.5, "cpu", others)
    assert result.status is Status.passed
    assert any("clock mismatch" in finding for finding in result.findings)


def test_clocks_that_nearly_agree_say_nothing() -> None:
    assert judged(0.1, "cpu", 0.02).findings == ()
