"""Where the problems and the recordings lie, and what a name on the command line means."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from workbench.llm import recording
from workbench.problems import load_problem, load_problems, resized
from workbench.records import Backend, Problem, ProblemError, WorkbenchError

_BESIDE_THE_PACKAGE = Path(__file__).resolve().parents[2] / "problems"


@functools.cache
def problem_folder() -> Path:
    """`problems` here, else the checkout's own; raises ProblemError where there is neither."""
    for place in (Path("problems"), _BESIDE_THE_PACKAGE):
        if place.is_dir():
            return place
    raise ProblemError("no folder 'problems' here: name the problem's file")


def find_problem(name: str, sizes: Sequence[str] = ()) -> Problem:
    """A file or a folder by its path, one of our own problems by its name; resized if asked."""
    if Path(name).exists():
        problem = load_problem(name)
    elif "/" in name or name.endswith(".py"):
        raise ProblemError(f"no file {name!r}")
    else:
        problem = load_problems(problem_folder())[name]
    return resized(problem, dict(_size(text) for text in sizes))


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name, int(value)
    except ValueError:
        raise ProblemError(f"a size is NAME=VALUE with a whole number, not {text!r}") from None


@functools.cache
def recordings(backend: Backend) -> dict[str, Path]:
    """Recorded searches of our own problems, by problem; of two the first by name."""
    found: dict[str, Path] = {}
    for file in sorted((problem_folder() / "recordings").glob("*.jsonl*")):
        try:
            header = recording.read(file).header
        except WorkbenchError:
            continue  # damaged: replaying it by name says how
        if header.backend == backend:
            found.setdefault(header.problem, file)
    return found


def recording_of(problem: Problem, backend: Backend) -> Path | None:
    """The recorded search of a problem as we ship it; None where there is none."""
    file = recordings(backend).get(problem.name)
    return file if file and recording.read(file).header.problem_sha == problem.sha else None
