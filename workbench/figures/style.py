"""One look for all figures: colours, marks, sizes in inches, ticks of a log axis."""

from __future__ import annotations

import html
import math
import re
import textwrap
import typing
from collections.abc import Sequence

from workbench.records import Status

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

# Okabe and Ito's palette, safe for colour-blind readers; its yellow is too pale for lines.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, BLACK = "#CC79A7", "#E69F00", "#56B4E9", "#000000"
OKABE_ITO = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREY = "#7f7f7f"  # legible on white and on black
SCREEN_BLUE = "#2e8fcb"  # between BLUE and SKY: legible on white and on black
WAITING = "not evaluated"

# status -> plotly symbol, matplotlib marker, both colours the same
FAILURES: dict[str, tuple[str, str, str]] = {
    Status.compile_error.value: ("x-thin-open", "x", ORANGE),
    Status.incorrect.value: ("triangle-down-open", "v", PURPLE),
    Status.runtime_error.value: ("square-open", "s", VERMILLION),
    Status.timeout.value: ("hourglass-open", "^", SCREEN_BLUE),
    Status.rejected.value: ("cross-thin-open", "+", GREY),
    WAITING: ("circle-open", ".", GREY),
}

# Text widths of the venues' styles, in inches.
WIDTHS = {
    "neurips": 5.5, "iclr": 5.5, "icml": 3.25, "icml-page": 6.75, "ieee": 3.5, "ieee-page": 7.16,
    "acm": 3.33, "acm-page": 7.0,
}  # fmt: skip

PRINT = {
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "workbench",
    # A title may hold any text: no mathematics in it, and a second font for what STIX lacks.
    "text.parse_math": False,
    "font.family": ["STIXGeneral", "DejaVu Serif", "serif"], "mathtext.fontset": "stix",
    "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "font.size": 9, "axes.labelsize": 9, "legend.fontsize": 8, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "hatch.linewidth": 0.5,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 300,
}  # fmt: skip

_STEPS = (
    (1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
)  # fmt: skip


def log_range(values: Sequence[float], *, pad: float = 0.1) -> tuple[float, float]:
    """Ends of a log axis that holds all values, at least a factor of 1.6 apart."""
    known = [v for v in values if v > 0 and math.isfinite(v)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    margin = max((high - low) * pad, (math.log10(1.6) - (high - low)) / 2)
    return float(10 ** (low - margin)), float(10 ** (high + margin))


def log_ticks(low: float, high: float, *, most: int = 10) -> list[float]:
    """Round numbers between the ends of a log axis, four or more if there are, at most `most`."""
    if high / low < 3:
        step = next(s for s in _linear_steps(high) if (high - low) / s <= min(most, 7))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [round(k * step, 9) for k in range(first, last + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    chosen: list[float] = []
    for steps in _STEPS:
        ticks = [round(s * 10.0**d, 9) for d in decades for s in steps]
        ticks = [t for t in ticks if low <= t <= high]
        if len(ticks) > most:
            break
        chosen = ticks
        if len(ticks) >= 4:
            break
    return chosen or ticks[:: math.ceil(len(ticks) / most)]


def _linear_steps(top: float) -> list[float]:
    decade = math.floor(math.log10(top))
    return [s * 10.0**d for d in range(decade - 4, decade + 1) for s in (1.0, 2.0, 5.0)]


def times(ratio: float) -> str:
    """A ratio as a label with three digits, e.g. "2.00×"; one is exact."""
    if ratio == 1 or ratio >= 1000:
        return f"{ratio:.0f}×"
    return f"{ratio:#.3g}".rstrip(".") + "×"


def round_ticks(last: int, *, most: int = 12) -> list[int]:
    """Round numbers for an axis, at most `most`, evenly apart."""
    return list(range(0, last + 1, math.ceil((last + 1) / most)))


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """The positions moved apart to at least `gap`, in the same order, as little as a sweep can."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    moved = [positions[i] for i in order]
    for _ in range(50):
        for k in range(1, len(moved)):
            if (lack := gap - (moved[k] - moved[k - 1])) > 1e-9:
                moved[k - 1] -= lack / 2
                moved[k] += lack / 2
    placed = dict(zip(order, moved, strict=True))
    return [placed[i] for i in range(len(positions))]


def short(title: str, limit: int = 26) -> str:
    """A title cut at a word so that it fits a label in print."""
    title = " ".join(title.split())
    if len(title) <= limit:
        return title
    cut = title[: limit - 1]
    if title[limit - 1] != " " and " " in cut[limit // 2 :]:
        cut = cut[: cut.rindex(" ")]
    cut = re.sub(r"( (the|a|an|of|in|to|with|by|and|for|on|per))+$", "", cut)
    return cut.rstrip(" ,;:(-") + "…"


def hover(*lines: str | None) -> str:
    """Text for plotly's hover box: what people and models wrote is escaped and wrapped."""
    wrapped = [textwrap.fill(line, 60, max_lines=4) for line in lines if line]
    return "<br>".join(html.escape(w, quote=False).replace("\n", "<br>") for w in wrapped)


def words(status: str) -> str:
    """A status as people write it."""
    return status.replace("_", " ")


def screen_layout(figure: go.Figure, *, height: int) -> None:
    """The layout that reads well on light and on dark pages, which plotly does not follow."""
    figure.update_layout(
        template="plotly_white",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=GREY,
        font_size=13,
        height=height,
        margin={"l": 60, "r": 110, "t": 40, "b": 50},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"align": "left", "bgcolor": "#333", "font": {"color": "#fff"}},
        hovermode="closest",
    )
    axis = {"gridcolor": "rgba(127,127,127,.25)", "zeroline": False, "linecolor": GREY}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
