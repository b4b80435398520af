"""Which kinds of ideas paid off: the six categories against what became of their kernels."""

from __future__ import annotations

import math
import typing

from workbench import metrics
from workbench.figures import style
from workbench.figures.figure import Figure, caption
from workbench.figures.trajectory import title_of
from workbench.history import History
from workbench.records import Candidate, Category, Status

if typing.TYPE_CHECKING:
    import pandas as pd

FASTER, NOT_FASTER = "faster", "not faster"
OUTCOMES = (FASTER, NOT_FASTER, *style.FAILURES)
BY_HAND, TRANSLATION = "by hand", "translation"
GROUPS = (*(c.value for c in Category), TRANSLATION, BY_HAND)
_TYPES = {
    "candidate": "Int64", "round": "Int64", "group": "str", "title": "str", "author": "str",
    "outcome": "str", "against": "str", "gain": "float64", "gain_low": "float64",
    "gain_high": "float64", "speedup": "float64",
}  # fmt: skip


def categories(history: History) -> Figure:
    """Kernels by category of their idea: how many passed, beat their parent, or failed and how;
    beside it the gain of each over its parent."""
    from workbench.figures import paper_categories, screen_categories

    what = (
        "Kernels by the category of their idea. Left: what became of them; faster means that the "
        f"lower bound of the gain is above {metrics.FASTER:g}. Right: gain over the parent kernel "
        "(over eager PyTorch where no parent passed)."
    )
    return Figure(
        name="categories",
        data=categories_data(history),
        caption=caption(history, what),
        screen=screen_categories.draw,
        paper=paper_categories.draw,
    )


def categories_data(history: History) -> pd.DataFrame:
    """One row a candidate: its group, its outcome, its gain over what it started from.

    `against` says over what: "parent", or "eager" where no parent passed.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for candidate in history.candidates:
        evaluation = history.evaluation(candidate.number)
        ratio = history.speedup(candidate.number)
        parent = history.speedup(candidate.parents[0]) if candidate.parents else None
        gain = _over(ratio, parent) if ratio and parent else ratio
        if gain:
            outcome = FASTER if metrics.is_faster(gain) else NOT_FASTER
        else:
            outcome = evaluation.status.value if evaluation else style.WAITING
        rows.append(
            {
                "candidate": candidate.number,
                "round": candidate.round,
                "group": _group(history, candidate),
                "title": title_of(history, candidate),
                "author": candidate.author,
                "outcome": outcome,
                "against": None if gain is None else "parent" if parent else "eager",
                "gain": gain.value if gain else None,
                "gain_low": gain.low if gain else None,
                "gain_high": gain.high if gain else None,
                "speedup": ratio.value if ratio else None,
            }
        )
    return pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)


def counts(data: pd.DataFrame) -> pd.DataFrame:
    """Kernels by group (rows) and outcome (columns), both in their fixed orders, none all zero."""
    import pandas as pd

    table = pd.crosstab(data["group"], data["outcome"])
    groups = [g for g in GROUPS if g in table.index]
    outcomes = [o for o in OUTCOMES if o in table.columns]
    return table.reindex(index=groups, columns=outcomes, fill_value=0)


def _group(history: History, candidate: Candidate) -> str:
    idea = history.idea(candidate.idea) if candidate.idea is not None else None
    if idea is not None and idea.category is not None:
        return idea.category.value
    return BY_HAND if candidate.author == "person" else TRANSLATION


def _over(ours: metrics.Interval, theirs: metrics.Interval) -> metrics.Interval:
    """A ratio of two speedups from different pairs: relative half-widths add in quadrature."""
    ratio, width = ours.value / theirs.value, math.hypot(ours.halfwidth, theirs.halfwidth)
    return metrics.Interval(ratio, ratio * (1 - width), ratio * (1 + width))


# outcome -> colour, hatch in print, pattern on screen; told apart in grey as well
LOOKS: dict[str, tuple[str, str, str]] = {
    FASTER: (style.BLUE, "", ""),
    NOT_FASTER: (style.SKY, "///", "/"),
    Status.incorrect.value: (style.PURPLE, "xxx", "x"),
    Status.compile_error.value: (style.ORANGE, "...", "."),
    Status.runtime_error.value: (style.VERMILLION, "\\\\\\", "\\"),
    Status.timeout.value: ("#bbbbbb", "---", "-"),
    Status.rejected.value: ("#888888", "+++", "+"),
    style.WAITING: ("#eeeeee", "", ""),
}
