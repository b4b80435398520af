"""Which compiler a backend uses, with which flags, and how its words are read."""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from workbench.records import Backend, CompilerNotFound, Kernel

CXX_FLAGS = ("-std=c++17", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
NVCC_FLAGS = ("-std=c++17", "-O3", "-lineinfo", "-shared", "-Xcompiler", "-fPIC")
NVCC_REPORT = ("-Xptxas", "-v", "-cudart", "shared")
_NVCC_PLACES = ("/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc")
_PTXAS_NAME = re.compile(r"Compiling entry function '(\S+)'|Function properties for (\S+)")
_PTXAS_STACK = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_PTXAS_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and everything that decides what it makes of a source."""

    backend: Backend
    compiler: str
    version: str
    flags: tuple[str, ...]
    target: str  # what "native" means here, so that a cache shared by machines stays right
    suffix: str

    def command(self, source: str, header: str, output: str) -> list[str]:
        """The compiler's command line for files in the current folder."""
        return [self.compiler, *self.flags, "-include", header, source, "-o", output]


def find(backend: Backend, arch: str | None = None) -> Toolchain:
    """The toolchain of a backend; `arch` is the device's, e.g. "sm_90a"."""
    return _cuda(arch or "sm_90a") if backend == "cuda" else _cxx()


def find_nvcc() -> str | None:
    """nvcc on PATH, under CUDA_HOME, or at its usual places; None if there is none."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    places = [shutil.which("nvcc"), f"{home}/bin/nvcc" if home else None, *_NVCC_PLACES]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def find_cxx() -> str | None:
    """The C++ compiler: $CXX, g++, c++ or clang++; None if there is none."""
    names = [os.environ.get("CXX"), "g++", "c++", "clang++"]
    return next((path for name in names if name and (path := shutil.which(name))), None)


def gencode(arch: str) -> str:
    """nvcc's target option; sm_90a is spelled out so that wgmma and setmaxnreg build."""
    number = arch.removeprefix("sm_")
    return f"-gencode=arch=compute_{number},code=sm_{number}"


def resources(log: str) -> tuple[Kernel, ...]:
    """Registers, shared memory, stack and spills from ptxas -v, one Kernel an entry function."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    entries: list[str] = []
    for line in log.splitlines():
        if match := _PTXAS_NAME.search(line):
            name = match[1] or match[2]
            if match[1]:
                entries.append(name)
        elif match := _PTXAS_STACK.search(line):
            spill = int(match[2]) + int(match[3])
            found.setdefault(name, {}).update(stack_bytes=int(match[1]), spill_bytes=spill)
        elif match := _PTXAS_USED.search(line):
            used = {"registers": int(match[1]), "shared_bytes": int(match[2] or 0)}
            found.setdefault(name, {}).update(used)
    zero = {"registers": 0, "shared_bytes": 0, "stack_bytes": 0, "spill_bytes": 0}
    names = _demangled(entries)
    return tuple(
        Kernel(name=names[entry], **(zero | found.get(entry, {})))
        for entry in dict.fromkeys(entries)
    )


def without_report(log: str) -> str:
    """A compiler log without ptxas's resource lines, which `resources` has read."""
    keep = [
        line for line in log.splitlines()
        if not line.startswith("ptxas info") and not _PTXAS_STACK.search(line)
    ]  # fmt: skip
    return "\n".join(keep).strip()


@functools.cache
def _cxx() -> Toolchain:
    compiler = find_cxx()
    if compiler is None:
        raise CompilerNotFound("no C++ compiler on PATH; install g++ (or clang++), or set CXX")
    return Toolchain(
        backend="cpu",
        compiler=compiler,
        version=_version(compiler),
        flags=CXX_FLAGS,
        target=_cpu_target(),
        suffix=".cpp",
    )


@functools.cache
def _cuda(arch: str) -> Toolchain:
    compiler = find_nvcc()
    if compiler is None:
        raise CompilerNotFound(
            "nvcc is not on PATH; install the CUDA toolkit, or use backend='cpu'"
        )
    libraries = Path(compiler).resolve().parent.parent / "lib64"
    flags = (*NVCC_FLAGS, *NVCC_REPORT, gencode(arch), "-Xlinker", f"-rpath={libraries}")
    return Toolchain(
        backend="cuda",
        compiler=compiler,
        version=_version(compiler),
        flags=flags,
        target=arch,
        suffix=".cu",
    )


def _version(compiler: str) -> str:
    """The line of `--version` that names the release."""
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    lines = [line.strip() for line in run.stdout.splitlines() if line.strip()]
    release = next((line for line in lines if "release" in line), None)
    return release or (lines[0] if lines else compiler)


def _cpu_target() -> str:
    """Machine and instruction-set flags: what -march=native depends on."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", info, re.M)
    return f"{platform.machine()}{flags[1] if flags else ''}"


def _demangled(names: list[str]) -> dict[str, str]:
    """Readable kernel names where c++filt is installed, without their parameter lists."""
    filter_path = shutil.which("c++filt")
    if not names or filter_path is None:
        return {n: n for n in names}
    run = subprocess.run(
        [filter_path], input="\n".join(names), capture_output=True, text=True, check=False
    )
    plain = (line.replace("(anonymous namespace)::", "") for line in run.stdout.splitlines())
    return {n: p.split("(")[0] for n, p in zip(names, plain, strict=False)}
