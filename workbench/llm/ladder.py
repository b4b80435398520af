"""Request bodies that a server accepts: parameters it refuses are stepped down and remembered."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from workbench.llm.faults import Rejection
from workbench.llm.model import Request
from workbench.llm.presets import Preset

STEPS = 6  # in one call
_TOKENS = ("max_tokens", "max_completion_tokens")
_FORMATS = {"json_schema": "json_object", "json_object": None}
_OPTIONAL = {*_TOKENS, "temperature", "reasoning_effort", "response_format"}
_MAY_BE_A_PARAMETER = {400, 404, 422, 500, 501}  # llama-cpp-python answers 500
_NAMES = [
    re.compile(pattern)
    for pattern in (
        r"[Uu]nsupported (?:parameter|value)[:,]? *'?\"?([\w.]+)",
        r"Unknown name \\?\"([\w.]+)",
        r"'loc': \('body', *'([\w.]+)'",
        r"\"loc\": *\[\"body\", *\"([\w.]+)\"",
        r"[Uu]nrecognized request arguments? supplied: ([\w., ]+)",
        r"Field '([\w.]+)'",
        r"'?\"?([\w.]+)'?\"? (?:is|are) not supported",
        r"does not support (?:the )?(?:parameter )?'?\"?([\w.]+)",
    )
]


@dataclass
class Ladder:
    """What one server accepts for one model, learnt from its refusals."""

    tokens: str | None  # name of the parameter that limits a reply
    format: str | None = "json_schema"  # for ideas
    dropped: set[str] = field(default_factory=set)
    degraded: list[str] = field(default_factory=list)  # each step, e.g. "drop temperature"

    @classmethod
    def of(cls, base_url: str) -> Ladder:
        """OpenAI's reasoning models refuse `max_tokens`; others ignore its successor."""
        host = urlsplit(base_url).hostname or ""
        new = host.endswith(("openai.com", "openai.azure.com"))
        return cls(tokens=_TOKENS[1] if new else _TOKENS[0])

    def body(
        self, request: Request, *, model: str, preset: Preset, schema: dict[str, Any]
    ) -> dict[str, Any]:
        """The parameters of a call as this server takes them; nothing is sent as null."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        if self.tokens:
            body[self.tokens] = request.max_tokens or preset.max_tokens
        for name in ("temperature", "reasoning_effort"):
            value = getattr(preset, name)
            if value is not None and name not in self.dropped:
                body[name] = value
        if request.purpose == "ideas" and self.format == "json_schema":
            described = {"name": "ideas", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif request.purpose == "ideas" and self.format:
            body["response_format"] = {"type": self.format}
        return body

    def step(self, sent: dict[str, Any], rejection: Rejection) -> bool:
        """Learn from a refusal; False: it names no parameter that could be done without.

        A call that was on its way while another learnt the same learns nothing twice.
        """
        names = refused(sent, rejection)
        for name in names:
            self._learn(name, sent)
        return bool(names)

    def _learn(self, name: str, sent: dict[str, Any]) -> None:
        if name in _TOKENS:
            if name != self.tokens:
                return
            tried = any(step.startswith(_TOKENS) for step in self.degraded)
            self.tokens = None if tried else next(t for t in _TOKENS if t != name)
            self.degraded.append(f"{name} -> {self.tokens or 'no limit'}")
        elif name == "response_format":
            if (kind := sent[name]["type"]) != self.format:
                return
            self.format = _FORMATS[kind]
            self.degraded.append(f"{kind} -> {self.format or 'plain text'}")
        elif name not in self.dropped:
            self.dropped.add(name)
            self.degraded.append(f"drop {name}")


def refused(sent: dict[str, Any], rejection: Rejection) -> list[str]:
    """Optional parameters we sent that a rejection speaks of."""
    if rejection.status not in _MAY_BE_A_PARAMETER:
        return []
    text = rejection.text[:20_000]
    named = _params(text) + [word for rx in _NAMES for found in rx.findall(text)
                             for word in re.split(r"[,. ]+", found)]  # fmt: skip
    names = [n for n in dict.fromkeys(named) if n in sent and n in _OPTIONAL]
    about_format = re.search(r"json_schema|response_format|grammar|schema", text)
    if not names and "response_format" in sent and about_format and rejection.status != 404:
        return ["response_format"]
    return names


def _params(text: str) -> list[str]:
    """Values of "param" in an error body: an object, one inside `error`, or a list of those."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    inner = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]
    inner += [v["error"] for v in inner if isinstance(v.get("error"), dict)]
    return [v["param"] for v in inner if isinstance(v.get("param"), str)]
