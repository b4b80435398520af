"""Source in, shared library out: bounded, isolated from the device, cached by content."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from workbench.evaluation import isolation, toolchain
from workbench.evaluation.toolchain import Toolchain
from workbench.records import Build, encode

LOG_LIMIT = 16_384
MEMORY_LIMIT = 8 << 30
OUTPUT_LIMIT = 512 << 20


@dataclass(frozen=True, slots=True)
class Built:
    """The outcome of a build: a library, or the compiler's words about why there is none."""

    build: Build
    library: Path | None
    timed_out: bool = False


def cache_folder() -> Path:
    """Where builds are kept: $WORKBENCH_CACHE or ~/.cache/kernel-workbench."""
    chosen = os.environ.get("WORKBENCH_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "kernel-workbench"


@dataclass
class Compiler:
    """Builds kernel files of one backend; safe to call from several threads."""

    tools: Toolchain
    cache: Path = field(default_factory=lambda: cache_folder() / "builds")
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def build(self, source: str, header: str, *, timeout_s: float) -> Built:
        """The library for a source, from the cache when the same build was made before.

        Failures are cached as well: the same text gives the same words without compiling.
        """
        folder = self.cache / self._key(source, header)
        if (kept := _read(folder)) is not None:
            return kept
        with tempfile.TemporaryDirectory(prefix="workbench-build-") as scratch:
            built = self._compile(Path(scratch), source, header, timeout_s)
            return built if built.timed_out else _keep(folder, built)

    def cancel(self) -> None:
        """Kill the compilers under way."""
        with self._lock:
            for process in self._running:
                _kill(process)

    def _key(self, source: str, header: str) -> str:
        tools = self.tools
        parts = [source, header, tools.compiler, tools.version, *tools.flags, tools.target]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def _compile(self, scratch: Path, source: str, header: str, timeout_s: float) -> Built:
        name = f"kernel{self.tools.suffix}"
        (scratch / name).write_text(source)
        (scratch / "problem.h").write_text(header)
        command = self.tools.command(name, "problem.h", "kernel.so")
        started = time.perf_counter()
        code, log, timed_out = self._run(command, scratch, timeout_s)
        if timed_out:
            log = f"the compiler was stopped after {timeout_s:g} s\n{log}"
        build = Build(
            seconds=time.perf_counter() - started,
            cached=False,
            log=shortened(_plain(toolchain.without_report(log), scratch)),
            command=" ".join([Path(command[0]).name, *command[1:]]),
            kernels=toolchain.resources(log),
        )
        made = code == 0 and (scratch / "kernel.so").exists()
        library = (scratch / "kernel.so") if made else None
        return Built(build, library, timed_out)

    def _run(self, command: list[str], scratch: Path, timeout_s: float) -> tuple[int, str, bool]:
        """Exit code, output, whether the time limit ended it."""
        with tempfile.TemporaryFile(dir=scratch) as output:
            process = subprocess.Popen(
                command,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_limit_compiler,
                env=isolation.clean_environment() | {"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8"},
            )
            with self._lock:
                self._running.add(process)
            try:
                code, timed_out = process.wait(timeout_s), False
            except subprocess.TimeoutExpired:
                code, timed_out = -signal.SIGKILL, True
            finally:
                _kill(process)
                with self._lock:
                    self._running.discard(process)
            output.seek(0)
            return code, output.read(4 << 20).decode(errors="replace"), timed_out


def shortened(log: str) -> str:
    """A log whole up to 16 KB, then its first lines and "[312 lines omitted]"."""
    if len(log) <= LOG_LIMIT:
        return log
    head = log[:LOG_LIMIT].rsplit("\n", 1)[0]
    return f"{head}\n[{log[len(head) :].count(chr(10))} lines omitted]"


def first_error(log: str) -> str:
    """The first line of a compiler log that names an error, else its first line."""
    lines = [line for line in log.splitlines() if line.strip()]
    wanted = (line for line in lines if re.search(r"\berror\b|undefined reference", line))
    return next(wanted, lines[0] if lines else "the compiler failed without a word")


def _limit_compiler() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _plain(log: str, scratch: Path) -> str:
    """Without the names of temporary files, which differ from build to build."""
    log = log.replace(f"{scratch}/", "")
    return re.sub(r"tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_", "", log)


def _keep(folder: Path, built: Built) -> Built:
    """Move a finished build into the cache in one step; the first of two equal ones stays."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as fresh:
        place = Path(fresh) / "build"
        place.mkdir()
        (place / "build.json").write_text(json.dumps(encode(built.build)))
        if built.library is not None:
            (place / "kernel.so").write_bytes(built.library.read_bytes())
            (place / "kernel.so").chmod(0o555)
        with contextlib.suppress(OSError):
            place.rename(folder)
    library = folder / "kernel.so"
    return Built(built.build, library if library.exists() else None)


def _read(folder: Path) -> Built | None:
    from dataclasses import replace

    from workbench.records import decode

    try:
        build = decode(Build, json.loads((folder / "build.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    library = folder / "kernel.so"
    return Built(replace(build, cached=True), library if library.exists() else None)
