"""Kernel Workbench: search for fast GPU kernels with language models, and believe the numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "__version__": "records",
    "Problem": "records",
    "Category": "records",
    "Status": "records",
    "Settings": "records",
    "WorkbenchError": "records",
    "load_problem": "problems",
    "load_problems": "problems",
    "resized": "problems",
    "History": "history",
    "Store": "store",
    "OpenAI": "llm",
    "Replay": "llm",
    "Human": "llm",
    "LocalExecutor": "evaluation",
    "default_backend": "evaluation",
    "Beam": "search",
    "Search": "search",
}

__all__ = [
    "Problem",
    "Category",
    "Status",
    "Settings",
    "WorkbenchError",
    "load_problem",
    "load_problems",
    "resized",
    "History",
    "Store",
    "OpenAI",
    "Replay",
    "Human",
    "LocalExecutor",
    "default_backend",
    "Beam",
    "Search",
    "__version__",
]

if TYPE_CHECKING:
    from workbench.evaluation import LocalExecutor, default_backend
    from workbench.history import History
    from workbench.llm import Human, OpenAI, Replay
    from workbench.problems import load_problem, load_problems, resized
    from workbench.records import (
        Category,
        Problem,
        Settings,
        Status,
        WorkbenchError,
        __version__,
    )
    from workbench.search import Beam, Search
    from workbench.store import Store


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
