"""Compiler output -> messages with a line, a column and a severity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]

_SEVERITY: dict[str, Severity] = {
    "fatal error": "error",
    "error": "error",
    "warning": "warning",
    "remark": "info",
    "note": "info",
}
_WORDS = "fatal error|error|warning|remark|note"
_NVCC = re.compile(
    rf"(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?P<severity>{_WORDS})"
    r"(?: #(?P<code>[\w-]+))?: (?P<message>.*)"
)
_GCC = re.compile(
    rf"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>{_WORDS}): "
    r"(?P<message>.*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message of a compiler; lines and columns count from 1."""

    file: str
    line: int
    column: int | None  # None: the compiler pointed at the line, or at expanded macros
    severity: Severity
    message: str


def parse(log: str, source: str) -> list[Diagnostic]:
    """The messages of nvcc (its carets too), gcc and clang about a source, in the log's order."""
    texts = dict(enumerate(source.splitlines(), start=1))
    lines = log.splitlines()
    found = []
    for index, line in enumerate(lines):
        if match := _NVCC.fullmatch(line):
            column = _caret(lines[index + 1 : index + 3], texts.get(int(match["line"])))
        elif match := _GCC.fullmatch(line):
            column = int(match["column"]) if match["column"] else None
        else:
            continue
        code = match.groupdict().get("code")
        found.append(
            Diagnostic(
                file=match["file"],
                line=int(match["line"]),
                column=column,
                severity=_SEVERITY[match["severity"]],
                message=match["message"] + (f" [#{code}]" if code else ""),
            )
        )
    return found


def _caret(following: list[str], text: str | None) -> int | None:
    """Column of nvcc's caret, unless the line it echoes has its macros expanded."""
    if text is None or len(following) < 2 or following[1].strip() != "^":
        return None
    if following[0] != "  " + text.replace("\t", " "):
        return None
    return following[1].index("^") - 1
