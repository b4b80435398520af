"""The part of every prompt that stays the same in a run: task, rules, device, problem, form.

It comes first, so that a provider's prefix cache holds it from the second call on.
"""

from __future__ import annotations

from workbench import metrics
from workbench.history import History
from workbench.problems import header, prototype
from workbench.records import Argument, Backend, Environment, Run

FENCES: dict[Backend, str] = {"cuda": "cuda", "cpu": "cpp"}
_FILES: dict[Backend, str] = {"cuda": "kernel.cu", "cpu": "kernel.cpp"}
_LANGUAGES: dict[Backend, str] = {"cuda": "CUDA C++17", "cpu": "C++17 with OpenMP"}
_COMPILERS: dict[Backend, str] = {
    "cuda": "nvcc -std=c++17 -O3 -lineinfo -shared -Xcompiler -fPIC -cudart shared {target}"
    " -include problem.h kernel.cu -o kernel.so",
    "cpu": "g++ -std=c++17 -O3 -march=native -fopenmp -shared -fPIC"
    " -include problem.h kernel.cpp -o kernel.so",
}
# Largest shared memory of a block and what is new, by architecture. Source: CUDA programming guide.
_ARCHITECTURES = {
    "sm_80": "163 KB shared memory a block; cp.async; mma.sync on tf32, bf16, fp16, int8",
    "sm_86": "99 KB shared memory a block; cp.async; mma.sync on tf32, bf16, fp16, int8",
    "sm_89": "99 KB shared memory a block; cp.async; mma.sync, fp8 as well",
    "sm_90a": "227 KB shared memory a block; TMA (cp.async.bulk) with mbarrier, wgmma, setmaxnreg, "
    "thread block clusters with distributed shared memory",
    "sm_100a": "227 KB shared memory a block; TMA with mbarrier, tcgen05 with tensor memory, "
    "thread block clusters",
}
_RULES = """\
* Write the arithmetic yourself. No vendor or third-party library ({libraries}), no PyTorch, no \
Python. The {language} standard library, {allowed} are there.
* Sizes are fixed: use the constants of `namespace problem`; other sizes never come.
* Every launch computes everything from its arguments. Nothing is kept from launch to launch, \
no result is cached or precomputed at load time, and no argument is assumed to have the values \
it had before: inputs change between launches, and so do the addresses.
* Inputs and weights are read only; each output is written whole. Memory comes from the caller: \
define `workspace_bytes()` if you need scratch memory, and find it at `workspace` (4096-byte \
aligned, contents undefined). Do not allocate in `launch`.
* {execution}
* Files, processes, clocks and the evaluator's own memory are none of your business. A kernel \
that looks fast by such means is rejected, whatever its time."""
_JUDGED = """\
* Outputs are compared with a float64 oracle on several input distributions with secret seeds \
(ordinary values, outliers, rows of very different scale, an offset, zeros). {precision}
* Outputs and workspace are filled with rubbish before each test, memory around every buffer is \
guarded, and outputs are compared again after timing.
* Time is one launch, caches cold, inputs rotating, measured in turn with PyTorch eager on the \
same device. Speedup is eager time / your time. Correctness first: a wrong kernel has no time."""


def briefing(history: History) -> str:
    """The system message of every call of a run."""
    run = history.run
    backend, fence = run.backend, FENCES[run.backend]
    parts = [
        f"You are an expert in {_LANGUAGES[backend]} performance. One kernel file shall replace a "
        f"PyTorch reference on one device and run as fast as it can. Ideas come first, in plain "
        "language; each is then implemented, checked and timed, and the fastest kernels are "
        "improved in the next round.",
        f"# Rules\n{_rules(backend)}",
        f"# How a kernel is judged\n{_JUDGED.format(precision=_precision(run))}",
        f"# Device\n{_device(run.environment)}",
        f"# Problem: {run.problem.name}\n```python\n{run.problem.source.strip()}\n```",
        f"# Arguments\n{_arguments(run)}\n{_bound(history)}",
        f"# Form\nThe complete file `{_FILES[backend]}` defines\n```{fence}\n"
        f"{prototype(run.signature, backend)}\n```\nand, only if it needs scratch memory,\n"
        f'```{fence}\nextern "C" size_t workspace_bytes()\n```\nIt is built by '
        f"`{compile_command(run.environment)}`; `problem.h` is included already:\n```{fence}\n"
        f"{header(run.signature, backend).strip()}\n```",
    ]
    return "\n\n".join(parts)


def compile_command(environment: Environment) -> str:
    """How a kernel file is built, as the prompt shows it."""
    number = environment.arch.removeprefix("sm_")
    target = f"-gencode=arch=compute_{number},code=sm_{number}"
    return _COMPILERS[environment.backend].format(target=target)


def _rules(backend: Backend) -> str:
    if backend == "cuda":
        return _RULES.format(
            language="C++",
            libraries="cuBLAS, cuDNN, CUTLASS, CUB, Thrust",
            allowed="the CUDA runtime, its headers for half and bf16, and inline PTX",
            execution="`launch` puts its kernels on `stream` and returns: it does not "
            "synchronize, starts no other stream, and copies nothing to the host. More than 48 KB "
            "of dynamic shared memory needs cudaFuncSetAttribute before the launch.",
        )
    return _RULES.format(
        language="C++",
        libraries="BLAS, MKL, oneDNN, Eigen",
        allowed="OpenMP and the intrinsics of <immintrin.h> (or <arm_neon.h>)",
        execution="`launch` returns when the outputs are written. Threads come from OpenMP.",
    )


def _precision(run: Run) -> str:
    if run.settings.precision == "reference":
        return (
            "The error may be as large as the reference's own precision class allows: 5e-6 of the "
            "norm for fp32, 1e-3 for tf32 and fp16, 8e-3 for bf16."
        )
    return f"The error of precision class {run.settings.precision} is allowed."


def _device(environment: Environment) -> str:
    e = environment
    gpu = e.backend == "cuda"
    rates = ", ".join(f"{dtype} {rate:.3g} TFLOP/s" for dtype, rate in e.tflops)
    lines = [
        f"* {e.device} ({e.arch}), {e.cores} {'multiprocessors' if gpu else 'threads'}",
        f"* {e.memory_bytes / 2**30:.0f} GiB memory, {e.cache_bytes / 2**20:.0f} MiB "
        f"{'L2 cache' if gpu else 'last-level cache'}",
        f"* measured here: {e.bandwidth_gbs:.3g} GB/s copy (read + written)"
        + (f"; matrix products {rates}" if rates else ""),
        f"* {e.compiler}",
    ]
    if gpu and (known := _ARCHITECTURES.get(e.arch)):
        lines.insert(1, f"* {known}")
    return "\n".join(lines)


def _arguments(run: Run) -> str:
    rows = [_argument(a) for a in run.signature.arguments]
    return "\n".join(["| name | role | dtype | shape |", "| --- | --- | --- | --- |", *rows])


def _argument(argument: Argument) -> str:
    shape = " × ".join(str(n) for n in argument.shape) or "scalar"
    return f"| {argument.name} | {argument.role} | {argument.dtype} | {shape} |"


def _bound(history: History) -> str:
    """The least time by bytes and by arithmetic, and which of the two decides."""
    signature, environment = history.run.signature, history.run.environment
    by_bytes = signature.bytes / (environment.bandwidth_gbs * 1e3)
    memory = by_bytes >= metrics.floor_us(signature, environment)
    flop = f", and {signature.flop / 1e9:.3g} GFLOP of products" if signature.flop else ""
    return (
        f"\nContiguous, row-major. Every tensor once is {signature.bytes / 1e6:.4g} MB{flop}: no "
        f"kernel can take less than {micros(history.floor_us)} here (bound by "
        f"{'memory' if memory else 'arithmetic'})."
    )


def micros(us: float) -> str:
    """A time with three digits, e.g. "182 µs", "1.52 ms"."""
    value, unit = (us, "µs") if us < 1000 else (us / 1000, "ms")
    return f"{_digits(value, 3)} {unit}"


def ratio(value: float) -> str:
    """A speedup with two digits, so that noise does not change a prompt, e.g. "2.3x", "12x"."""
    return f"{_digits(value, 2)}x"


def _digits(value: float, digits: int) -> str:
    text = f"{value:#.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text.rstrip(".")
