"""Building kernel files: words, limits, cache, resources."""

from __future__ import annotations

import ctypes
import shutil
import threading
import time
from pathlib import Path

import pytest

from workbench.evaluation import toolchain
from workbench.evaluation.compiler import Compiler, first_error, shortened
from workbench.problems import header
from workbench.records import Argument, Signature

SIGNATURE = Signature(
    arguments=(
        Argument(name="x", role="input", dtype="float32", shape=(4, 8)),
        Argument(name="out", role="output", dtype="float32", shape=(4, 8)),
    ),
    constants=(("rows", 4),),
    bytes=256,
    flop=0,
)
COPY = """void launch(const float* x, float* out, void* workspace) {
    for (long i = 0; i < problem::x_numel; i++) out[i] = x[i];
}"""
HEADER = header(SIGNATURE, "cpu")


@pytest.fixture
def compiler(tmp_path: Path) -> Compiler:
    return Compiler(toolchain.find("cpu"), tmp_path / "cache")


def test_a_kernel_file_becomes_a_library_with_launch(compiler: Compiler) -> None:
    built = compiler.build(COPY, HEADER, timeout_s=60)
    assert built.library is not None
    assert ctypes.CDLL(str(built.library)).launch


def test_the_same_text_is_compiled_once(compiler: Compiler) -> None:
    first = compiler.build(COPY, HEADER, timeout_s=60)
    again = compiler.build(COPY, HEADER, timeout_s=60)
    assert not first.build.cached
    assert again.build.cached
    assert again.library == first.library


def test_a_failure_is_cached_with_its_words(compiler: Compiler) -> None:
    first = compiler.build("int launch;", HEADER, timeout_s=60)
    again = compiler.build("int launch;", HEADER, timeout_s=60)
    assert first.library is again.library is None
    assert again.build.cached
    assert again.build.log == first.build.log != ""


def test_a_wrong_prototype_is_a_compile_error_that_shows_both(compiler: Compiler) -> None:
    source = 'extern "C" void launch(float* x, float* out, void* workspace) {}'
    built = compiler.build(source, HEADER, timeout_s=60)
    assert built.library is None
    assert "conflicting declaration" in first_error(built.build.log)
    assert "const float*" in built.build.log


def test_messages_name_the_kernel_file_and_no_temporary_folder(compiler: Compiler) -> None:
    built = compiler.build("\n\nnonsense;", HEADER, timeout_s=60)
    assert "kernel.cpp:3:1: error" in built.build.log
    assert "workbench-build-" not in built.build.log


def test_a_compile_bomb_is_stopped_and_not_cached(compiler: Compiler) -> None:
    bomb = "template<long n> struct A { static const long v = A<n+1>::v + A<n+2>::v; };\n"
    bomb = f'#pragma GCC diagnostic ignored "-Wall"\n{bomb}long launch_ = A<0>::v;\n{COPY}'
    started = time.monotonic()
    built = compiler.build("#include __FILE__\n" * 2 + bomb, HEADER, timeout_s=0.3)
    assert built.library is None
    assert time.monotonic() - started < 5
    if built.timed_out:
        assert "was stopped after 0.3 s" in built.build.log
        assert not list(compiler.cache.glob("*"))


def test_a_build_can_be_cancelled(compiler: Compiler) -> None:
    slow = "#include <regex>\n#include <map>\n#include <iostream>\n" + COPY
    threading.Timer(0.2, compiler.cancel).start()
    started = time.monotonic()
    built = compiler.build(slow, HEADER, timeout_s=60)
    assert built.library is None or time.monotonic() - started < 0.5


def test_a_long_log_is_shortened_by_lines() -> None:
    text = "\n".join(f"line {i} " + "x" * 80 for i in range(1000))
    short = shortened(text)
    kept = short.count("\n")
    assert short.endswith(f"[{1000 - kept} lines omitted]")
    assert shortened("short") == "short"


def test_resources_are_read_from_the_assembler_report() -> None:
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4softPKfPf' for 'sm_90a'
ptxas info    : Function properties for _Z4softPKfPf
    216 bytes stack frame, 300 bytes spill stores, 252 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 216 bytes cumulative stack size, 128 bytes smem
"""
    (kernel,) = toolchain.resources(log)
    assert kernel.registers == 64
    assert kernel.shared_bytes == 128
    assert kernel.stack_bytes == 216
    assert kernel.spill_bytes == 552
    assert toolchain.without_report(log) == ""


@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="nvcc is not installed")
def test_nvcc_builds_a_kernel_file_without_a_gpu(tmp_path: Path) -> None:
    source = """__global__ void copy(const float* x, float* out) {
        out[blockIdx.x * 8 + threadIdx.x] = x[blockIdx.x * 8 + threadIdx.x];
    }
    extern "C" void launch(const float* x, float* out, void*, cudaStream_t stream) {
        copy<<<problem::rows, 8, 0, stream>>>(x, out);
    }"""
    compiler = Compiler(toolchain.find("cuda", "sm_90a"), tmp_path)
    built = compiler.build(source, header(SIGNATURE, "cuda"), timeout_s=120)
    assert built.library is not None, built.build.log
    assert [k.name for k in built.build.kernels] == [
        "copy" if shutil.which("c++filt") else "_Z4copyPKfPf"
    ]


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed")
def test_kernels_in_an_anonymous_namespace_have_names() -> None:
    log = """ptxas info    : Compiling entry function '_ZN12_GLOBAL__N_17softmaxEPf' for 'sm_90a'
ptxas info    : Used 8 registers
"""
    assert [k.name for k in toolchain.resources(log)] == ["softmax"]
