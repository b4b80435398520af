"""A panel follows a run that another process advances."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted import search

from workbench.history import History
from workbench.notebook.watch import Watcher
from workbench.search import Search

WAIT_S = 10


@pytest.fixture
def searches(tmp_path: Path) -> Iterator[tuple[Search, Search]]:
    """Two that are open on one run, as in two processes."""
    with search(tmp_path / "run.db") as here, search(tmp_path / "run.db") as elsewhere:
        yield here, elsewhere


def test_a_listener_hears_of_the_history_at_once(searches: tuple[Search, Search]) -> None:
    heard: list[History] = []
    watcher = Watcher(lambda: searches[0].history)
    watcher.subscribe(heard.append)
    watcher.close()
    assert heard[:1] == [searches[0].history]


def test_a_change_from_elsewhere_is_told_unasked(searches: tuple[Search, Search]) -> None:
    here, elsewhere = searches
    told = threading.Event()
    watcher = Watcher(lambda: here.history)
    watcher.subscribe(lambda history: history.ideas and told.set())
    elsewhere.propose()
    assert told.wait(WAIT_S)
    watcher.close()


def test_without_a_change_nobody_is_called(searches: tuple[Search, Search]) -> None:
    heard: list[History] = []
    watcher = Watcher(lambda: searches[0].history)
    watcher.refresh()
    watcher.subscribe(heard.append, first=lambda _: None)
    watcher.refresh()
    watcher.close()
    assert heard == []


def test_a_run_that_was_closed_is_followed_no_longer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = search(tmp_path / "closed.db")
    with caplog.at_level(logging.WARNING):
        Watcher(lambda: closed.history)
        closed.close()
        deadline = time.monotonic() + WAIT_S
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "follow this run no longer" in caplog.text
