"""What can go wrong between us and a model's server, sorted by what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

FATAL = frozenset({"auth", "quota", "not_found"})
ATTEMPTS = {
    "rate_limit": 12, "server": 6, "connection": 4,
    "timeout": 2, "malformed": 2, "empty": 2,  # each is paid for again
}  # fmt: skip
LONGEST_WAIT_S = 120.0  # that a server may ask for
_WORDS = {
    "auth": "the key was refused; check it (api_key_env names its variable) and its rights",
    "quota": "the account's quota is spent; top it up, then run again",
    "not_found": "no such model or address; check the model's name and base_url",
    "context": "the prompt is longer than the model's context",
    "length": "all tokens were spent before an answer began; raise max_tokens or lower "
    "reasoning_effort",
}
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context|context (?:size|length|window)|exceed\w* .{0,40}"
    r"context|(?:prompt|input) is too long",
    re.I,
)
_BAD_KEY = re.compile(r"API key not valid|API_KEY_INVALID|invalid_api_key|Incorrect API key", re.I)
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk-|AIza|Bearer )[\w*.\-]{6,}")
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d{1,6}(?:\.\d+)?)s"')


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no reply; `wait_s` is how long the server says to wait."""

    kind: str
    words: str
    wait_s: float | None = None

    @property
    def fatal(self) -> bool:
        return self.kind in FATAL

    @property
    def advice(self) -> str:
        return _WORDS.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class Rejection:
    """An HTTP status that is none of success, with the body that came along."""

    status: int
    text: str
    headers: Mapping[str, str]

    def fault(self) -> Fault:
        return of_status(self.status, self.text, wait_s=self._wait_s())

    def _wait_s(self) -> float | None:
        for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
            try:
                return float(self.headers[name]) * unit
            except (KeyError, ValueError):
                continue
        return None


def of_status(status: int, text: str, *, wait_s: float | None = None) -> Fault:
    """The fault an HTTP status and its body stand for."""
    text = text[:20_000]
    if wait_s is None and (delay := _RETRY_DELAY.search(text)):
        wait_s = float(delay[1])
    return Fault(_kind(status, text), f"HTTP {status}: {_short(text)}", wait_s)


def without_key(text: str, key: str | None) -> str:
    """A message that shows no key: servers repeat the one they refuse."""
    if key and len(key) > 4:
        text = text.replace(key, "[key]")
    return _LOOKS_LIKE_A_KEY.sub("[key]", text)


def _kind(status: int, text: str) -> str:
    if status == 402 or "insufficient_quota" in text or "billing_hard_limit" in text:
        return "quota"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(text)):
        return "auth"
    if status == 404:
        return "not_found"
    if status == 429:
        return "rate_limit"
    if status == 408:
        return "timeout"
    if _CONTEXT.search(text):  # llama.cpp says so with 400 and with 500
        return "context"
    if status >= 500 or status in (409, 425):
        return "server"
    if re.search(r"content_filter|content_policy|ResponsibleAI", text):
        return "content_filter"
    return "bad_request"


def _short(text: str) -> str:
    words = " ".join(text[:2000].split())
    return words if len(words) <= 300 else f"{words[:300]}…"
