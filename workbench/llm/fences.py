"""What lies between fences in a reply: a scanner for models' Markdown, which seldom is CommonMark.

By the standard, a fence that opens in mid-line, a closing fence with prose after it, or a forgotten
one lose or merge code. Every step here is linear in the length of the reply.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

REPLY_LIMIT = 1_000_000  # characters; kernels have up to 40 thousand
_REPAIR_LIMIT = 65_536  # json_repair is quadratic on some inputs
_INVISIBLE = re.compile("[\x00\u200b\u200c\u200d\u2060\ufeff]")
_ALIASES = {
    "cu": "cuda", "cuh": "cuda", "cuda-c": "cuda", "cudac": "cuda", "cuda-cpp": "cuda",
    "c++": "cpp", "cxx": "cpp", "cc": "cpp", "hpp": "cpp", "h": "cpp", "py": "python",
    "python3": "python",
}  # fmt: skip
NOT_CODE = frozenset(
    "bash sh shell console text txt json diff patch output ptx sass cmake makefile markdown".split()
)
_LANGUAGES = frozenset(["cuda", "cpp", "c", "python"]) | NOT_CODE | frozenset(_ALIASES)
_OPEN = re.compile(
    r"(?P<before>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)"
    r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)"
)
_OPEN_IN_LINE = re.compile(r"(?P<fence>`{3,})(?P<info>[A-Za-z+#]*)[ \t]*")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_LEAKED = re.compile(r"<\|(?:im_end|endoftext|eot_id|return|end)\|>\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """Text between fences; `closed` False when the closing one is missing."""

    language: str  # "" when the fence names none
    text: str
    closed: bool = True


def normalised(reply: str) -> str:
    """A reply in plain characters: no CR, zero-width, half surrogate pair; at most 1 MB."""
    text = reply[:REPLY_LIMIT].encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub("", text).replace("\u00a0", " ").replace("\uff40", "`")


def split_reasoning(text: str) -> tuple[str, str, bool]:
    """Reasoning, answer, and whether the reply ended while it still reasoned.

    Templates may put the opening tag into the prompt, so that only `</think>` is there.
    """
    head, found, tail = text.partition(_FINAL_CHANNEL)
    if found:
        return head, re.split(r"<\|(?:return|end)\|>", tail, maxsplit=1)[0], False
    lowered = text.lower()
    for tag in ("think", "thinking", "thought", "reasoning"):
        close = lowered.rfind(f"</{tag}>")
        opening = re.search(rf"^[ \t]*<{tag}>", lowered[: max(close, 0) or None], re.M)
        if close >= 0:
            answer = text[close + len(tag) + 3 :]
            if opening is None:
                return text[:close], answer, False
            return text[opening.end() : close], text[: opening.start()] + answer, False
        if opening is not None:
            return text[opening.end() :], text[: opening.start()], True
    return "", text, False


def without_leaks(text: str) -> str:
    """An answer without the special tokens some servers leave at its end."""
    text = text.rstrip()
    while (shorter := _LEAKED.sub("", text).rstrip()) != text:
        text = shorter
    return text


def blocks(text: str) -> list[Block]:
    """Every fenced block that is not blank, in order."""
    found: list[Block] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opening = _opening(lines[at])
        if opening is None:
            at += 1
            continue
        block, at = _block(lines, at + 1, opening)
        if block.text.strip():
            found.append(block)
    return found


@dataclass(frozen=True, slots=True)
class _Opening:
    fence: str
    info: str
    quoted: bool
    indent: int  # columns that a list or an indented fence takes from each line


def _opening(line: str) -> _Opening | None:
    if "```" not in line and "~~~" not in line:
        return None
    if match := _OPEN.fullmatch(line):
        before = match["before"]
        quoted = ">" in before
        return _Opening(match["fence"], match["info"], quoted, 0 if quoted else len(before))
    if (at := line.find("`")) > 0 and (match := _OPEN_IN_LINE.fullmatch(line, at)):
        return _Opening(match["fence"], match["info"], False, 0)
    return None


def _block(lines: list[str], at: int, opening: _Opening) -> tuple[Block, int]:
    """The block whose first line is `at`, and the line after it."""
    python = language(opening.info) == "python"
    body: list[str] = []
    quotes = 0  # in Python a fence inside a docstring closes nothing
    closed = False
    while at < len(lines):
        line = _QUOTE.sub("", lines[at], count=1) if opening.quoted else lines[at]
        inside = python and quotes % 2 == 1
        if not inside and (rest := _closing(line, opening.fence)) is not None:
            if _names_language(rest):  # an opening fence: the closing one was forgotten
                break
            closed, at = True, at + 1
            break
        if not inside and _ends_glued(line, opening.fence):
            body.append(line.rstrip()[: -len(opening.fence)])
            closed, at = True, at + 1
            break
        if python:
            quotes += line.count('"""') + line.count("'''")
        body.append(line)
        at += 1
    return _made(body, opening, closed), at


def _made(body: list[str], opening: _Opening, closed: bool) -> Block:
    info = opening.info
    if not info.strip() and body and language(body[0]) in ("cuda", "cpp", "python"):
        info = body.pop(0)
    depths = [len(line) - len(line.lstrip()) for line in body if line.strip()]
    cut = min([opening.indent, *depths])
    return Block(language(info), "\n".join(line[cut:] for line in body).strip("\n"), closed)


def _closing(line: str, fence: str) -> str | None:
    """What follows a closing fence on its line; None when the line is none."""
    stripped = line.strip()
    if not stripped.startswith(fence):
        return None
    return stripped.lstrip(fence[0])


def _names_language(rest: str) -> bool:
    word = rest.split(maxsplit=1)[0] if rest[:1].strip() else ""
    return word.lower() in _LANGUAGES


def _ends_glued(line: str, fence: str) -> bool:
    """A line of code with the closing fence at its end, e.g. "}```", not a comment's ```x```."""
    stripped = line.strip()
    if fence[0] != "`" or not stripped.endswith(fence) or stripped.startswith("//"):
        return False
    return len(re.findall("`+", stripped)) == 1


def language(info: str) -> str:
    """The language an info string names, under one spelling, e.g. 'cu title="k.cu"' -> "cuda"."""
    words = re.split(r"[\s{:,=]", info.strip()[:80], maxsplit=1)
    word = words[0].lower().strip(".")
    return _ALIASES.get(word, word)


def json_value(text: str, *, mend: bool = True) -> Any:
    """The JSON value a text is; None when it is none, and cannot be mended into one."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    for attempt in (text, re.sub(r",\s*([}\]])", r"\1", text)):
        try:
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    return _repaired(text) if mend and len(text) <= _REPAIR_LIMIT else None


def _repaired(text: str) -> Any:
    try:
        import json_repair
    except ImportError:
        return None
    try:
        return json_repair.loads(text) or None
    except (ValueError, RecursionError, IndexError, KeyError, TypeError):
        return None
