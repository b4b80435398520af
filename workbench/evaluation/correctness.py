"""Errors against a float64 oracle: what is allowed, what was found, which precision it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.evaluation.reference import Value
from workbench.records import Case

# Norm-wise error relative to the oracle that each class stays within, at any reduction length.
CLASSES = {"fp64": 1e-12, "fp32": 5e-6, "tf32/fp16": 1e-3, "bf16": 8e-3}
REFERENCE_FACTOR = 4.0  # a candidate may err this many times as much as the reference itself
WORST_FACTOR = 200.0  # one element may err this many times as much as the whole
MEANINGLESS = 0.05  # a case on which the reference itself errs more than this decides nothing


@dataclass(frozen=True)
class Expected:
    """One test: inputs, what the reference answers, what is right."""

    name: str
    inputs: list[Value]
    reference: list[Tensor]
    oracle: list[Tensor]
    reference_error: float | None

    @property
    def decides(self) -> bool:
        return self.reference_error is not None and self.reference_error <= MEANINGLESS


def expected(
    name: str, inputs: list[Value], reference: list[Tensor], oracle: list[Tensor]
) -> Expected:
    """The oracle beside the reference, whose own error is found here."""
    errors = [_error(r, r, o)[0] for r, o in zip(reference, oracle, strict=True)]
    finite = [e for e in errors if e is not None]
    own = max(finite) if len(finite) == len(errors) else None
    return Expected(name, inputs, reference, oracle, own)


def judge(want: Expected, got: list[Tensor], *, admitted: str, reference_class: str) -> Case:
    """Compare outputs with a test; `admitted` is a class name, or "reference"."""
    allowed = allowance(want, admitted=admitted, reference_class=reference_class)
    worst_error: float | None = 0.0
    worst_element: float | None = 0.0
    detail = ""
    for index, (own, reference, oracle) in enumerate(
        zip(got, want.reference, want.oracle, strict=True)
    ):
        error, element, words = _error(own, reference, oracle)
        if error is None or element is None:
            worst_error = worst_element = None
            detail = words
            break
        assert worst_error is not None
        assert worst_element is not None
        worst_error, worst_element = max(worst_error, error), max(worst_element, element)
        limit = allowed if oracle.is_floating_point() else 0.0
        if not detail and (error > limit or element > WORST_FACTOR * limit):
            detail = (f"output {index}: " if len(got) > 1 else "") + words
    passed = worst_error is not None and not detail
    return Case(
        name=want.name,
        error=worst_error,
        reference_error=want.reference_error,
        worst=worst_element,
        allowed=allowed,
        passed=passed,
        detail=detail,
    )


def allowance(want: Expected, *, admitted: str, reference_class: str) -> float:
    """Largest norm-wise error that passes this test."""
    own_class = reference_class if admitted == "reference" else admitted
    floor = max(CLASSES[own_class], CLASSES[reference_class])
    return max(floor, REFERENCE_FACTOR * (want.reference_error or 0.0))


def precision_class(error: float | None) -> str:
    """The narrowest class an error on zero-mean data belongs to; "none" if in no class."""
    if error is None:
        return "none"
    return next((name for name, limit in CLASSES.items() if error <= limit), "none")


def kernelbench_verdict(want: Expected, got: list[Tensor]) -> tuple[bool, bool]:
    """torch.allclose with the reference at 1e-2 and at 1e-4, as KernelBench decides."""

    def close(tolerance: float) -> bool:
        return all(
            torch.allclose(r, o, atol=tolerance, rtol=tolerance)
            for r, o in zip(want.reference, got, strict=True)
        )

    return close(1e-2), close(1e-4)


def _error(
    got: Tensor, reference: Tensor, oracle: Tensor
) -> tuple[float | None, float | None, str]:
    """Norm-wise error, worst element-wise error, words about the worst element.

    Where oracle or reference is not finite, the candidate must answer as the reference does.
    """
    if not oracle.is_floating_point():
        wrong = got != oracle
        share = float(wrong.double().mean())
        return share, share, _where(got, oracle, wrong.double()) if share else ""
    finite = torch.isfinite(oracle) & torch.isfinite(reference)
    if bool(finite.all()):
        difference = got.double().sub_(oracle)
        scale = oracle
    else:
        same = (got == reference) | (torch.isnan(got) & torch.isnan(reference))
        odd = ~(same | finite)
        if bool(odd.any()):
            return None, None, "not the same infinities or NaNs: " + _where(got, oracle, odd)
        difference = torch.where(finite, got.double() - oracle, 0.0)
        scale = torch.where(finite, oracle, 0.0)
    norm = float(torch.linalg.vector_norm(difference))
    if not math.isfinite(norm):
        bad = ~torch.isfinite(difference)
        share = float(bad.double().mean())
        words = f"{share:.3g} of the elements are not finite: " + _where(got, oracle, bad)
        return None, None, words
    whole = float(torch.linalg.vector_norm(scale))
    root_mean_square = whole / math.sqrt(max(scale.numel(), 1))
    if whole == 0.0:
        worst = float(difference.abs().max()) if difference.numel() else 0.0
        return worst, worst, _where(got, oracle, difference.abs()) if worst else ""
    relative = difference.abs_().div_(scale.abs() + root_mean_square)
    worst = float(relative.max())
    words = f"error {norm / whole:.2e}; worst: " + _where(got, oracle, relative)
    return norm / whole, worst, words


def _where(got: Tensor, oracle: Tensor, badness: Tensor) -> str:
    """The worst element in words, e.g. "[3, 17] is 0.25, should be 0.5"."""
    flat = int(badness.flatten().to(torch.float64).argmax())
    place = [int(i) for i in torch.unravel_index(torch.tensor(flat), got.shape)]
    index = tuple(place)
    return f"{place} is {float(got[index]):.6g}, should be {float(oracle[index]):.6g}"
