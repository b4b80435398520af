"""Problems by name: what goes in and comes out, how much work it is, the floor here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench import metrics
from workbench.cli import text
from workbench.evaluation import LocalExecutor, outline
from workbench.problems import constants
from workbench.records import (
    Backend,
    Environment,
    Problem,
    Signature,
    WorkbenchError,
    encode,
)

# Run once to learn this machine's rates; a listed problem may be huge.
_SMALL = Problem(
    name="small",
    source="import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
    "        return x + 1\ndef get_inputs():\n    return [torch.rand(64, 64)]\n"
    "def get_init_inputs():\n    return []\n",
)
_HEADER = ("problem", "inputs -> outputs", "dtype", "bytes", "flop", "floor")
_WIDEST = 60
_LONGEST_NAME = 44


@dataclass(frozen=True, slots=True)
class Entry:
    """One problem; no signature: `why`."""

    problem: Problem
    signature: Signature | None
    why: str = ""

    def floor_us(self, environment: Environment | None) -> float | None:
        """None: the shapes or this machine's rates are unknown."""
        if self.signature is None or environment is None:
            return None
        return metrics.floor_us(self.signature, environment)


@dataclass(frozen=True, slots=True)
class Listing:
    entries: tuple[Entry, ...]
    environment: Environment | None  # None: not measured, and `why` says so
    why: str = ""


def examine(problems: Mapping[str, Problem], backend: Backend) -> Listing:
    """Outline every problem without running it; measure this machine once, for the floors."""
    order = list(problems.values())
    entries = tuple(
        Entry(p, found) if isinstance(found, Signature) else Entry(p, None, str(found))
        for p, found in zip(order, outline(order), strict=True)
    )
    try:
        with LocalExecutor(backend) as executor:
            return Listing(entries, executor.describe(_SMALL).environment)
    except WorkbenchError as error:
        return Listing(entries, None, str(error))


def as_json(listing: Listing) -> dict[str, object]:
    return {
        "environment": encode(listing.environment),
        "why_no_environment": listing.why,
        "problems": [
            {
                "name": e.problem.name,
                "constants": constants(e.problem),
                "signature": encode(e.signature),
                "why_no_signature": e.why,
                "floor_us": e.floor_us(listing.environment),
            }
            for e in listing.entries
        ],
    }


def as_text(listing: Listing) -> str:
    rows = [_row(e, listing.environment) for e in listing.entries]
    lines = [text.table(_HEADER, rows, right="bytes flop floor"), ""]
    if (machine := listing.environment) is not None:
        peak = max(rate for _, rate in machine.tflops)
        lines.append(
            f"floor: max(bytes / {machine.bandwidth_gbs:.0f} GB/s, flop / the dtype's measured "
            f"rate, at most {peak:.3g} TFLOP/s), measured on {machine.device}"
        )
    else:
        lines.append(f"no floors: {listing.why}")
    return "\n".join(lines)


def _row(entry: Entry, environment: Environment | None) -> tuple[str, ...]:
    signature, name = entry.signature, text.shortened(entry.problem.name, _LONGEST_NAME)
    if signature is None:
        return (name, text.shortened(f"unknown: {entry.why}", _WIDEST), "-", "-", "-", "-")
    floor = entry.floor_us(environment)
    return (
        name,
        text.shortened(text.shapes(signature), _WIDEST),
        text.dtypes(signature),
        text.quantity(signature.bytes, "B"),
        text.quantity(signature.flop, "flop") if signature.flop else "-",
        text.duration(floor) if floor is not None else "-",
    )
