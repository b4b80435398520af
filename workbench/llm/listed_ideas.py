"""Ideas as models list them: JSON, lines of JSON, numbers, bullets, bold titles, tables, prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.llm import fences
from workbench.records import Category

TITLE_LIMIT = 160
HYPOTHESIS_LIMIT = 2000
_REASON_LIMIT = 200_000  # characters of a reply that are searched for ideas
_TITLES = ("title", "name", "idea", "headline", "optimization", "summary")
_HYPOTHESES = (
    "hypothesis", "change", "description", "details", "why", "rationale", "explanation",
    "expected_gain", "expected", "risk",
)  # fmt: skip
_CATEGORIES = ("category", "type", "kind", "family")
_WORDS: dict[Category, str] = {
    Category.memory: "memory access cache caching coalesc shared bandwidth vectoriz float4 layout "
    "tile tiling stride reuse locality traffic load store fuse fusion pack bank",
    Category.latency: "asynchron async latency hid pipelin prefetch overlap double-buffer "
    "buffering cp.async tma stage stream software-pipelin",
    Category.precision: "data-type precision fp16 bf16 tf32 fp8 half mixed quantiz dtype bfloat16 "
    "int8 float16 type",
    Category.compute: "compute instruction tensor-core wmma mma wgmma fma fast-math intrinsic "
    "simd avx arithmetic algebra strength exp rsqrt polynomial",
    Category.parallelism: "parallel occupancy thread block warp grid register openmp split-k "
    "persistent wave cooperative shuffle cores",
    Category.control: "control flow loop unroll branch divergen predicat tail boundary "
    "specializ template",
}
_ITEM = re.compile(r"[ ]{0,3}(?:(?P<number>\d{1,2})[.):]|(?P<bullet>[-*•+]))[ \t]+(?P<text>\S.*)")
_HEADING = re.compile(
    r"[ ]{0,3}(?:#{1,5}[ \t]*(?P<heading>\S.*)|\*\*(?P<bold>[^*\n]{1,200})\*\*.*"
    r"|(?P<idea>Idea[ \t]+\d{1,2}[.:)].*))",
    re.I,
)
_Match = re.Match[str] | None
_COUNTED = re.compile(r"(?:idea\b|#?\d)", re.I)
_LEAD = re.compile(r"(?:idea[ \t]*)?#?\d{0,2}[ \t]*[.:)\-–—][ \t]+|idea[ \t]+\d{1,2}[ \t]*", re.I)
_SPLIT = re.compile(r":\s|\s[–—-]\s|[.!?]\s|\n")
_FIELD = re.compile(r"\W{0,6}(category|type|hypothesis|why|title|idea)\W{0,4}[:=]\W{0,4}(.*)", re.I)
_BRACKETED = re.compile(r"[\[(]([^\[\]()\n]{3,60})[\])]")
_REFUSAL = re.compile(r"\b(?:i'?m sorry|i can(?:'|no)t (?:help|assist)|unable to (?:help|assist))")


@dataclass(frozen=True, slots=True)
class IdeaDraft:
    """An idea as a reply words it; no category: none of the six was meant."""

    title: str
    hypothesis: str
    category: Category | None


def parse_ideas(reply: str, limit: int) -> tuple[IdeaDraft, ...]:
    """At most `limit` ideas of a reply in their order; repeated titles once."""
    _, answer, truncated = fences.split_reasoning(fences.normalised(reply))
    answer = fences.without_leaks(answer).strip()[:_REASON_LIMIT]
    if truncated or not answer:
        return ()
    drafts: list[IdeaDraft] = []
    seen: set[str] = set()
    for draft in _drafts(answer):
        key = " ".join(re.findall(r"\w+", draft.title.casefold()))
        if len(drafts) < limit and key and key not in seen:
            seen.add(key)
            drafts.append(draft)
    return tuple(drafts)


def nearest_category(words: str) -> Category | None:
    """The category a few words mean; None when none is nearer than the others."""
    plain = " ".join(re.findall(r"[a-z0-9.&]+", words.casefold().replace("&", " and ")))
    for category in Category:
        if plain in (category.value, category.name):
            return category
    scores = {c: sum(word.replace("-", " ") in plain for word in _WORDS[c].split()) for c in _WORDS}
    best = max(scores.values())
    nearest = [c for c, score in scores.items() if score == best]
    return nearest[0] if best and len(nearest) == 1 else None


def _drafts(answer: str) -> list[IdeaDraft]:
    """Drafts by the first way of reading the answer that gives any."""
    for text in (answer, *(b.text for b in fences.blocks(answer))):
        if drafts := _from_json(text):
            return drafts
    if not _REFUSAL.search(answer[:200].casefold()):
        for way in (_from_table, _from_items, _from_prose):
            if drafts := way(answer):
                return drafts
    return []


# -- JSON ---------------------------------------------------------------------------------


def _from_json(text: str) -> list[IdeaDraft]:
    part = _json_part(text)
    objects = _objects(fences.json_value(part, mend=False))
    if not objects and part:
        mended = _objects(fences.json_value(part))
        objects = max(list(_whole_objects(text)), mended, key=len)
    return [draft for v in objects if (draft := _of_object(v))]


def _json_part(text: str) -> str:
    """The text from its first opening bracket on to the last closing one."""
    starts = [at for sign in "{[" if (at := text.find(sign)) >= 0]
    end = max(text.rfind("}"), text.rfind("]"))
    if not starts or not text[min(starts) + 1 :].lstrip().startswith(("{", "[", '"', "'")):
        return ""
    return text[min(starts) : end + 1 if end > min(starts) else None]


def _objects(value: Any, depth: int = 0) -> list[Any]:
    """Ideas inside a JSON value: objects with a title, or texts of a list, however nested."""
    if depth > 4:
        return []
    if isinstance(value, list):
        if all(isinstance(v, str) for v in value):
            return value
        return [each for v in value for each in _objects(v, depth + 1)]
    if isinstance(value, dict):
        if _member(value, _TITLES):
            return [value]
        return [o for v in value.values() if isinstance(v, (list, dict)) for o in
                _objects(v, depth + 1)]  # fmt: skip
    return []


def _whole_objects(text: str) -> Iterable[Any]:
    """Objects that are complete in a text: lines of JSON, or what a cut reply still holds."""
    for found in re.findall(r"\{[^{}]*\}", text):
        try:
            value = json.loads(found, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and _member(value, _TITLES):
            yield value


def _of_object(value: Any) -> IdeaDraft | None:
    if isinstance(value, str):
        return _of_text(value)
    title, category = _member(value, _TITLES), _member(value, _CATEGORIES)
    parts = [part for key in _HYPOTHESES if (part := _member(value, (key,))) and part != title]
    return _draft(title, " ".join(parts), category)


def _member(value: dict[Any, Any], keys: Iterable[str]) -> str:
    """The first member under one of the keys that is a text; "" if there is none."""
    plain = {str(key).lower(): v for key, v in value.items()}
    return next((v for k in keys if isinstance(v := plain.get(k), str) and v.strip()), "")


# -- lists, tables, prose ------------------------------------------------------------------


def _from_items(answer: str) -> list[IdeaDraft]:
    """Numbered items, else headings or bold titles, else bullets; what follows belongs to each."""
    lines = answer.split("\n")
    items = [_ITEM.fullmatch(line) for line in lines]
    headings = [None if _FIELD.fullmatch(line) else _HEADING.fullmatch(line) for line in lines]
    starts = _starts(items, headings)
    drafts = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        item, heading = items[start], headings[start]
        if item:
            first = item["text"]
        elif heading and heading["bold"]:
            first = lines[start].strip()
        else:
            first = lines[start].strip("# \t")
        body = [line for line in lines[start + 1 : end] if line.strip()]
        drafts.append(_of_text("\n".join([first, *body])))
    return [draft for draft in drafts if draft]


def _starts(items: list[_Match], headings: list[_Match]) -> list[int]:
    """Lines that begin an idea, by the marks that most likely do."""
    bold = [i for i, m in enumerate(headings) if m and m["bold"]]
    ways = [
        [
            i
            for i, m in enumerate(headings)
            if m and (m["idea"] or _COUNTED.match(m["heading"] or ""))
        ],
        [i for i, m in enumerate(items) if m and m["number"]],
        [i for i, m in enumerate(headings) if m and m["heading"]],
        bold if len(bold) > 1 else [],
        [i for i, m in enumerate(items) if m and m["bullet"]],
    ]
    return next((way for way in ways if way), bold)


def _from_table(answer: str) -> list[IdeaDraft]:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in answer.split("\n")
        if line.strip().startswith("|")
    ]
    if len(rows) < 3 or not all(set(cell) <= set("-: ") for cell in rows[1]):
        return []
    heads = [re.sub(r"\W", "", cell).lower() for cell in rows[0]]
    if not set(heads) & set(_TITLES):
        return []
    named = [dict(zip(heads, row, strict=False)) for row in rows[2:]]
    return [draft for row in named if (draft := _of_object(row))]


def _from_prose(answer: str) -> list[IdeaDraft]:
    """The whole answer as one idea."""
    draft = _of_text(" ".join(answer.split()))
    return [draft] if draft and " " in draft.title else []


def _of_text(text: str) -> IdeaDraft | None:
    """An idea of free words: its title is bold, or ends at a colon, dash, full stop or line."""
    fields: dict[str, str] = {}
    kept: list[str] = []
    for line in text.split("\n"):
        if match := _FIELD.fullmatch(line.strip()[:HYPOTHESIS_LIMIT]):
            fields.setdefault(match[1].lower(), match[2].strip(" *_"))
        else:
            kept.append(line.strip().lstrip("-*•+ ") if kept else line.strip())
    text = "\n".join(kept).strip()
    bold = re.match(r"\*\*([^*\n]{1,200})\*\*[ \t:–—.-]*", text)
    if bold:
        title, rest = bold[1], text[bold.end() :]
    else:
        text = text[m.end() :] if (m := _LEAD.match(text)) else text
        cut = _SPLIT.search(text, 1) if text else None
        title, rest = (text[: cut.start()], text[cut.end() :]) if cut else (text, "")
    category = fields.get("category") or fields.get("type") or ""
    for place in (title, rest[:200]):
        for words in _BRACKETED.findall(place) if not category else ():
            category = category or (words if nearest_category(words) else "")
    title = fields.get("title") or fields.get("idea") or title
    rest = " ".join(p for p in (rest, fields.get("hypothesis"), fields.get("why")) if p)
    return _draft(title, rest, category)


def _draft(title: str, hypothesis: str, category: str) -> IdeaDraft | None:
    lead = _LEAD.match(title)
    title = " ".join(title[lead.end() if lead else 0 :].replace("**", "").split())
    title = title.strip(" :.*_#")[:TITLE_LIMIT].rstrip()
    hypothesis = " ".join(hypothesis.replace("**", "").split())[:HYPOTHESIS_LIMIT]
    if not re.search(r"[^\W\d_]{2}", title):
        return None
    meant = nearest_category(category) if category else nearest_category(f"{title} {hypothesis}")
    return IdeaDraft(title, hypothesis, meant)
