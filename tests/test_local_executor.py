"""LocalExecutor keeps the Executor's contract, with a real compiler and a real judge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from contracts.executor_contract import ExecutorContract

from workbench.evaluation import LocalExecutor

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor("cpu") as executor:
        yield executor


class TestLocalExecutor(ExecutorContract):
    """One executor for all of them: what one test leaves behind would harm the next."""
