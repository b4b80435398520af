"""Errors, allowances and precision classes of evaluation.correctness."""

from __future__ import annotations

import pytest
import torch

from workbench.evaluation import correctness
from workbench.evaluation.correctness import Expected, expected, judge, precision_class

torch.manual_seed(0)
K = 512
A, B = torch.randn(64, K), torch.randn(K, 64)
ORACLE = A.double() @ B.double()


def matmul_test() -> Expected:
    return expected("normal", [A, B], [A @ B], [ORACLE])


def rounded(dtype: torch.dtype) -> torch.Tensor:
    return (A.to(dtype).double() @ B.to(dtype).double()).float()


def verdict(got: torch.Tensor, *, admitted: str = "reference") -> bool:
    return judge(matmul_test(), [got], admitted=admitted, reference_class="fp32").passed


def test_the_reference_passes_its_own_test() -> None:
    assert verdict(A @ B)


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.float16, "tf32/fp16"), (torch.bfloat16, "bf16")]
)
def test_rounded_operands_fail_an_fp32_problem_unless_the_class_is_admitted(
    dtype: torch.dtype, name: str
) -> None:
    assert not verdict(rounded(dtype))
    assert verdict(rounded(dtype), admitted=name)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float32, "fp32"), (torch.float16, "tf32/fp16"), (torch.bfloat16, "bf16")],
)
def test_the_class_is_told_from_the_error(dtype: torch.dtype, name: str) -> None:
    case = judge(matmul_test(), [rounded(dtype)], admitted="bf16", reference_class="fp32")
    assert precision_class(case.error) == name


def test_an_exact_result_passes_against_a_reference_that_ran_in_tf32() -> None:
    test = expected("normal", [A, B], [rounded(torch.float16)], [ORACLE])
    found = precision_class(test.reference_error)
    assert found == "tf32/fp16"
    assert judge(test, [ORACLE.float()], admitted="reference", reference_class=found).passed


def test_one_wrong_element_fails() -> None:
    got = A @ B
    got[3, 7] += 0.5
    case = judge(matmul_test(), [got], admitted="reference", reference_class="fp32")
    assert not case.passed
    assert "[3, 7]" in case.detail


def test_an_unwritten_element_fails() -> None:
    got = A @ B
    got[-1, -1] = float("nan")
    case = judge(matmul_test(), [got], admitted="reference", reference_class="fp32")
    assert not case.passed
    assert case.error is None
    assert "[63, 63] is nan" in case.detail


def test_infinities_must_stand_where_the_reference_has_them() -> None:
    reference = torch.tensor([1.0, float("inf"), float("nan")])
    test = expected("given", [], [reference], [reference.double()])
    same = judge(test, [reference.clone()], admitted="reference", reference_class="fp32")
    assert same.passed
    for wrong in ([1.0, float("nan"), float("nan")], [1.0, float("inf"), 2.0], [1.0, 3.0, 3.0]):
        case = judge(test, [torch.tensor(wrong)], admitted="reference", reference_class="fp32")
        assert not case.passed


def test_integer_outputs_must_be_equal() -> None:
    want = torch.tensor([1, 2, 3])
    test = expected("given", [], [want], [want])
    assert judge(test, [want.clone()], admitted="reference", reference_class="fp32").passed
    off = torch.tensor([1, 2, 4])
    assert not judge(test, [off], admitted="reference", reference_class="fp32").passed


def test_an_all_zero_oracle_admits_only_zeros() -> None:
    zero = torch.zeros(8)
    test = expected("zeros", [], [zero], [zero.double()])
    assert judge(test, [zero.clone()], admitted="reference", reference_class="fp32").passed
    assert not judge(test, [zero + 1e-3], admitted="reference", reference_class="fp32").passed


def test_a_case_the_reference_itself_fails_decides_nothing() -> None:
    bad = expected("offset", [], [torch.tensor([1.0, 2.0])], [torch.tensor([2.0, 1.0]).double()])
    assert not bad.decides
    assert matmul_test().decides


def test_kernelbench_accepts_what_the_oracle_refuses() -> None:
    got = rounded(torch.float16) * 1.0001
    loose, _ = correctness.kernelbench_verdict(matmul_test(), [got])
    assert loose or not verdict(got)
    assert not verdict(got)
