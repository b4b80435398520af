"""LocalExecutor keeps the Executor's contract on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contracts.executor_contract import CUDA_KERNELS, ExecutorContract

from workbench.evaluation import LocalExecutor, default_backend

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(default_backend() != "cuda", reason="needs an NVIDIA GPU and nvcc"),
]


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor("cuda") as executor:
        yield executor


class TestLocalExecutorOnAGpu(ExecutorContract):
    """One executor for all of them: what one test leaves behind would harm the next."""

    kernels = CUDA_KERNELS
