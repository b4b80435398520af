"""The PyTorch reference made ready to run: inputs of any distribution, weights, oracle."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from workbench.evaluation.wire import WORD_BYTES, tensor_bytes
from workbench.problems import constants
from workbench.records import Argument, Problem, ProblemError, Role, Signature

Value: TypeAlias = Tensor | int | float | bool

# Distributions the judge draws besides what the problem's get_inputs gives ("given").
DISTRIBUTIONS: dict[str, Callable[[Tensor], Tensor]] = {}


@dataclass
class Reference:
    """A problem's Model with its weights on a device; `model64` is the float64 oracle's copy."""

    problem: Problem
    device: torch.device
    module: types.ModuleType
    model: torch.nn.Module
    names: tuple[str, ...]  # forward's parameters, in order

    @classmethod
    def load(cls, problem: Problem, device: torch.device, seed: int) -> Reference:
        """Run the problem file and build its Model; raises ProblemError in the file's words."""
        module = types.ModuleType(f"problem_{problem.sha}")
        try:
            exec(compile(problem.source, f"{problem.name}.py", "exec"), module.__dict__)
            torch.manual_seed(seed)
            with device:
                arguments = module.get_init_inputs()
                model = _build(module.Model, arguments).to(device)
            names = tuple(inspect.signature(model.forward).parameters)
        except Exception as error:
            raise ProblemError(f"{problem.name!r} cannot be built: {_words(error)}") from error
        return cls(problem, device, module, model, names)

    def given(self, seed: int) -> list[Value]:
        """Inputs as the problem's get_inputs draws them, on the device, contiguous."""
        torch.manual_seed(seed)
        try:
            with self.device:
                values = self.module.get_inputs()
        except Exception as error:
            raise ProblemError(
                f"get_inputs of {self.problem.name!r} failed: {_words(error)}"
            ) from error
        return [
            v.to(self.device).contiguous() if isinstance(v, Tensor) else cast(Value, v)
            for v in values
        ]

    def drawn(self, distribution: str, seed: int) -> list[Value]:
        """Inputs of another distribution: floating tensors are redrawn, the rest as given."""
        values = self.given(seed)
        if distribution == "given":
            return values
        redraw = DISTRIBUTIONS[distribution]
        return [redraw(v) if isinstance(v, Tensor) and v.is_floating_point() else v for v in values]

    def outputs(self, inputs: list[Value]) -> list[Tensor]:
        """What the reference answers, on the device, contiguous."""
        return _tensors(self.model(*inputs), self.problem.name)

    def oracle(self, inputs: list[Value]) -> list[Tensor]:
        """The same computed in float64, where the reference's own operations allow it."""
        model = copy.deepcopy(self.model).double()
        wide = [
            v.double() if isinstance(v, Tensor) and v.is_floating_point() else v for v in inputs
        ]
        return _tensors(model(*wide), self.problem.name)

    def weights(self) -> list[Tensor]:
        """Parameters and buffers in state_dict order, contiguous."""
        return [t.detach().contiguous() for t in self.model.state_dict().values()]

    def signature(self, inputs: list[Value], outputs: list[Tensor], flop: int) -> Signature:
        """What a kernel for this reference receives and writes."""
        taken: set[str] = set()
        arguments: list[Argument] = []

        def add(name: str, role: Role, value: Value) -> None:
            unique = name
            while unique in taken:
                unique += "_"
            taken.add(unique)
            arguments.append(_argument(unique, role, value))

        for name, value in zip(self.names, inputs, strict=False):
            add(name, "input" if isinstance(value, Tensor) else "scalar", value)
        for key, weight in zip(self.model.state_dict(), self.weights(), strict=True):
            add(key.replace(".", "_"), "weight", weight)
        for index, output in enumerate(outputs):
            add("out" if len(outputs) == 1 else f"out{index}", "output", output)
        return Signature(
            arguments=tuple(arguments),
            constants=tuple(constants(self.problem).items()),
            bytes=sum(tensor_bytes(a.dtype, a.shape) for a in arguments if a.role != "scalar"),
            flop=flop,
        )


def described(reference: Reference, seed: int) -> Signature:
    """The signature, found by running the reference once (on any device, "meta" included)."""
    inputs = reference.given(seed)
    counter = FlopCounterMode(display=False)
    try:
        with torch.inference_mode(), counter:
            outputs = reference.outputs(inputs)
    except ProblemError:
        raise
    except Exception as error:
        name = reference.problem.name
        raise ProblemError(f"the reference of {name!r} failed: {_words(error)}") from error
    return reference.signature(inputs, outputs, counter.get_total_flops())


def _distribution(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    DISTRIBUTIONS[function.__name__.removeprefix("_")] = function
    return function


@_distribution
def _normal(x: Tensor) -> Tensor:
    return torch.randn_like(x)


@_distribution
def _alternating(x: Tensor) -> Tensor:
    """Magnitudes around one whose signs alternate: partial sums cancel."""
    flat = torch.rand_like(x).flatten() + 0.5
    flat[1::2] *= -1
    return flat.view_as(x)


@_distribution
def _outliers(x: Tensor) -> Tensor:
    """Normal with one huge element at a random place and one in the very last."""
    flat = torch.randn_like(x).flatten()
    place = int(torch.randint(flat.numel(), (1,), device="cpu"))
    flat[place] = 60.0
    flat[-1] = -50.0
    return flat.view_as(x)


@_distribution
def _row_scales(x: Tensor) -> Tensor:
    """Normal, every row of the last dimension scaled by its own factor in 0.03..30."""
    if x.dim() < 2:
        return torch.randn_like(x)
    scale = torch.rand(*x.shape[:-1], 1, device=x.device, dtype=torch.float32)
    return (torch.randn_like(x) * (10 ** (3 * scale - 1.5)).to(x.dtype)).contiguous()


@_distribution
def _offset(x: Tensor) -> Tensor:
    """Mean 1000, standard deviation 0.1: breaks E[x²] - E[x]²."""
    return torch.randn_like(x) * 0.1 + 1000.0


@_distribution
def _integers(x: Tensor) -> Tensor:
    return torch.randint(-3, 4, x.shape, device=x.device).to(x.dtype)


@_distribution
def _zeros(x: Tensor) -> Tensor:
    return torch.zeros_like(x)


@_distribution
def _equal(x: Tensor) -> Tensor:
    return torch.full_like(x, 0.7)


@_distribution
def _large(x: Tensor) -> Tensor:
    return torch.randn_like(x) * 200.0


@_distribution
def _tiny(x: Tensor) -> Tensor:
    return torch.randn_like(x) * 1e-4


def _build(kind: Callable[..., torch.nn.Module], arguments: Any) -> torch.nn.Module:
    """Model from get_init_inputs, which gives a list, or [args, kwargs] in some files."""
    if isinstance(arguments, dict):
        return kind(**arguments)
    return kind(*arguments)


def _tensors(answer: Any, name: str) -> list[Tensor]:
    values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    if not values or not all(isinstance(v, Tensor) for v in values):
        kinds = ", ".join(type(v).__name__ for v in values) or "nothing"
        raise ProblemError(f"the reference of {name!r} returns {kinds}; tensors are needed")
    return [v.detach().contiguous() for v in values]


def _argument(name: str, role: Role, value: Value) -> Argument:
    if isinstance(value, Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype not in WORD_BYTES:
            raise ProblemError(f"{name!r} has dtype {dtype}, which kernel files cannot take")
        return Argument(name=name, role=role, dtype=dtype, shape=tuple(value.shape))
    dtypes = {bool: "bool", int: "int64", float: "float64"}
    if type(value) not in dtypes:
        raise ProblemError(f"{name!r} is {type(value).__name__}; tensors and numbers are needed")
    return Argument(name=name, role="scalar", dtype=dtypes[type(value)], shape=())


def _words(error: Exception) -> str:
    """The first lines of a foreign exception, short enough for one message."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {' '.join(text[:2])[:300]}" if text else type(error).__name__
