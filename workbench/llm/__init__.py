"""Text in, ideas and kernels out: models, prompts, replies, recordings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Model": "model",
    "Request": "model",
    "OpenAI": "openai_model",
    "Human": "human",
    "Replay": "replay",
    "Recording": "recording",
}

__all__ = ["Model", "Request", "OpenAI", "Human", "Replay", "Recording"]

if TYPE_CHECKING:
    from workbench.llm.human import Human
    from workbench.llm.model import Model, Request
    from workbench.llm.openai_model import OpenAI
    from workbench.llm.recording import Recording
    from workbench.llm.replay import Replay
else:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'workbench.llm' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"workbench.llm.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
