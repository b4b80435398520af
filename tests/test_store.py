"""What was added is on disk: after a crash, from other threads, from other processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import histories
import pytest
from test_records import everything

from workbench.records import Branch, Candidate, StoreError
from workbench.store import Store

BRANCH = Branch(number=0, round=0, index=0, parents=(), ideas=0, samples=2)
KERNEL = Candidate(
    number=0, round=0, idea=None, parents=(), source="int k;", form="cpp", author="person"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "run.db")


def test_records_come_back_equal_and_in_order(store: Store) -> None:
    records = everything(histories.searched())
    store.add(*records)
    assert store.records() == records
    assert Store(store.path).records() == records
    assert store.revision() == len(records)


def test_an_empty_store_has_no_history(store: Store) -> None:
    assert store.history() is None
    assert store.revision() == 0
    store.add(histories.RUN)
    history = store.history()
    assert history is not None
    assert history.run == histories.RUN


def test_numbers_are_given_in_order_and_by_kind(store: Store) -> None:
    assert [store.add_numbered(replace(BRANCH, index=i)).number for i in range(3)] == [0, 1, 2]
    assert store.add_numbered(replace(KERNEL, number=77)).number == 0


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    store.add(histories.RUN)

    def half() -> None:
        with store.transaction():
            store.add(histories.searched().completions[0])
            assert store.add_numbered(KERNEL).number == 0
            assert len(store.records()) == 3  # seen from inside
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert store.records() == [histories.RUN]
    assert store.add_numbered(KERNEL).number == 0
    assert len(store.records()) == 2


def test_a_reply_is_kept_once(store: Store) -> None:
    completion = histories.searched().completions[0]
    store.add(completion)
    with pytest.raises(StoreError):
        store.add(replace(completion, reply="another"))
    with pytest.raises(StoreError):
        store.add(histories.RUN, histories.RUN)
    assert store.records() == [completion]


def test_text_that_is_not_unicode_is_kept(store: Store) -> None:
    odd = replace(KERNEL, source="half a pair \ud83d, a null \0, a newline \u2028, ü")
    assert store.add_numbered(odd) == odd
    assert Store(store.path).records() == [odd]


def test_threads_share_a_store_and_never_a_number(store: Store) -> None:
    def work() -> None:
        for _ in range(20):
            store.add_numbered(KERNEL)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [r.number for r in store.records() if isinstance(r, Candidate)]
    assert found == list(range(80))


def test_another_process_is_seen_as_it_writes(store: Store) -> None:
    store.add(histories.RUN)
    assert len(store.records()) == 1
    Store(store.path).add_numbered(KERNEL)
    assert store.revision() == 2
    assert store.records()[1] == KERNEL


ADD_AND_DIE = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import histories
from test_store import KERNEL
from workbench.store import Store
store = Store({path!r})
store.add(histories.RUN)
store.add_numbered(KERNEL)
with store.transaction():
    store.add_numbered(KERNEL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_added_survives_kill_9_and_what_was_not_is_gone(store: Store) -> None:
    tests = str(Path(__file__).parent)
    code = ADD_AND_DIE.format(path=str(store.path), tests=tests)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert store.records() == [histories.RUN, KERNEL]
    assert store.add_numbered(KERNEL).number == 1


def test_only_one_may_work_at_a_time(store: Store) -> None:
    other = Store(store.path)
    with store.working(), pytest.raises(StoreError, match="another process"), other.working():
        pass
    with other.working():
        pass


def test_a_file_that_is_no_store_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, but long enough to look at" * 100)
    with pytest.raises(StoreError, match=r"x\.db"):
        Store(tmp_path / "x.db")
    with pytest.raises(StoreError, match="cannot open"):
        Store(tmp_path / "no" / "x.db")


def test_a_store_of_a_later_format_is_refused(store: Store) -> None:
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="format 99"):
        Store(store.path)


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError):
        store.add(histories.RUN)
    with pytest.raises(StoreError):
        store.records()


def test_any_sqlite_tool_reads_the_results(store: Store) -> None:
    history = histories.searched(rounds=2)
    store.add(*everything(history))
    with sqlite3.connect(store.path) as database:
        rows = database.execute("SELECT candidate, round, idea, status FROM results").fetchall()
    expected = [
        (
            c.number,
            c.round,
            history.idea(c.idea).title if c.idea is not None else None,
            e.status.value if (e := history.evaluation(c.number)) else None,
        )
        for c in history.candidates
    ]
    assert rows == expected
