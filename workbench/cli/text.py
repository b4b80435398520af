"""Numbers and tables as the terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.history import History
from workbench.metrics import Interval
from workbench.records import Argument, Signature

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def duration(us: float) -> str:
    """Microseconds in three significant digits, e.g. "182 µs", "29.3 ms"."""
    for limit, unit, factor in ((999.5, "µs", 1.0), (999.5e3, "ms", 1e3), (float("inf"), "s", 1e6)):
        if us < limit:
            return f"{_three_digits(us / factor)} {unit}"
    return f"{us} µs"


def quantity(value: float, unit: str) -> str:
    """With a decimal prefix, e.g. "33.6 MB"."""
    for step, prefix in _STEPS:
        if value >= step:
            return f"{_three_digits(value / step)} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def ratio(interval: Interval | None) -> str:
    """A speedup with its interval, e.g. "2.31x ±0.4 %"; "-" for none."""
    return f"{interval.value:.2f}x {_spread(interval)}" if interval else "-"


def measured(interval: Interval | None) -> str:
    """A time in µs with its interval, e.g. "182 µs ±0.4 %"; "-" for none."""
    return f"{duration(interval.value)} {_spread(interval)}" if interval else "-"


def shape(argument: Argument) -> str:
    """e.g. "x (4096, 16384)"; a scalar is its name."""
    if argument.role == "scalar":
        return argument.name
    return f"{argument.name} ({', '.join(str(n) for n in argument.shape)})"


def shapes(signature: Signature) -> str:
    """Inputs -> outputs; the weights are counted, a network has too many to list."""
    inputs = [shape(a) for a in signature.of("input", "scalar")]
    weights = signature.of("weight")
    if len(weights) > 2:
        inputs.append(f"{len(weights)} weights")
    else:
        inputs += [shape(a) for a in weights]
    return f"{', '.join(inputs)} -> {', '.join(shape(a) for a in signature.of('output'))}"


def dtypes(signature: Signature) -> str:
    tensors = signature.of("input", "weight", "output")
    return ", ".join(dict.fromkeys(a.dtype for a in tensors))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> str:
    """Columns side by side; `right` names the columns that are set flush right, by a word each."""
    flush = set(right.split())
    cells = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "  ".join(
            text.rjust(width) if name in flush else text.ljust(width)
            for text, width, name in zip(row, widths, header, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def printable(text: str) -> str:
    """A stranger's text without the control characters that move a terminal's cursor."""
    return "".join(c for c in text if c in "\n\t" or c.isprintable())


def shortened(text: str, width: int) -> str:
    """One line of at most `width` characters, fit for a terminal."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1]}…"


def idea_title(history: History, candidate: int) -> str:
    """What a candidate tries, in its idea's words or its author's."""
    number = history.candidate(candidate).idea
    return history.idea(number).title if number is not None else "a person's own kernel"


def _spread(interval: Interval) -> str:
    percent = interval.halfwidth * 100
    return f"±{percent:.1f} %" if percent < 9.95 else f"±{percent:.0f} %"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
