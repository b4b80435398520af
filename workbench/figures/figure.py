"""A figure: its data, its caption, and the two ways it is drawn."""

from __future__ import annotations

import html
import json
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from workbench.figures import style
from workbench.history import History

if typing.TYPE_CHECKING:
    import matplotlib.figure
    import pandas as pd
    import plotly.graph_objects as go

_NO_DATE: dict[str, dict[str, str | None]] = {
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
    ".png": {},
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: sans-serif; margin: 1em auto; max-width: 70em; }}
p {{ color: #7f7f7f; margin: 0 1em; }}
</style>
</head>
<body>
{figure}
<p>{caption}</p>
</body>
</html>
"""


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """Shown by plotly in a notebook, written by matplotlib to a file for print."""

    name: str
    data: pd.DataFrame
    caption: str
    screen: Callable[[pd.DataFrame], go.Figure] = field(repr=False)
    paper: Callable[[pd.DataFrame, float], matplotlib.figure.Figure] = field(repr=False)

    def plotly(self) -> go.Figure:
        """For the screen; hover a mark to read its idea, numbers and verdict."""
        return self.screen(self.data)

    def matplotlib(self, width: str | float = "neurips") -> matplotlib.figure.Figure:
        """For print, exactly as wide as asked for; not registered with pyplot."""
        import matplotlib

        with matplotlib.rc_context(style.PRINT):  # type: ignore[arg-type]
            return self.paper(self.data, _inches(width))

    def save(self, path: str | Path, width: str | float = "neurips") -> Path:
        """Write .pdf, .svg, .png (print), .html (screen, self-contained) or .csv (the data).

        `width` is a venue ("neurips", "icml", "icml-page", "ieee", "acm", …) or inches. The same
        data give the same bytes.
        """
        file = Path(path)
        match file.suffix.lower():
            case ".pdf" | ".svg" | ".png" as suffix:
                import matplotlib

                with matplotlib.rc_context(style.PRINT):  # type: ignore[arg-type]
                    drawn = self.paper(self.data, _inches(width))
                    drawn.savefig(file, metadata=_NO_DATE[suffix])
            case ".html":
                file.write_text(self._page(), encoding="utf-8")
            case ".csv":
                self.data.to_csv(file, index=False)
            case suffix:
                raise ValueError(
                    f"cannot write a figure as {suffix!r}: use .pdf, .svg, .png, .html or .csv"
                )
        return file

    def _page(self) -> str:
        body = self.plotly().to_html(
            full_html=False,
            include_plotlyjs=True,
            div_id=self.name,
            config={"responsive": True, "displaylogo": False},
        )
        caption = html.escape(self.caption)
        return _PAGE.format(title=html.escape(self.name), figure=body, caption=caption)

    def __repr__(self) -> str:
        return f"<{self.name} of {len(self.data)} rows. {self.caption}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        drawn = json.loads(self.plotly().to_json())
        return {"application/vnd.plotly.v1+json": drawn, "text/plain": repr(self)}


def caption(history: History, what: str) -> str:
    """What is shown, then what every number needs: problem, device, versions, date, judge."""
    run, machine = history.run, history.run.environment
    passed = [e for c in history.candidates if (e := history.evaluation(c.number)) and e.timing]
    versions = [machine.arch, f"driver {machine.driver}" if machine.driver else "no GPU driver"]
    versions += [f"torch {machine.torch}", machine.compiler]
    parts = [
        f"{what} Problem {run.problem.name} on {machine.device} ({', '.join(versions)}), "
        f"{run.created[:10]}.",
        f"{run.strategy}, {run.model}, {run.settings.tier} tier.",
    ]
    if passed and (timing := passed[-1].timing):
        counts = sorted({len(e.timing.samples_us) for e in passed if e.timing})
        pairs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts.append(
            "Intervals are 95 % confidence intervals of the median (sign test) over "
            f"{pairs} paired blocks; timing method: {timing.method}."
        )
    if run.note:
        parts.append(run.note.rstrip(".") + ".")
    return " ".join(parts)


def _inches(width: str | float) -> float:
    if not isinstance(width, str):
        return float(width)
    try:
        return style.WIDTHS[width]
    except KeyError:
        known = ", ".join(style.WIDTHS)
        raise ValueError(f"no width named {width!r}: give inches or one of {known}") from None
