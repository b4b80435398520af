"""The judge's device: reference blocks, facts about the machine, how the kernel file is built."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from workbench.evaluation import isolation, toolchain
from workbench.evaluation.compiler import cache_folder
from workbench.records import Backend, DeviceError, Environment

_SLEEP_CYCLES = 400_000  # about 0.2 ms: launches queue up behind it


class Device(Protocol):
    """What differs between a CPU and a GPU, on the judge's side."""

    backend: Backend
    torch_device: torch.device
    runtime: str | None  # path of the CUDA runtime the runner uses

    def block(self, launch: Callable[[int], object], first: int, count: int) -> float:
        """Seconds of launch(first), launch(first + 1), ...; all work finished."""
        ...

    def synchronize(self) -> None:
        """Wait until this process's own work on the device is done."""
        ...

    def free_bytes(self) -> int: ...

    def cache_bytes(self) -> int: ...

    def environment(self) -> Environment:
        """Facts about this machine; measures its bandwidth and matrix rates."""
        ...


def open_device(backend: Backend) -> Device:
    """The device of a backend; raises DeviceError where there is none."""
    return Gpu() if backend == "cuda" else Cpu()


class Cpu:
    backend: Backend = "cpu"
    runtime: str | None = None

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")
        _keep_freed_memory()

    def block(self, launch: Callable[[int], object], first: int, count: int) -> float:
        started = time.perf_counter()
        for turn in range(first, first + count):
            launch(turn)
        return time.perf_counter() - started

    def synchronize(self) -> None:
        return

    def free_bytes(self) -> int:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        return int(match[1]) * 1024 if match else 4 << 30

    def cache_bytes(self) -> int:
        sizes = [
            int(text[:-1]) * 1024
            for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
            if (text := path.read_text().strip()).endswith("K")
        ]
        return max(sizes, default=32 << 20)

    def environment(self) -> Environment:
        info = Path("/proc/cpuinfo").read_text()
        name = re.search(r"model name\s*:\s*(.+)", info)
        return Environment(
            backend="cpu",
            device=name[1].strip() if name else platform.processor() or platform.machine(),
            cores=torch.get_num_threads(),
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            cache_bytes=self.cache_bytes(),
            bandwidth_gbs=_bandwidth(self, 128 << 20),
            tflops=(("float32", _matrix_rate(self, torch.float32, 1024)),),
            arch=platform.machine(),
            driver=None,
            torch=torch.__version__,
            compiler=toolchain.find("cpu").version,
            sandbox=isolation.probe(),
        )


class Gpu:
    backend: Backend = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise DeviceError(
                "torch sees no CUDA device; use backend='cpu', or see `workbench doctor`"
            )
        self.torch_device = torch.device("cuda", 0)
        torch.zeros(1, device=self.torch_device)
        self.runtime: str | None = _loaded("libcudart.so")

    def block(self, launch: Callable[[int], object], first: int, count: int) -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(_SLEEP_CYCLES)
        start.record()
        for turn in range(first, first + count):
            launch(turn)
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def free_bytes(self) -> int:
        return int(torch.cuda.mem_get_info()[0])

    def cache_bytes(self) -> int:
        return int(torch.cuda.get_device_properties(0).L2_cache_size)

    def environment(self) -> Environment:
        facts = torch.cuda.get_device_properties(0)
        arch = f"sm_{facts.major}{facts.minor}" + ("a" if facts.major >= 9 else "")
        return Environment(
            backend="cuda",
            device=facts.name,
            cores=facts.multi_processor_count,
            memory_bytes=facts.total_memory,
            cache_bytes=self.cache_bytes(),
            bandwidth_gbs=_bandwidth(self, 2 << 30),
            tflops=self._rates(),
            arch=arch,
            driver=_driver(),
            torch=torch.__version__,
            compiler=toolchain.find("cuda", arch).version,
            sandbox=isolation.probe(),
        )

    def _rates(self) -> tuple[tuple[str, float], ...]:
        rates = [
            ("float32", _matrix_rate(self, torch.float32, 4096)),
            ("float16", _matrix_rate(self, torch.float16, 8192)),
            ("bfloat16", _matrix_rate(self, torch.bfloat16, 8192)),
        ]
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        rates.append(("tfloat32", _matrix_rate(self, torch.float32, 8192)))
        torch.backends.cuda.matmul.allow_tf32 = before
        return tuple(rates)


def _bandwidth(device: Device, nbytes: int) -> float:
    """GB/s of a large copy (bytes read and written) or of a large sum, whichever is more."""
    source = torch.ones(nbytes // 4, dtype=torch.float32, device=device.torch_device)
    target = torch.empty_like(source)
    copy = _best(device, lambda _: target.copy_(source))
    total = _best(device, lambda _: source.sum())
    return best_seen(device.backend, "bandwidth", max(2 * nbytes / copy, nbytes / total) / 1e9)


def _matrix_rate(device: Device, dtype: torch.dtype, size: int) -> float:
    """TFLOP/s of a square matrix product on random data, best of four."""
    a = torch.randn(size, size, device=device.torch_device).to(dtype)
    b = torch.randn(size, size, device=device.torch_device).to(dtype)
    rate = 2 * size**3 / _best(device, lambda _: a @ b) / 1e12
    tf32 = dtype is torch.float32 and torch.backends.cuda.matmul.allow_tf32
    return best_seen(device.backend, "tfloat32" if tf32 else str(dtype), rate)


def _best(device: Device, launch: Callable[[int], object]) -> float:
    """Seconds of one launch, the best of six pairs after a warm-up."""
    device.block(launch, 0, 2)
    return min(device.block(launch, 0, 2) / 2 for _ in range(6))


def best_seen(backend: Backend, rate: str, measured: float) -> float:
    """The highest value of a rate this machine ever showed: a busy moment lowers no floor.

    Kept in the cache folder, by device and torch version.
    """
    name = torch.cuda.get_device_name(0) if backend == "cuda" else f"{platform.node()} cpu"
    file = cache_folder() / "rates" / f"{name} {torch.__version__}.json".replace("/", "_")
    try:
        known: dict[str, float] = json.loads(file.read_text())
    except (OSError, ValueError):
        known = {}
    known[rate] = max(measured, known.get(rate, 0.0))
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known))
        fresh.replace(file)
    return known[rate]


def _keep_freed_memory() -> None:
    """Have glibc keep freed blocks, so that PyTorch's fresh outputs cost no page faults.

    A kernel file writes into buffers that exist; without this the comparison would charge the
    reference for the operating system's zeroing of new pages. (On a GPU PyTorch's caching
    allocator does the same.)
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        trim_threshold, mmap_max = -1, -4
        mallopt(mmap_max, 0)
        mallopt(trim_threshold, 2**31 - 1)


def _loaded(name: str) -> str | None:
    """Path of a library that is already in this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        if name in path:
            return path
    return None


def _driver() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", "0"]
    try:
        run = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() or None
