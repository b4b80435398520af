"""What exists: problems, branches, ideas, decisions, candidates, evaluations, completions, runs."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import types
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

__version__ = "0.1.0"

Backend = Literal["cpu", "cuda"]
Author = Literal["model", "person", "workbench"]
Form = Literal["cpp", "cu", "module"]
Role = Literal["input", "weight", "output", "scalar"]
Subject = Literal["idea", "candidate"]
Tier = Literal["triage", "search", "record"]


class WorkbenchError(Exception):
    """The workbench's own failure; its message says what happened, to which thing, what to do."""


class ProblemError(WorkbenchError):
    """A file or folder that is not a problem this workbench can search."""


class CompilerNotFound(WorkbenchError):
    """The compiler a backend needs is not installed."""


class DeviceError(WorkbenchError):
    """The device, or the judge that owns it, cannot be used."""


class ReplayMiss(WorkbenchError):
    """A recording holds no reply for an address."""


class ModelError(WorkbenchError):
    """A model gave no usable reply; `kind` says how, `fatal` whether to stop the run.

    Kinds: auth, quota, not_found (fatal); refusal, content_filter, context, bad_request;
    rate_limit, server, timeout, connection, malformed, empty, length.
    """

    def __init__(self, message: str, *, kind: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.fatal = fatal


class StoreError(WorkbenchError):
    """A store that cannot be opened, read or written."""


class Category(enum.StrEnum):
    """The six families of optimization ideas of the fast-kernels work."""

    memory = "memory access"
    latency = "asynchrony and latency hiding"
    precision = "data type and precision"
    compute = "compute and instructions"
    parallelism = "parallelism and occupancy"
    control = "control flow and loops"


class Status(enum.StrEnum):
    """What became of a candidate."""

    passed = "passed"
    compile_error = "compile_error"
    incorrect = "incorrect"
    runtime_error = "runtime_error"
    timeout = "timeout"
    rejected = "rejected"


def sha_of(text: str) -> str:
    """First 16 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A PyTorch reference in KernelBench format: `Model`, `get_inputs`, `get_init_inputs`."""

    name: str
    source: str

    @property
    def sha(self) -> str:
        return sha_of(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One parameter of `launch`; `dtype` is torch's name without the prefix, e.g. "float32"."""

    name: str
    role: Role
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a kernel receives and writes, found once by running the reference.

    `bytes` is the compulsory traffic (every tensor once); `flop` counts matrix products and
    convolutions as torch's FlopCounterMode does, elementwise work not included.
    """

    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, int], ...] = ()
    bytes: int
    flop: int

    def of(self, *roles: Role) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.role in roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine a number belongs to. Rates are measured here, not read from a data sheet."""

    backend: Backend
    device: str
    cores: int  # streaming multiprocessors, or threads used
    memory_bytes: int
    cache_bytes: int  # last-level cache
    bandwidth_gbs: float  # copy, bytes read + written
    tflops: tuple[tuple[str, float], ...]  # matrix product by dtype, e.g. ("float32", 51.2)
    arch: str  # e.g. "sm_90a", "x86_64"
    driver: str | None  # None on a CPU
    torch: str
    compiler: str
    sandbox: tuple[str, ...]  # what isolates a running candidate here


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How candidates are judged in a run."""

    tier: Tier = "search"
    build_timeout_s: float = 120.0
    run_timeout_s: float = 60.0  # from the moment the job has the device
    precision: str = "reference"  # the reference's own class, or the name of a lower one
    baselines: tuple[str, ...] = ("eager", "compile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One search: a problem, a device, a strategy, a model."""

    id: str
    problem: Problem
    backend: Backend
    strategy: str
    model: str
    settings: Settings
    seed: int
    created: str
    signature: Signature
    environment: Environment
    note: str = ""  # provenance, e.g. of the recording that is replayed


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What the strategy asked for: `ideas` ideas on top of `parents`, `samples` kernels each.

    `ideas == 0` asks for a translation of the reference and needs no idea from a model.
    """

    number: int
    round: int
    index: int  # within the round
    parents: tuple[int, ...]
    lane: int = 0  # island or chain
    ideas: int
    samples: int

    @property
    def address(self) -> str:
        return f"{self.round}/{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """An optimization in plain language. A rewording is a new idea that names the old one."""

    number: int
    branch: int
    index: int  # within the branch
    title: str
    hypothesis: str
    category: Category | None  # None: a translation, which optimizes nothing
    author: Author
    rewords: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict on an idea or a candidate before it costs anything. The last one wins."""

    subject: Subject
    number: int
    approved: bool
    by: str
    at: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A kernel's source, never edited: an edit is a new candidate with the old one as parent."""

    number: int
    round: int
    idea: int | None  # None: a person's own kernel
    parents: tuple[int, ...]
    source: str
    form: Form
    author: Author
    address: str | None = None  # round/branch/idea/sample[/repair]; None: written by a person
    flags: tuple[str, ...] = ()  # how the reply had to be read, e.g. "unclosed_fence"

    @property
    def sha(self) -> str:
        return sha_of(self.form + "\n" + self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Resources of one device function, as the assembler reports them."""

    name: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What the compiler did; `cached` builds took `seconds` when they were first made."""

    seconds: float
    cached: bool
    log: str
    command: str
    kernels: tuple[Kernel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test: inputs of one distribution and seed, errors relative to a float64 oracle.

    `error` is norm-wise, `worst` element-wise over |oracle| + its root mean square;
    `reference_error` is the reference's own norm-wise error. None: not finite.
    """

    name: str
    error: float | None
    reference_error: float | None
    worst: float | None
    allowed: float
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Every case a candidate was tested on; `kernelbench` is its verdict at 1e-2 and at 1e-4."""

    cases: tuple[Case, ...]
    precision: str  # class of the candidate, e.g. "fp32"; "none" when incorrect
    reference_precision: str
    deterministic: bool | None  # None: not reached
    kernelbench: tuple[bool, bool] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Paired blocks of launches, candidate and reference in turn; microseconds per launch."""

    method: str
    samples_us: tuple[float, ...]
    reference_us: tuple[float, ...]
    launches: int  # per block
    sets: int  # distinct input and output sets the launches rotate through
    warm_us: float | None = None  # one set over and over
    clock_gap: float | None = None  # median share of the wall clock a kernel's process hid

    def __post_init__(self) -> None:
        if len(self.samples_us) != len(self.reference_us) or not self.samples_us:
            raise ValueError("a timing needs as many reference samples as candidate samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """PyTorch run another way, timed in turn with eager; no timing: `detail` says why."""

    name: str
    timing: Timing | None
    detail: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One candidate judged once. Which parts exist depends on how far it came."""

    candidate: int
    status: Status
    detail: str
    created: str
    seconds: float  # from submission to verdict, waiting for the device excluded
    build: Build | None = None
    check: Check | None = None
    timing: Timing | None = None
    findings: tuple[str, ...] = ()
    output: str = ""  # what the candidate printed: shown, never parsed
    environment: Environment | None = None

    def __post_init__(self) -> None:
        if self.status is Status.passed and (self.check is None or self.timing is None):
            raise ValueError("a passed evaluation has a check and a timing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one reply; `completion` includes `reasoning`."""

    prompt: int
    completion: int
    reasoning: int = 0
    cached: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One paid reply, or one final failure (`error`), at an address of the search."""

    address: str
    model: str  # as requested
    returned_model: str
    messages: tuple[Message, ...]
    reply: str
    reasoning: str = ""
    finish: str = "stop"
    usage: Usage | None = None
    cost_usd: float | None = None  # None: price unknown
    seconds: float = 0.0
    created: str = ""
    error: str = ""
    degraded: tuple[str, ...] = ()  # parameters the server refused


Record = Run | Branch | Idea | Decision | Candidate | Evaluation | Baseline | Completion


def encode(value: object) -> Any:
    """A record as JSON-ready data; None fields and empty tuples are kept, so rows compare."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    return value


T = TypeVar("T")


def decode(kind: type[T], data: Any) -> T:
    """The record that `encode` made `data` from; fields unknown to this version are an error."""
    return typing.cast(T, _decode(kind, data))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode(kind: Any, data: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast(type, kind))
        fields = {name: _decode(hints[name], value) for name, value in data.items()}
        return typing.cast(type, kind)(**fields)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_decode(args[0], v) for v in data)
        return tuple(_decode(a, v) for a, v in zip(args, data, strict=True))
    if origin in (typing.Union, types.UnionType):
        if data is None:
            return None
        return _decode(next(a for a in args if a is not type(None)), data)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    return data
