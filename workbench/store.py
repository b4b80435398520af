"""The run on disk: SQLite, append-only, survives kill -9."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import sqlite3
import threading
import typing
from collections.abc import Iterator
from pathlib import Path

from workbench.history import History
from workbench.records import (
    Baseline,
    Branch,
    Candidate,
    Completion,
    Decision,
    Evaluation,
    Idea,
    Record,
    Run,
    StoreError,
    decode,
    encode,
)

SCHEMA_VERSION = 1
_KINDS: dict[str, type[Record]] = {
    k.__name__.lower(): k
    for k in (Run, Branch, Idea, Decision, Candidate, Evaluation, Baseline, Completion)
}
_SCHEMA = """
CREATE TABLE record (
    sequence INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL CHECK (json_valid(body))
);
CREATE UNIQUE INDEX one_completion ON record (json_extract(body, '$.address'))
    WHERE kind = 'completion';
CREATE UNIQUE INDEX one_number ON record (kind, json_extract(body, '$.number'))
    WHERE kind IN ('branch', 'idea', 'candidate');
CREATE UNIQUE INDEX one_run ON record (kind) WHERE kind = 'run';
CREATE VIEW results AS
SELECT json_extract(c.body, '$.number')  AS candidate,
       json_extract(c.body, '$.round')   AS round,
       json_extract(c.body, '$.address') AS address,
       json_extract(c.body, '$.author')  AS author,
       json_extract(i.body, '$.title')   AS idea,
       json_extract(e.body, '$.status')  AS status,
       json_extract(e.body, '$.detail')  AS detail,
       json_extract(e.body, '$.timing.samples_us')   AS samples_us,
       json_extract(e.body, '$.timing.reference_us') AS reference_us
FROM record c
LEFT JOIN record i ON i.kind = 'idea'
     AND json_extract(i.body, '$.number') = json_extract(c.body, '$.idea')
LEFT JOIN record e ON e.sequence = (
     SELECT max(sequence) FROM record
     WHERE kind = 'evaluation'
       AND json_extract(body, '$.candidate') = json_extract(c.body, '$.number'))
WHERE c.kind = 'candidate'
ORDER BY candidate;
"""

_R = typing.TypeVar("_R", Branch, Idea, Candidate)


class Store:
    """One run's records. Safe to share between threads; other processes may read and append."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._decoded: list[Record] = []
        self._decoded_up_to = 0
        try:
            self._db = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._migrate()
        except sqlite3.Error as error:
            raise StoreError(f"cannot open the store {str(path)!r}: {error}") from error

    def _migrate(self) -> None:
        with self.transaction():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            elif version != SCHEMA_VERSION:
                raise StoreError(
                    f"the store {str(self.path)!r} has format {version}; "
                    f"this workbench writes format {SCHEMA_VERSION}"
                )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is added inside is on disk together, or not at all. May be nested."""
        with self._lock:
            nested = False
            try:
                if not (nested := self._db.in_transaction):
                    self._db.execute("BEGIN IMMEDIATE")
                yield
                if not nested:
                    self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError(f"cannot write to {str(self.path)!r}: {error}") from error
            finally:
                with contextlib.suppress(sqlite3.Error):
                    if not nested and self._db.in_transaction:
                        self._db.execute("ROLLBACK")

    def add(self, *records: Record) -> None:
        """Append records in one transaction; on return they are on disk."""
        with self.transaction():
            for record in records:
                self._insert(record)

    def add_numbered(self, record: _R) -> _R:
        """Append a record under the next free number of its kind (its own is ignored)."""
        kind = type(record).__name__.lower()
        with self.transaction():
            (last,) = self._db.execute(
                "SELECT max(json_extract(body, '$.number')) FROM record WHERE kind = ?", (kind,)
            ).fetchone()
            numbered = dataclasses.replace(record, number=0 if last is None else last + 1)
            self._insert(numbered)
        return numbered

    def _insert(self, record: Record) -> None:
        body = json.dumps(encode(record))  # ASCII: a reply may hold half a surrogate pair
        kind = type(record).__name__.lower()
        self._db.execute("INSERT INTO record (kind, body) VALUES (?, ?)", (kind, body))

    def records(self) -> list[Record]:
        """Everything, in the order it was written. A row never changes, so each is decoded once."""
        with self._lock:
            rows = self._read(
                "SELECT sequence, kind, body FROM record WHERE sequence > ? ORDER BY sequence",
                self._decoded_up_to,
            )
            fresh = [decode(_KINDS[kind], json.loads(body)) for _, kind, body in rows]
            if rows and not self._db.in_transaction:  # what may be rolled back is not kept
                self._decoded += fresh
                self._decoded_up_to = rows[-1][0]
                fresh = []
            return [*self._decoded, *fresh]

    def history(self) -> History | None:
        """The run as it stands; None while the store is empty."""
        records = self.records()
        return History.of(records) if records else None

    def revision(self) -> int:
        """A number that grows with every record, from any process: cheap to poll."""
        ((last,),) = self._read("SELECT max(sequence) FROM record")
        return last or 0

    def _read(self, query: str, *values: int) -> list[tuple[typing.Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise StoreError(f"cannot read {str(self.path)!r}: {error}") from error

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the right to advance this run; raises StoreError if another process has it."""
        try:
            handle = open(f"{self.path}.lock", "w")  # noqa: SIM115 (closed below, kept when locked)
        except OSError as error:
            raise StoreError(f"cannot write beside {str(self.path)!r}: {error.strerror}") from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(
                    f"another process is advancing {str(self.path)!r}; "
                    "follow it with history, or wait until it has ended"
                ) from None
            yield

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __repr__(self) -> str:
        return f"<Store {str(self.path)!r}, {self.revision()} records>"
