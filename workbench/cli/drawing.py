"""Figures of runs as files: for print, and for the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from workbench import figures
from workbench.history import History
from workbench.records import WorkbenchError


def trajectory(history: History, folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The trajectory of one run, once a suffix."""
    return _saved(lambda: figures.trajectory(history), folder, suffixes)


def everything(histories: Mapping[str, History], folder: Path) -> list[Path]:
    """All figures of every run, in a folder each if there are several, and their comparison."""
    written = []
    for name, history in histories.items():
        place = folder / name if len(histories) > 1 else folder
        for draw in (figures.trajectory, figures.lineage, figures.categories):
            written += _saved(lambda h=history, d=draw: d(h), place, (".pdf", ".html"))  # type: ignore[misc]
    if len(histories) > 1:
        written += _saved(lambda: figures.comparison(histories), folder, (".pdf", ".html"))
    return written


def _saved(draw: Callable[[], figures.Figure], folder: Path, suffixes: Sequence[str]) -> list[Path]:
    try:
        figure = draw()
        folder.mkdir(parents=True, exist_ok=True)
        return [figure.save(folder / f"{figure.name}{suffix}") for suffix in suffixes]
    except ModuleNotFoundError as error:
        raise WorkbenchError(f"{error.name} is not installed, and figures need it") from error
    except (ValueError, OSError) as error:
        raise WorkbenchError(f"cannot draw: {error}") from error
