"""Labels in print that overlap neither each other nor, where there is room, the data."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from dataclasses import dataclass

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_Point = tuple[float, float]
_RADII_PT = (5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 65.0, 85.0)
_ANGLES = [math.radians(a) for a in (90, 270, 60, 120, 240, 300, 30, 150, 210, 330, 0, 180)]
_NEAR_PT = 9.0  # farther labels get a thin line to their point
_SWEEPS = 6
# Costs, in points of distance from the mark.
_COVERED, _DOUBTFUL, _CROSSED, _OVERLAPPING = 6.0, 30.0, 90.0, 1000.0


@dataclass(frozen=True, slots=True)
class _Place:
    """A place for one label, in pixels: its box, the line to its mark, what it costs by itself."""

    left: float
    bottom: float
    right: float
    top: float
    line: tuple[_Point, ...]
    cost: float

    def distance(self, point: _Point) -> float:
        across = max(self.left - point[0], 0.0, point[0] - self.right)
        return math.hypot(across, max(self.bottom - point[1], 0.0, point[1] - self.top))

    def overlaps(self, other: _Place) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def against(self, other: _Place) -> float:
        """What two labels cost together."""
        if self.overlaps(other):
            return _OVERLAPPING
        mine = any(other.distance(p) <= 0 for p in self.line)
        return _CROSSED * (mine + any(self.distance(p) <= 0 for p in other.line))


def place(
    axes: Axes,
    labels: Sequence[tuple[str, float, float]],
    obstacles: Sequence[_Point],
    *,
    size: float = 7.0,
) -> None:
    """Write each (text, x, y) near its point, inside the axes; the layout must be final.

    Every label has places around its point; each in turn takes the cheapest given the others,
    a few times over. A label for which there is no room is left out.
    """
    if not labels:
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    pixels = figure.dpi / 72
    marks = [(float(x), float(y)) for x, y in axes.transData.transform([*obstacles] or [(0, 0)])]
    points = [(float(x), float(y)) for x, y in axes.transData.transform([p[1:] for p in labels])]
    artists = [_written(axes, text, (x, y), size) for text, x, y in labels]
    options = []
    for artist, point in zip(artists, points, strict=True):
        others = [p for p in points if p != point]
        options.append(_places(axes, artist, point, others, marks, pixels))
    for artist, chosen, (x, y) in zip(artists, _settled(options), points, strict=True):
        if chosen is None:
            artist.remove()
            continue
        across = (chosen.left + chosen.right) / 2 - x
        artist.set_position((across / pixels, ((chosen.bottom + chosen.top) / 2 - y) / pixels))
        if chosen.line:
            end = chosen.line[-1]
            tie = axes.annotate(
                "", artist.xy, textcoords="offset points",
                xytext=((end[0] - x) / pixels, (end[1] - y) / pixels), zorder=3.4,
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "0.35", "shrinkB": 2},
            )  # fmt: skip
            tie.set_in_layout(False)


def _written(axes: Axes, text: str, xy: _Point, size: float) -> Annotation:
    return axes.annotate(
        text, xy, textcoords="offset points", xytext=(0, 0), ha="center", va="center",
        fontsize=size, linespacing=0.95, zorder=3.5,
        bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
    )  # fmt: skip


def _places(
    axes: Axes,
    artist: Annotation,
    point: _Point,
    others: Sequence[_Point],
    marks: Sequence[_Point],
    pixels: float,
) -> list[_Place]:
    """Places inside the axes; dear ones are far, cover data, or are near another's point."""
    extent, frame = artist.get_window_extent(), axes.get_window_extent()
    width, height = extent.width / 2 + 2 * pixels, extent.height / 2 + pixels
    found = []
    for radius in _RADII_PT:
        for angle in _ANGLES:
            x = point[0] + math.cos(angle) * (radius * pixels + width * abs(math.cos(angle)))
            y = point[1] + math.sin(angle) * (radius * pixels + height * abs(math.sin(angle)))
            box = (x - width, y - height, x + width, y + height)
            if (
                frame.x0 <= box[0]
                and frame.y0 <= box[1]
                and box[2] <= frame.x1
                and box[3] <= frame.y1
            ):
                line = _between(point, box) if radius > _NEAR_PT else ()
                bare = _Place(*box, line, radius)
                own = 1.5 * bare.distance(point) + 3 * pixels
                covered = sum(bare.distance(mark) < 2.5 * pixels for mark in marks)
                doubtful = any(bare.distance(other) < own for other in others)
                cost = radius + _COVERED * covered + _DOUBTFUL * doubtful
                found.append(_Place(*box, line, cost))
    return found


def _settled(options: Sequence[Sequence[_Place]]) -> list[_Place | None]:
    chosen: list[_Place | None] = [None] * len(options)
    for _ in range(_SWEEPS):
        before = list(chosen)
        for index, places in enumerate(options):
            rest = [c for i, c in enumerate(chosen) if c is not None and i != index]
            priced = [(p.cost + sum(p.against(r) for r in rest), p) for p in places]
            chosen[index] = min(priced, key=lambda pair: pair[0])[1] if priced else None
        if chosen == before:
            break
    for index, one in enumerate(chosen):
        if one and any(c and one.overlaps(c) for c in chosen[:index]):
            chosen[index] = None
    return chosen


def _between(point: _Point, box: tuple[float, float, float, float]) -> tuple[_Point, ...]:
    """Points along the line from a mark to the nearest point of its label's box."""
    x = min(max(point[0], box[0]), box[2])
    y = min(max(point[1], box[1]), box[3])
    parts = [k / 20 for k in range(1, 21)]
    return tuple((point[0] + (x - point[0]) * p, point[1] + (y - point[1]) * p) for p in parts)
