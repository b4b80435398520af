"""What the judge keeps of one problem: the reference, secret tests, inputs to time on."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from workbench import problems
from workbench.evaluation import correctness, reference
from workbench.evaluation.correctness import Expected
from workbench.evaluation.device import Device
from workbench.evaluation.reference import Reference, Value
from workbench.evaluation.wire import Layout
from workbench.records import DeviceError, Problem, ProblemError, Signature, Tier

MODEL_SEED = 42  # KernelBench's, so that weights are the same numbers as there
MAX_SETS = 16
_TESTS: dict[Tier, tuple[str, ...]] = {
    "triage": ("given", "normal"),
    "search": ("given", "normal", "given", "outliers", "row_scales", "offset", "zeros"),
    "record": (
        "given", "normal", "given", "outliers", "row_scales", "offset", "zeros",
        "given", "alternating", "integers", "equal", "large", "tiny",
    ),
}  # fmt: skip


@dataclass
class Bench:
    """One problem on one device. Seeds are drawn here and never leave this process."""

    problem: Problem
    device: Device
    reference: Reference
    signature: Signature
    reference_class: str = "fp32"
    _seeds: list[int] = field(default_factory=lambda: [secrets.randbits(31) for _ in range(64)])
    _tests: dict[int, Expected] = field(default_factory=dict)
    _timing: list[Expected] = field(default_factory=list)

    @classmethod
    def open(cls, problem: Problem, device: Device) -> Bench:
        """Build and run the reference once; raises ProblemError or DeviceError (too small)."""
        try:
            with torch.inference_mode():
                built = Reference.load(problem, device.torch_device, MODEL_SEED)
                signature = reference.described(built, MODEL_SEED)
                bench = cls(problem, device, built, signature)
                bench._require_memory()
                bench.reference_class = bench._class_of_reference()
        except torch.OutOfMemoryError as error:
            raise bench_too_large(problem, device) from error
        return bench

    def tests(self, tier: Tier) -> Iterator[Expected]:
        """The tests of a tier; made once and kept while memory allows."""
        for index, name in enumerate(self.distributions(tier)):
            test = self._tests.get(index)
            if test is None or test.name != name:
                test = self._expected(name, self._seeds[index])
                if self.signature.bytes * 4 < self.device.free_bytes() // 4:
                    self._tests[index] = test
            if test.decides:
                yield test

    def distributions(self, tier: Tier) -> tuple[str, ...]:
        """Names of a tier's tests; a problem file may narrow them."""
        allowed = problems.distributions(self.problem)
        names = _TESTS[tier]
        kept = tuple(n for n in names if allowed is None or n in allowed)
        return kept or ("given",)

    def timing_sets(self) -> list[Expected]:
        """Distinct inputs, as the problem draws them, with the reference's answers.

        Enough of them that together they are twice the last-level cache.
        """
        if not self._timing:
            wanted = -(-2 * self.device.cache_bytes() // max(self.signature.bytes, 1)) + 1
            count = max(2, min(MAX_SETS, wanted))
            self._timing = [self._answered(self._seeds[-1 - k]) for k in range(count)]
        return self._timing

    def scalars(self) -> list[tuple[str, float] | None]:
        """Values of scalar arguments in the order of `launch`; None for pointers."""
        inputs = self.reference.given(MODEL_SEED)
        values = [v for v in inputs if not isinstance(v, Tensor)]
        numbers = iter(values)
        return [
            (a.dtype, next(numbers)) if a.role == "scalar" else None
            for a in self.signature.arguments
        ]

    def weights(self) -> list[Tensor]:
        return self.reference.weights()

    def run(self, inputs: list[Value]) -> object:
        """One launch of the reference, as it is timed."""
        return self.reference.model(*inputs)

    def _class_of_reference(self) -> str:
        """The precision the reference itself has on zero-mean data (tf32 if cuDNN chose so)."""
        index = next((i for i, n in enumerate(self.distributions("search")) if n == "normal"), 0)
        name = self.distributions("search")[index]
        test = self._tests[index] = self._expected(name, self._seeds[index])
        found = correctness.precision_class(test.reference_error)
        if found == "none":
            raise ProblemError(
                f"{self.problem.name!r}: the reference is far from its own float64 result "
                f"(error {test.reference_error}); it cannot decide what is right"
            )
        return found

    def _expected(self, name: str, seed: int) -> Expected:
        inputs = self.reference.drawn(name, seed)
        answer = self.reference.outputs(inputs)
        return correctness.expected(name, inputs, answer, self.reference.oracle(inputs))

    def _answered(self, seed: int) -> Expected:
        """A timing set: the reference's answer stands for the oracle (the tests used that)."""
        inputs = self.reference.given(seed)
        answer = self.reference.outputs(inputs)
        return Expected("timed", inputs, answer, answer, 0.0)

    def _require_memory(self) -> None:
        needed = 2 * Layout.of(self.signature, 2, 0).nbytes + 4 * self.signature.bytes
        if needed > self.device.free_bytes():
            raise bench_too_large(self.problem, self.device, needed)


def bench_too_large(problem: Problem, device: Device, needed: int | None = None) -> DeviceError:
    sizes = ", ".join(f"{n}={v}" for n, v in problems.constants(problem).items())
    amount = f"needs about {needed / 1e9:.1f} GB, " if needed else ""
    return DeviceError(
        f"{problem.name!r} is too large here: {amount}{device.free_bytes() / 1e9:.1f} GB are free "
        f"on the {device.backend} device; make it smaller with --size NAME=VALUE (it has {sizes})"
    )
