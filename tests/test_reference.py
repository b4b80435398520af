"""The reference made ready: signatures, distributions, broken problem files."""

from __future__ import annotations

import itertools

import pytest
import torch

from workbench.evaluation.outline import outline
from workbench.evaluation.reference import DISTRIBUTIONS, Reference, described
from workbench.evaluation.wire import GUARD, Layout
from workbench.records import Problem, ProblemError, Signature

SOURCE = """
import torch
import torch.nn as nn
rows = 8
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 4)
    def forward(self, x, scale):
        return torch.relu(self.fc(x)) * scale
def get_inputs():
    return [torch.randn(rows, 16), 2.5]
def get_init_inputs():
    return [16]
"""
CPU = torch.device("cpu")


def load(source: str = SOURCE) -> Reference:
    return Reference.load(Problem(name="p", source=source), CPU, 42)


def test_a_signature_lists_inputs_scalars_weights_and_outputs_in_order() -> None:
    found = described(load(), 0)
    assert [(a.name, a.role, a.shape) for a in found.arguments] == [
        ("x", "input", (8, 16)),
        ("scale", "scalar", ()),
        ("fc_weight", "weight", (4, 16)),
        ("fc_bias", "weight", (4,)),
        ("out", "output", (8, 4)),
    ]
    assert found.bytes == 4 * (8 * 16 + 4 * 16 + 4 + 8 * 4)
    assert found.flop == 2 * 8 * 16 * 4
    assert found.constants == (("rows", 8),)


def test_an_outline_on_no_device_equals_the_signature_found_by_running() -> None:
    problem = Problem(name="p", source=SOURCE)
    broken = Problem(name="b", source=SOURCE.replace("self.fc(x)", "self.missing(x)"))
    first, second = outline([problem, broken])
    assert first == described(load(), 0)
    assert isinstance(second, ProblemError)
    assert "missing" in str(second)


def test_the_oracle_is_float64_of_the_same_weights() -> None:
    reference = load()
    inputs = reference.given(1)
    (wide,) = reference.oracle(inputs)
    (own,) = reference.outputs(inputs)
    assert wide.dtype == torch.float64
    assert torch.allclose(own.double(), wide, atol=1e-5)


def test_the_same_seed_gives_the_same_inputs_and_another_does_not() -> None:
    reference = load()
    assert torch.equal(reference.given(3)[0], reference.given(3)[0])
    assert not torch.equal(reference.given(3)[0], reference.given(4)[0])


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_every_distribution_keeps_shape_and_dtype_and_is_finite(name: str) -> None:
    for x in (torch.randn(6, 40), torch.randn(7), torch.randn(3, 4, 5).half()):
        drawn = DISTRIBUTIONS[name](x)
        assert drawn.shape == x.shape
        assert drawn.dtype == x.dtype
        assert drawn.is_contiguous()
        assert bool(torch.isfinite(drawn).all())


def test_integer_inputs_and_scalars_are_left_as_given() -> None:
    source = SOURCE.replace("torch.randn(rows, 16), 2.5", "torch.ones(rows, 16), 2.5")
    assert load(source).drawn("normal", 0)[1] == 2.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("nn.Linear(width, 4)", "nn.Nothing(width)"), "cannot be built"),
        (("return [torch.randn(rows, 16), 2.5]", "raise OSError('no disk')"), "no disk"),
        (("return torch.relu(self.fc(x)) * scale", "return 'text'"), "returns str"),
        (("* scale", ", 1.5"), "returns Tensor, float"),
    ],
)
def test_a_broken_problem_is_told_in_words(change: tuple[str, str], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        described(load(SOURCE.replace(*change)), 0)


def test_buffers_never_overlap_and_guards_fill_the_rest() -> None:
    signature: Signature = described(load(), 0)
    layout = Layout.of(signature, 3, 1000)
    slots = {s for row in layout.sets for s in row if s is not None}
    assert layout.workspace is not None
    ranges = sorted((s.offset, s.offset + s.nbytes) for s in {*slots, layout.workspace})
    for (_, end), (start, _) in itertools.pairwise(ranges):
        assert start - end >= GUARD
    covered = sum(b - a for a, b in ranges) + sum(b - a for a, b in layout.guards())
    assert covered == layout.nbytes
    weights = [row[2] for row in layout.sets]
    assert weights[0] == weights[1] == weights[2]
