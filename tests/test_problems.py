"""Problem files are read, resized and turned into prototypes without being run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import histories
import pytest

from workbench import problems
from workbench.problems import load_problem, load_problems
from workbench.records import Argument, Problem, ProblemError, Signature

SOURCE = histories.REFERENCE


def test_a_folder_yields_its_problems_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10_b.py", "2_a.py", "softmax.py"):
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    (tmp_path / "gelu").mkdir()
    (tmp_path / "gelu" / "ref.py").write_text(SOURCE + "\n")
    found = load_problems(tmp_path)
    assert list(found) == ["2_a", "10_b", "gelu", "softmax"]
    assert repr(found) == "<4 problems: 2_a, 10_b, gelu, softmax>"


def test_a_name_that_is_not_there_is_told_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text(SOURCE)
    found = load_problems(tmp_path)
    assert "sofmax" not in found
    with pytest.raises(ProblemError, match="no problem named 'sofmax'; there are: softmax"):
        found["sofmax"]


def test_two_different_problems_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder, text in (("a", SOURCE), ("b", SOURCE + "\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "softmax.py").write_text(text)
    with pytest.raises(ProblemError, match="'softmax'"):
        load_problems(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"class Model: pass\n", "no get_inputs, get_init_inputs"),
        (b"def f(:\n", "is not Python"),
        (b"x = '\0'\n", "is not Python"),
        (b"# \xe9\n", "is not UTF-8"),
    ],
)
def test_a_file_that_is_no_problem_says_why(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.py").write_bytes(content)
    with pytest.raises(ProblemError, match=words):
        load_problem(tmp_path / "x.py")


def test_a_path_that_is_not_there_is_a_problem_error(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="neither a file nor a folder"):
        load_problems(tmp_path / "no")
    with pytest.raises(ProblemError, match="cannot read"):
        load_problem(tmp_path / "no.py")


def test_constants_are_integers_of_the_module_only() -> None:
    problem = Problem(
        name="p",
        source="N = 2048 * 2\nM = N // 4\nK = 2 ** 10\nscale = 0.5\nflag = True\n"
        "L = 3\nL = len('abc')\ndef f():\n    inner = 3\n",
    )
    assert problems.constants(problem) == {"N": 4096, "M": 1024, "K": 1024}


def test_resizing_replaces_only_the_number_and_says_so_in_the_name() -> None:
    problem = Problem(name="linear", source="é = 'é'; N = 64 * 2; M = 7  # sizes\nx = N\n")
    small = problems.resized(problem, {"N": 8, "M": 12345})
    assert small.source == "é = 'é'; N = 8; M = 12345  # sizes\nx = N\n"
    assert small.name == "linear[N=8,M=12345]"
    assert problems.resized(problem, {}) is problem


def test_resizing_finds_its_line_after_an_odd_line_separator() -> None:
    problem = Problem(name="p", source="text = '\x0c\u2028'\nN = 64\n")
    assert problems.resized(problem, {"N": 8}).source.endswith("'\nN = 8\n")


def test_resizing_an_unknown_constant_names_the_known_ones() -> None:
    problem = Problem(name="linear", source=SOURCE)
    with pytest.raises(ProblemError, match="no integer constant 'row'; it has: rows=64"):
        problems.resized(problem, {"row": 1})


def test_a_problem_may_narrow_its_distributions() -> None:
    assert problems.distributions(Problem(name="p", source=SOURCE)) is None
    narrowed = Problem(name="p", source="DISTRIBUTIONS = ('given', 'normal')\n")
    assert problems.distributions(narrowed) == ("given", "normal")


def test_the_prototype_is_inputs_weights_outputs_workspace_and_stream() -> None:
    assert problems.prototype(histories.SIGNATURE, "cuda") == (
        'extern "C" void launch(const float* x, const float* linear_weight, '
        "const float* linear_bias, float* out, void* workspace, cudaStream_t stream)"
    )


SCALARS = Signature(
    arguments=(
        Argument(name="x", role="input", dtype="bfloat16", shape=(2, 3)),
        Argument(name="n", role="scalar", dtype="int64", shape=()),
        Argument(name="out", role="output", dtype="float16", shape=(2,)),
    ),
    constants=(("rows", 2),),
    bytes=16,
    flop=0,
)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_header_compiles_and_holds_the_sizes(tmp_path: Path) -> None:
    file, header = tmp_path / "kernel.cpp", tmp_path / "problem.h"
    header.write_text(problems.header(SCALARS, "cpu"))
    file.write_text(
        "static_assert(problem::rows == 2 && problem::x_dim1 == 3 && problem::x_numel == 6);\n"
        + problems.prototype(SCALARS, "cpu")
        + " {}\n"
    )
    command = ["g++", "-std=c++17", "-Wall", "-include", header, "-c", file, "-o", "/dev/null"]
    subprocess.run(command, check=True)


def test_halves_have_the_backends_own_types() -> None:
    assert problems.c_type("bfloat16", "cuda") == "__nv_bfloat16"
    assert problems.c_type("bfloat16", "cpu") == "uint16_t"
    assert "cuda_bf16.h" in problems.header(SCALARS, "cuda")
    with pytest.raises(ProblemError, match="complex64"):
        problems.c_type("complex64", "cpu")
