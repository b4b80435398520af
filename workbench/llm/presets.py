"""Settings of providers, by name."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from urllib.parse import urlsplit

from workbench.records import WorkbenchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How a provider is asked; None: not sent, or no key needed."""

    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int
    timeout_s: float
    deadline_s: float


@functools.cache
def presets() -> dict[str, Preset]:
    """All presets by name, from presets.toml."""
    text = resources.files("workbench.llm").joinpath("presets.toml").read_text("utf-8")
    return {name: Preset(**fields) for name, fields in tomllib.loads(text).items()}


def find_preset(name: str | None, base_url: str | None) -> Preset:
    """The preset of a name, else that of a URL's host, else "local"; "openai" without a URL."""
    known = presets()
    if name is None:
        name = "openai" if base_url is None else _name_of(base_url)
    if name not in known:
        raise WorkbenchError(f"no preset {name!r}; there are: {', '.join(known)}")
    return known[name]


def _name_of(base_url: str) -> str:
    host = urlsplit(base_url).hostname
    hosted = {urlsplit(p.base_url).hostname: n for n, p in presets().items() if p.api_key_env}
    return hosted.get(host, "local")
