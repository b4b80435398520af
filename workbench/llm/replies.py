"""A model's reply -> ideas, or the kernel in it: tolerant, bounded in time, never raising."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from workbench.llm import fences
from workbench.llm.fences import NOT_CODE, Block
from workbench.llm.joining import defined, joined
from workbench.llm.listed_ideas import IdeaDraft, parse_ideas
from workbench.records import Form

__all__ = ["Extracted", "IdeaDraft", "extract_kernel", "parse_ideas"]

_WANTED: dict[Form, tuple[str, ...]] = {
    "cu": ("cuda", "cpp", "c"),
    "cpp": ("cpp", "c", "cuda"),
    "module": ("python",),
}
_SIGNS = ("__global__", "#include", 'extern "C"', "#pragma", "load_inline", "class ModelNew")
_PYTHON = re.compile(r"^(?:import torch|from torch|class ModelNew)", re.M)
_CONSIDERED = 64  # blocks, the last ones
_CODE_KEYS = frozenset(
    "code kernel cuda cuda_code kernel_code source cuda_source cpp_source model_new solution "
    "answer content".split()
)
_C_START = re.compile(
    r"\s*(?:#include|#define|#pragma|extern\b|__global__|__device__|template\b|//|/\*|constexpr\b"
    r"|using namespace|using \w+ =|static\b|namespace\b|struct\b|inline\b|void\b)"
)
_PYTHON_START = re.compile(r"(?:import |from \w|class \w|def \w|@|#)")
_TAG = re.compile(r"<(code|kernel|cuda|answer|solution)(?:\s[^<>]{0,200})?>", re.I)
_ELIDED = re.compile(
    r"[ \t]*(?://|#|/\*)[ \t]*(?:\.\.\.|…)|(?://|#|/\*).{0,200}?\b(?:rest of (?:the )?"
    r"(?:code|kernel|file)|remains? (?:the same|unchanged)|same as (?:before|above)|your code here"
    r"|omitted for brevity)\b",
    re.I,
)
_MARKER = re.compile(r"//|#|/\*")


class Extracted(NamedTuple):
    """A kernel file as a reply gives it, and how the reply had to be read; "": there is none.

    Flags: empty, truncated_in_reasoning, no_code; json_wrapped, tag_wrapped, no_fence; multiple,
    joined; unclosed_fence, elided_code, search_replace, diff, wrong_language, not_a_kernel, cut.
    """

    source: str
    flags: tuple[str, ...]


def extract_kernel(reply: str, form: Form) -> Extracted:
    """The complete file a reply ends up with; a draft inside its reasoning is never one."""
    flags = ["cut"] if len(reply) > fences.REPLY_LIMIT else []
    text = fences.normalised(reply)
    if not text.strip():
        return Extracted("", ("empty", "no_code"))
    _, answer, truncated = fences.split_reasoning(text)
    if truncated:
        flags.append("truncated_in_reasoning")
    found, how = _blocks(fences.without_leaks(answer), form)
    candidates = [b for b in found if _is_code(b)][-_CONSIDERED:]
    if not candidates:
        return Extracted("", (*flags, "no_code"))
    best = max(range(len(candidates)), key=lambda i: (_score(candidates[i], form), i))
    chosen = candidates[best]
    source = chosen.text
    if form != "module" and len(candidates) > 1:
        source = joined([b.text for b in candidates], best)
    flags += how
    if source != chosen.text:
        flags.append("joined")
    elif len(candidates) > 1:
        flags.append("multiple")
    return Extracted(_ended(source), (*flags, *_doubts(chosen, source, form)))


def _doubts(chosen: Block, source: str, form: Form) -> list[str]:
    """What speaks against a source, though it is the best there is."""
    python = chosen.language == "python" or bool(_PYTHON.search(source))
    doubts = {
        "unclosed_fence": not chosen.closed,
        "elided_code": _is_elided(source),
        "search_replace": "<<<<<<< SEARCH" in source,
        "diff": _is_diff(chosen),
        "wrong_language": python != (form == "module"),
        "not_a_kernel": not _has_signs(source) and not _is_whole(source, form),
    }
    return [flag for flag, holds in doubts.items() if holds]


def _blocks(answer: str, form: Form) -> tuple[list[Block], list[str]]:
    """Blocks of an answer by the first way of reading it that gives any, and its flag."""
    if found := _from_json(answer):
        return found, ["json_wrapped"]
    found = fences.blocks(answer)
    wrapped = [b for block in found if block.language == "json" for b in _from_json(block.text)]
    if wrapped and not any(_is_code(b) for b in found if b.language != "json"):
        return wrapped, ["json_wrapped"]
    if found:
        return found, []
    if (inside := _tagged(answer)) is not None:
        return [inside], ["tag_wrapped"]
    if _has_signs(answer):
        return [Block("", _bare(answer, form))], ["no_fence"]
    return [], []


def _from_json(text: str) -> list[Block]:
    """Code that is a member of a JSON object, or of the objects of an array."""
    value = fences.json_value(text)
    objects = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]
    found: list[Block] = []
    for key, member in [item for each in objects for item in each.items()]:
        code = _member(str(key).lower(), member)
        if code:
            found += fences.blocks(code) or [Block("", code.strip("\n"))]
    return found


def _member(key: str, value: Any) -> str:
    """A member's code: a text, or a list of lines."""
    if isinstance(value, str) and (key in _CODE_KEYS or _has_signs(value)):
        return value
    if isinstance(value, list) and key in _CODE_KEYS and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return ""


def _tagged(answer: str) -> Block | None:
    """What stands between <kernel> or <answer> tags."""
    match = _TAG.search(answer)
    if match is None:
        return None
    close = answer.lower().find(f"</{match[1].lower()}>", match.end())
    inside = answer[match.end() : close if close >= 0 else None].strip()
    inside = inside.removeprefix("<![CDATA[").removesuffix("]]>").strip("\n")
    return Block("", inside, close >= 0) if inside else None


def _bare(answer: str, form: Form) -> str:
    """Code without a fence: from the first line that looks like it to the last."""
    start = _PYTHON_START if form == "module" else _C_START
    lines = answer.split("\n")
    first = next((i for i, line in enumerate(lines) if start.match(line)), 0)
    last = len(lines)
    if form != "module":
        ends = [i for i, line in enumerate(lines) if line.rstrip().endswith(("}", ";", "*/"))]
        last = ends[-1] + 1 if ends and ends[-1] >= first else last
    return "\n".join(lines[first:last]).strip("\n")


def _is_code(block: Block) -> bool:
    if _has_signs(block.text) or _is_diff(block):
        return True
    if block.language in NOT_CODE:
        return False
    return bool(block.language) or "{" in block.text or "def " in block.text


def _score(block: Block, form: Form) -> int:
    """How likely a block is the answer; among equals the last one is."""
    wanted = _WANTED[form]
    score = 0
    if block.language in wanted:
        score += 4 - wanted.index(block.language)
    elif block.language in NOT_CODE:
        score -= 10
    score += 8 if _has_signs(block.text) else 0
    score += 16 if _is_whole(block.text, form) else 0
    score -= 12 if form != "module" and _PYTHON.search(block.text) else 0
    score -= 6 if _is_elided(block.text) else 0
    return score - (0 if block.closed else 1)


def _has_signs(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _is_whole(text: str, form: Form) -> bool:
    """Whether a text defines what a file of this form must."""
    return "class ModelNew" in text if form == "module" else "launch" in defined(text)


def _is_diff(block: Block) -> bool:
    return block.text.startswith(("diff --git ", "--- a/", "@@ ")) or block.language in (
        "diff",
        "patch",
    )


def _is_elided(text: str) -> bool:
    """Whether a comment stands for code, like "// ... rest unchanged"."""
    for line in text.split("\n"):
        if (marker := _MARKER.search(line[:300])) and _ELIDED.match(line, marker.start(), 600):
            return True
    return False


def _ended(source: str) -> str:
    """A source without the half character that a cut reply ends in."""
    return source.rstrip("\ufffd")
