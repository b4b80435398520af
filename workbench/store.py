"""The run on disk: SQLite, append-only, survives kill -9."""

from __future__ import annotations

import contextlib
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
        with self._write():
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
    def _write(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def add(self, *records: Record) -> None:
        """Append records in one transaction; on return they are on disk."""
        try:
            with self._write():
                for record in records:
                    self._insert(record)
        except sqlite3.Error as error:
            raise StoreError(f"cannot write to {str(self.path)!r}: {error}") from error

    def add_numbered(self, record: _R) -> _R:
        """Append a record under the next free number of its kind (its own is ignored)."""
        import dataclasses

        kind = type(record).__name__.lower()
        try:
            with self._write():
                (last,) = self._db.execute(
                    "SELECT max(json_extract(body, '$.number')) FROM record WHERE kind = ?", (kind,)
                ).fetchone()
                numbered = dataclasses.replace(record, number=0 if last is None else last + 1)
                self._insert(numbered)
        except sqlite3.Error as error:
            raise StoreError(f"cannot write to {str(self.path)!r}: {error}") from error
        return numbered

    def _insert(self, record: Record) -> None:
        body = json.dumps(encode(record), ensure_ascii=False)
        kind = type(record).__name__.lower()
        self._db.execute("INSERT INTO record (kind, body) VALUES (?, ?)", (kind, body))

    def records(self) -> list[Record]:
        """Everything, in the order it was written."""
        with self._lock:
            rows = self._db.execute("SELECT kind, body FROM record ORDER BY sequence").fetchall()
        return [decode(_KINDS[kind], json.loads(body)) for kind, body in rows]

    def history(self) -> History | None:
        """The run as it stands; None while the store is empty."""
        records = self.records()
        return History.of(records) if records else None

    def revision(self) -> int:
        """A number that grows with every record, from any process: cheap to poll."""
        with self._lock:
            (last,) = self._db.execute("SELECT max(sequence) FROM record").fetchone()
        return last or 0

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the right to advance this run; raises StoreError if another process has it."""
        with open(f"{self.path}.lock", "w") as handle:
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
