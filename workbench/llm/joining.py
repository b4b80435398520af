"""A kernel and its launcher in two blocks of a reply -> one file."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKS = re.compile(r"[{};]")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_NOT_A_NAME = frozenset("__launch_bounds__ __attribute__ alignas decltype defined if for".split())
_LINE_COMMENT = re.compile(r"//[^\n]*")
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
_FILE = re.compile(r"^[ \t]*(?://|/\*)[ \t]*(?:file(?:name)?[ \t]*:[ \t]*)?([\w./-]+\.\w{1,4})\b")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"')


def defined(text: str) -> set[str]:
    """Names of the functions a C++ text defines outside other functions."""
    names: set[str] = set()
    depth = start = 0
    text = _code(text)
    for mark in _MARKS.finditer(text):
        if mark[0] == "{":
            head = text[start : mark.start()] if depth == 0 else ""
            if depth or not _is_scope(head):
                depth += 1
                called = (name for name in _CALLED.findall(head) if name not in _NOT_A_NAME)
                names.update([name] if (name := next(called, None)) else [])
        elif mark[0] == "}":
            depth = max(0, depth - 1)
        if depth == 0:
            start = mark.end()
    return names


def joined(texts: Sequence[str], chosen: int) -> str:
    """The chosen text with those that define what it lacks, in the order of the reply.

    A text joins only if it defines nothing that is defined already: a draft is no part.
    """
    names = {i: defined(text) for i, text in enumerate(texts)}
    part = {chosen}
    while True:
        have = set().union(*(names[i] for i in part))
        used = {word for i in part for word in _WORD.findall(_code(texts[i]))} | {"launch"}
        included = {file for i in part for file in _included(texts[i])}
        more = [
            i for i in names
            if i not in part
            and not names[i] & have
            and (names[i] & used or _file_of(texts[i]) in included)
        ]  # fmt: skip
        if not more:
            break
        part.add(max(more))
    if len(part) == 1:
        return _whole(texts[chosen])
    return _whole("\n\n".join(texts[i] for i in sorted(part)))


def _whole(text: str) -> str:
    """A text without includes of the files that it already contains."""
    lines = text.split("\n")
    inside = {file for line in lines if (file := _file_of(line))}
    if not inside:
        return text
    return "\n".join(line for line in lines if not set(_included(line)) & inside)


def _is_scope(head: str) -> bool:
    """Whether a brace opens a namespace or an extern "C" block, whose members count."""
    words = head.split()
    return words[-2:] == ["extern", '"C"'] or "namespace" in words[-3:]


def _code(text: str) -> str:
    """A text without comments and directives."""
    first, *rest = _LINE_COMMENT.sub("", text).split("/*")
    return _DIRECTIVE.sub("", " ".join([first, *(part.partition("*/")[2] for part in rest)]))


def _included(text: str) -> list[str]:
    found = (_INCLUDE.match(line) for line in text.split("\n"))
    return [match[1].rsplit("/", 1)[-1] for match in found if match]


def _file_of(text: str) -> str | None:
    """The name a text gives itself in its first line, e.g. "// file: tile.cuh"."""
    match = _FILE.match(text.lstrip()[:200])
    return match[1].rsplit("/", 1)[-1] if match else None
