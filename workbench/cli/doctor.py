"""What this machine has for the workbench, what it lacks, and the way to mend it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from workbench.evaluation import isolation, toolchain
from workbench.llm.presets import presets
from workbench.records import Backend, WorkbenchError

State = Literal["found", "missing", "optional"]
_PACKAGES = {
    "openai": "models that are asked over the network",
    "pandas": "frames and figures",
    "matplotlib": "figures in print",
    "plotly": "figures on screen",
    "jupyterlab": "the notebooks",
    "anywidget": "the editor in a notebook",
    "ninja": "KernelBench modules",
}
_MARKS: dict[State, str] = {"found": "ok", "missing": "MISSING", "optional": "-"}
_SMI_FIELDS = (
    "driver_version memory.total memory.used clocks.sm clocks.max.sm clocks_event_reasons.active"
).split()
_TORCH = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "version": torch.__version__,
    "built_for": torch.version.cuda,
    "threads": torch.get_num_threads(),
    "device": torch.cuda.get_device_name(0) if cuda else None,
}))
"""
_SANDBOX = """
import json
from workbench.evaluation import isolation
print(json.dumps(isolation.probe()))
"""
_KERNELS: dict[Backend, str] = {
    "cpu": 'extern "C" void launch(float* y) {\n'
    "#pragma omp parallel for\n for (int i = 0; i < 8; ++i) y[i] = 1; }\n",
    "cuda": "__global__ void one(float* y) { *y = 1; }\n"
    'extern "C" void launch(float* y) { one<<<1, 1>>>(y); }\n',
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for; `mend` is what to do where it was not found."""

    name: str
    state: State
    words: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    findings: tuple[Finding, ...]

    def ready(self, backend: Backend) -> bool:
        """Whether kernels of this backend can be built, run and timed here."""
        needed = (
            {"torch", "C++ compiler"}
            if backend == "cpu"
            else {"torch", "GPU", "nvcc", "torch sees the GPU"}
        )
        return needed <= {f.name for f in self.findings if f.state == "found"}


def examine() -> Report:
    """Look for everything, each in its own way; nothing here needs torch in this process."""
    torch = _child(_TORCH)
    gpu = _nvidia_smi()
    findings = [
        Finding("python", "found", f"{platform.python_version()} at {sys.executable}"),
        _system(),
        _memory(),
        _torch(torch),
        _compiler("cpu"),
        *_cuda(torch, gpu),
        _sandbox(),
        *(_package(name, use) for name, use in _PACKAGES.items()),
        _browser(),
        _keys(os.environ),
    ]
    return Report(tuple(findings))


def as_json(report: Report) -> dict[str, object]:
    return {
        "ready": {"cpu": report.ready("cpu"), "cuda": report.ready("cuda")},
        "findings": [asdict(f) for f in report.findings],
    }


def as_text(report: Report) -> str:
    width = max(len(f.name) for f in report.findings)
    lines = []
    for finding in report.findings:
        lines.append(f"{_MARKS[finding.state]:>7}  {finding.name:<{width}}  {finding.words}")
        if finding.mend:
            lines.append(f"{'':>9}{'':<{width}}  -> {finding.mend}")
    if report.ready("cuda"):
        lines += ["", "Ready: CUDA kernels on the GPU, C++ kernels on the CPU."]
    elif report.ready("cpu"):
        lines += ["", "Ready: C++ kernels on the CPU."]
    else:
        lines += ["", "Not ready: mend what is marked MISSING."]
    return "\n".join(lines)


# -- the machine -------------------------------------------------------------------------


def _system() -> Finding:
    words = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} CPUs"
    if platform.system() == "Linux":
        return Finding("system", "found", words)
    mend = "candidates are isolated and timed on Linux; elsewhere nothing is tested"
    return Finding("system", "optional", words, mend)


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 2**30
    except (ValueError, OSError):
        return Finding("memory", "optional", "size unknown")
    disk = shutil.disk_usage(tempfile.gettempdir()).free / 2**30
    return Finding(
        "memory", "found", f"{total:.0f} GiB, {free:.0f} free; {disk:.0f} GiB of scratch disk"
    )


def _sandbox() -> Finding:
    powers = _child(_SANDBOX)
    if not isinstance(powers, list):
        return Finding("sandbox", "optional", f"could not be probed: {powers}")
    lacking = {
        "no network": "user namespaces are off: a candidate could use the network",
        "landlock: writes only to its scratch folder": "no Landlock: a candidate could write files",
    }
    mend = "; ".join(words for power, words in lacking.items() if power not in powers)
    return Finding("sandbox", "optional" if mend else "found", ", ".join(powers), mend)


# -- compilers and devices ---------------------------------------------------------------


def _torch(probe: object) -> Finding:
    if not isinstance(probe, dict):
        mend = "install it: make setup, or pip install torch"
        return Finding("torch", "missing", str(probe), mend)
    built = f"built for CUDA {probe['built_for']}" if probe["built_for"] else "built without CUDA"
    words = f"{probe['version']}, {built}, {probe['threads']} threads"
    return Finding("torch", "found", words)


def _compiler(backend: Backend) -> Finding:
    name = "C++ compiler" if backend == "cpu" else "nvcc"
    absent: State = "missing" if backend == "cpu" else "optional"
    try:
        chain = toolchain.find(backend)
    except WorkbenchError as error:
        return Finding(name, absent, "none", str(error))
    with tempfile.TemporaryDirectory() as folder:
        source, header = Path(folder, f"trial{chain.suffix}"), Path(folder, "empty.h")
        source.write_text(_KERNELS[backend])
        header.touch()
        command = chain.command(source.name, header.name, "trial.so")
        started = time.perf_counter()
        error_text = _failure(command, folder)
    words = f"{chain.version} at {chain.compiler}"
    if error_text:
        mend = f"it does not build a kernel: {error_text}"
        return Finding(name, absent, words, mend)
    return Finding(
        name, "found", f"{words}; a small kernel in {time.perf_counter() - started:.1f} s"
    )


def _cuda(torch: object, gpu: list[str] | None) -> list[Finding]:
    found = [_gpu(gpu), _compiler("cuda")]
    if gpu is None:
        return found
    device = torch.get("device") if isinstance(torch, dict) else None
    if device:
        found.append(Finding("torch sees the GPU", "found", str(device)))
    else:
        mend = "install a CUDA build of torch, or use the one of another Python: make TORCH=system"
        found.append(Finding("torch sees the GPU", "missing", "no", mend))
    return found


def _gpu(devices: list[str] | None) -> Finding:
    if devices is None and shutil.which("nvidia-smi"):
        mend = "run nvidia-smi to see why; C++ kernels on the CPU need no GPU"
        return Finding("GPU", "optional", "nvidia-smi is installed but finds no GPU", mend)
    if devices is None:
        mend = "none is needed: C++ kernels run on the CPU"
        return Finding("GPU", "optional", "no NVIDIA GPU", mend)
    return Finding("GPU", "found", "; ".join(devices))


def _nvidia_smi() -> list[str] | None:
    """One description a GPU: name, driver, memory, clocks, why they are held down."""
    names = _query("name")
    if not names:
        return None
    columns = {field: _query(field) or ["?"] * len(names) for field in _SMI_FIELDS}
    return [
        f"{name}, driver {columns['driver_version'][i]}, "
        f"{columns['memory.used'][i]} of {columns['memory.total'][i]} used, "
        f"SM clock {columns['clocks.sm'][i]} of {columns['clocks.max.sm'][i]}, "
        f"throttle reasons {columns['clocks_event_reasons.active'][i]}"
        for i, name in enumerate(names)
    ]


def _query(field: str) -> list[str]:
    """One column of nvidia-smi; older drivers lack some, so each is asked for by itself."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in run.stdout.splitlines()] if run.returncode == 0 else []


# -- packages, browser, keys -------------------------------------------------------------


def _package(name: str, use: str) -> Finding:
    try:
        return Finding(name, "found", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "optional", "not installed", f"needed for {use}: pip install {name}")


def _browser() -> Finding:
    path = shutil.which("chromium")
    if path:
        return Finding("chromium", "found", path)
    mend = "only the browser tests need it (Debian: apt install chromium)"
    return Finding("chromium", "optional", "not on PATH", mend)


def _keys(environment: Mapping[str, str]) -> Finding:
    """Which of the keys that the presets name are set; never a value."""
    names = [preset.api_key_env for preset in presets().values() if preset.api_key_env]
    present = [name for name in dict.fromkeys(names) if environment.get(name)]
    if present:
        return Finding("API keys", "found", ", ".join(present))
    mend = f"set {' or '.join(dict.fromkeys(names))}; replays and local servers need none"
    return Finding("API keys", "optional", "none set", mend)


# -- child processes ---------------------------------------------------------------------


def _child(program: str) -> object:
    """What a Python program prints as JSON, or one line (a str) on why it did not."""
    package = str(Path(__file__).resolve().parents[2])
    environment = isolation.clean_environment() | {"PYTHONPATH": package}
    command = [sys.executable, "-c", program]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return "no answer in 120 s"
    if run.returncode != 0:
        return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
    return json.loads(run.stdout.splitlines()[-1])


def _failure(command: list[str], folder: str) -> str:
    """The first error line of a command that failed; "" for one that worked."""
    try:
        run = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if run.returncode == 0:
        return ""
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no message")
