"""Compiler messages are found where the compilers of both backends put them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbench.notebook.diagnostics import Diagnostic, parse

CUDA = """\
#define BODY(n) x[i] = n * missing;
__global__ void k(float* x) {
  int i = threadIdx.x, unused;
\ttile[i] = yy;
  BODY(2)
  __shared__ int t; t = zz;
}
"""
NVCC_LOG = """\
kernel.cu(4): error: identifier "yy" is undefined
   tile[i] = yy;
             ^

kernel.cu(5): error: identifier "missing" is undefined
    x[i] = 2 * missing;
               ^

kernel.cu(6): error: identifier "zz" is undefined
    __attribute__((shared)) int t; t = zz;
                                       ^

kernel.cu(3): warning #177-D: variable "unused" was declared but never referenced
    int i = threadIdx.x, unused;
                         ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

3 errors detected in the compilation of "kernel.cu".
"""  # nvcc 13.5
PTXAS_LOG = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Used 10 registers, used 0 barriers
"""


def test_nvcc_messages_have_line_severity_and_code() -> None:
    found = [(d.line, d.severity, d.message) for d in parse(NVCC_LOG, CUDA)]
    assert found == [
        (4, "error", 'identifier "yy" is undefined'),
        (5, "error", 'identifier "missing" is undefined'),
        (6, "error", 'identifier "zz" is undefined'),
        (3, "warning", 'variable "unused" was declared but never referenced [#177-D]'),
    ]


def test_nvcc_carets_give_the_column_unless_macros_moved_them() -> None:
    columns = [d.column for d in parse(NVCC_LOG, CUDA)]
    assert columns == [CUDA.splitlines()[3].index("yy") + 1, None, None, 24]


def test_notes_on_resources_are_no_messages() -> None:
    assert parse(PTXAS_LOG, CUDA) == []


@pytest.mark.parametrize("path", ["kernel.cpp", "some folder/kernel.cpp"])
def test_messages_of_the_real_host_compiler(tmp_path: Path, path: str) -> None:
    source = 'extern "C" void launch(float* x) {\n  int unused;\n  x[0] = yy;\n}\n'
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(source)
    command = ["g++", "-Wall", "-fsyntax-only", path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = parse(done.stderr, source)
    assert [(d.file, d.line, d.column, d.severity) for d in found] == [
        (path, 3, 10, "error"),
        (path, 2, 7, "warning"),
    ]


def test_a_message_without_a_column() -> None:
    assert parse("a.cpp:3: error: no main", "") == [
        Diagnostic(file="a.cpp", line=3, column=None, severity="error", message="no main")
    ]
