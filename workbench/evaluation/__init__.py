"""Source in, Evaluation out: build it, check it, time it, where it can do no harm."""

from __future__ import annotations

import subprocess

from workbench.evaluation.executor import Description, Executor
from workbench.evaluation.local import LocalExecutor
from workbench.evaluation.outline import outline
from workbench.evaluation.toolchain import find_nvcc
from workbench.records import Backend

__all__ = ["Description", "Executor", "LocalExecutor", "default_backend", "outline"]


def default_backend() -> Backend:
    """ "cuda" where an NVIDIA GPU and nvcc are found, else "cpu"."""
    if find_nvcc() is None:
        return "cpu"
    try:
        run = subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "cpu"
    return "cuda" if run.returncode == 0 and b"GPU 0" in run.stdout else "cpu"
