"""A whole search in one file: its plan, every reply, and what its own device measured.

JSON lines, in the order of the search; each line is an object with one member that names its
kind: first `header`, then `branch`, `completion`, `decision`, `result`. Prompts are left out: a
reply belongs to its address, and prompts hold measured times, which differ on every device.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.records import Backend, Status, Subject, Usage, WorkbenchError, decode, encode

FORMAT = 1
_ADDRESS = re.compile(r"\d+/\d+(?:/ideas|/\d+(?:/\d+(?:/repair)?)?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a recording is of, and who wrote the replies in it."""

    format: int = FORMAT
    problem: str
    problem_sha: str
    source: str | None = None  # of the problem; None: find it by its name, check it by its sha
    backend: Backend
    strategy: str
    author: str
    provenance: str  # e.g. "Ideas and kernels were written by hand." or by which model
    device: str
    created: str
    license: str
    workbench: str  # version


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedBranch:
    """A branch whose parents are addresses, since numbers differ when it is replayed."""

    round: int
    index: int
    parents: tuple[str, ...] = ()
    lane: int = 0
    ideas: int
    samples: int

    def __post_init__(self) -> None:
        for parent in self.parents:
            _require_address(parent)

    @property
    def address(self) -> str:
        return f"{self.round}/{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCompletion:
    """A reply; `prompt_sha` tells whether a prompt is the one that it answered."""

    address: str
    model: str
    returned_model: str
    reply: str
    reasoning: str = ""
    finish: str = "stop"
    usage: Usage | None = None
    cost_usd: float | None = None
    created: str = ""
    prompt_sha: str = ""

    def __post_init__(self) -> None:
        _require_address(self.address)
        if not isinstance(self.reply, str):
            raise ValueError(f"the reply at {self.address} is not text")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """A verdict of a person on the idea (three parts) or candidate (four, five) at an address."""

    address: str
    approved: bool
    note: str = ""

    def __post_init__(self) -> None:
        _require_address(self.address)

    @property
    def subject(self) -> Subject:
        return "idea" if self.address.count("/") == 2 else "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResult:
    """What the recording's own device said of the kernel at an address; None: not measured."""

    address: str
    status: Status
    detail: str = ""
    median_us: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _require_address(self.address)


Line = RecordedBranch | RecordedCompletion | RecordedDecision | RecordedResult

_KINDS: dict[str, type[Line]] = {
    "branch": RecordedBranch,
    "completion": RecordedCompletion,
    "decision": RecordedDecision,
    "result": RecordedResult,
}


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A search that can be replayed: anywhere, without its model."""

    header: Header
    branches: tuple[RecordedBranch, ...] = ()
    completions: tuple[RecordedCompletion, ...] = ()
    decisions: tuple[RecordedDecision, ...] = ()
    results: tuple[RecordedResult, ...] = ()

    @property
    def name(self) -> str:
        """The problem's name, as in Recorded('softmax')."""
        return self.header.problem

    @property
    def note(self) -> str:
        """Who wrote the ideas and kernels; kept with every run that replays them."""
        return self.header.provenance

    def completion(self, address: str) -> RecordedCompletion | None:
        return self._completion_by_address.get(address)

    def result(self, address: str) -> RecordedResult | None:
        return self._result_by_address.get(address)

    def decision(self, address: str) -> RecordedDecision | None:
        """The last verdict on an address."""
        return next((d for d in reversed(self.decisions) if d.address == address), None)

    @cached_property
    def _completion_by_address(self) -> dict[str, RecordedCompletion]:
        return {c.address: c for c in self.completions}

    @cached_property
    def _result_by_address(self) -> dict[str, RecordedResult]:
        return {r.address: r for r in self.results}


def address_order(address: str) -> tuple[int, ...]:
    """Sorts addresses in the order of a search: a branch, its ideas, kernel by kernel."""
    words = {"ideas": -1, "repair": 1 << 30}
    return tuple(words[part] if part in words else int(part) for part in address.split("/"))


def write(path: str | Path, recording: Recording) -> Path:
    """Write a recording, compressed when `path` ends in ".gz"; the same one gives the same bytes.

    The file appears whole or not at all.
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        raise WorkbenchError(f"{str(path)!r} is not a file; a recording would replace it")
    lines = [_json({"header": recording.header})]
    for kind, line in _in_order(recording):
        lines.append(_json({kind: line}))
    body = b"".join(lines)
    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.write_bytes(_zipped(body) if file.suffix == ".gz" else body)
        os.replace(fresh, file)
    except OSError as error:
        raise WorkbenchError(f"cannot write {str(path)!r}: {error.strerror}") from error
    return file


def read(path: str | Path) -> Recording:
    """The recording in a file, compressed or not; a WorkbenchError says what is wrong with it."""
    try:
        body = Path(path).read_bytes()
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WorkbenchError(f"{str(path)!r} is torn: {error}; copy it again") from error
    except OSError as error:
        raise WorkbenchError(f"cannot read {str(path)!r}: {error.strerror}") from error
    whole, _, rest = body.rpartition(b"\n")
    if rest:
        number = body.count(b"\n") + 1
        raise WorkbenchError(f"{str(path)!r} is torn: line {number} has no end; copy it again")
    return _parsed(str(path), whole.split(b"\n"))


def _parsed(path: str, lines: Iterable[bytes]) -> Recording:
    header: Header | None = None
    found: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
    for number, line in enumerate(lines, 1):
        if header is None:
            header = _header(path, line)
            continue
        try:
            ((kind, value),) = json.loads(line).items()
            found[kind].append(decode(_KINDS[kind], value))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise WorkbenchError(
                f"{path!r} is damaged: line {number} is none of {', '.join(_KINDS)} ({error})"
            ) from error
    if header is None:
        raise WorkbenchError(f"{path!r} is empty, not a recording")
    twice = _repeated(c.address for c in found["completion"])
    if twice is not None:
        raise WorkbenchError(f"{path!r} is damaged: two replies at {twice!r}")
    return Recording(
        header=header,
        branches=tuple(found["branch"]),
        completions=tuple(found["completion"]),
        decisions=tuple(found["decision"]),
        results=tuple(found["result"]),
    )


def _header(path: str, line: bytes) -> Header:
    foreign = f"{path!r} is not a recording of a search: its first line is no header"
    try:
        value = json.loads(line)["header"]
        version = value["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise WorkbenchError(foreign) from error
    if version != FORMAT:
        raise WorkbenchError(
            f"{path!r} has format {version!r}; this workbench reads format {FORMAT}"
        )
    try:
        return decode(Header, value)
    except (AttributeError, TypeError, ValueError) as error:
        raise WorkbenchError(f"{foreign} ({error})") from error


def _in_order(recording: Recording) -> list[tuple[str, Line]]:
    """Lines as the search went; of one address its branch, decision, reply, result."""
    ranks: dict[str, Callable[[Recording], tuple[Line, ...]]] = {
        "branch": lambda r: r.branches,
        "decision": lambda r: r.decisions,
        "completion": lambda r: r.completions,
        "result": lambda r: r.results,
    }
    lines = [(kind, line) for kind, of in ranks.items() for line in of(recording)]
    return sorted(lines, key=lambda pair: address_order(pair[1].address))


def _json(line: dict[str, Any]) -> bytes:
    """One line; readable UTF-8 unless the text holds half a surrogate pair."""
    data = {kind: encode(value) for kind, value in line.items()}
    try:
        return (json.dumps(data, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(data) + "\n").encode()


def _zipped(body: bytes) -> bytes:
    target = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as out:
        out.write(body)
    return target.getvalue()


def _require_address(address: str) -> None:
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} is not an address")


def _repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
