"""What `make` says and does before it installs anything."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = (
    "sh",
    "echo",
    "test",
    "head",
    "id",
    "touch",
    "mkdir",
    "printf",
    "make",
    "env",
    "rm",
    "find",
)

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what make reads, far from the real environment."""
    for name in ("Makefile", "requirements.lock", "requirements-test.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with plain tools alone: no Python, no compiler, no GPU."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        if path := shutil.which(name):
            (folder / name).symlink_to(path)
    return folder


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!{shutil.which('sh')}\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def make(tree: Path, *targets: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "CXX")
    }
    if path is not None:
        environment["PATH"] = str(path)
    return subprocess.run(
        [shutil.which("make") or "make", "--no-print-directory", *targets],
        cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def installed(tree: Path) -> None:
    """As if `make setup` had run: the stamps, and programs that say what they are called with."""
    folder = tree / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("workbench", "jupyter"):
        program(folder, name, f'echo "{name} $*"')
    for name in ("created", "installed", "installed-test"):
        (tree / ".venv" / name).touch()


def test_make_alone_lists_the_targets(tree: Path) -> None:
    run = make(tree)
    assert run.returncode == 0
    assert all(f"make {target}" in run.stdout for target in ("lab", "demo", "test", "clean"))


def test_a_second_run_installs_nothing(tree: Path) -> None:
    installed(tree)
    run = make(tree, "demo")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "workbench demo"
    assert "pip" not in run.stdout


def test_a_newer_lock_is_installed(tree: Path) -> None:
    installed(tree)
    later = (tree / ".venv" / "installed").stat().st_mtime + 10
    os.utime(tree / "requirements.lock", (later, later))
    assert "pip install" in make(tree, "--dry-run", "setup").stdout


def test_lab_opens_the_quick_start(tree: Path) -> None:
    installed(tree)
    run = make(tree, "lab", "LAB_ARGS=--no-browser")
    assert run.stdout.splitlines()[-1].startswith("jupyter lab")
    assert run.stdout.splitlines()[-1].endswith("--no-browser notebooks/01_quickstart.ipynb")


def test_a_missing_compiler_is_named(tree: Path, tools: Path) -> None:
    run = make(tree, "setup", path=tools)
    assert run.returncode != 0
    assert "no C++ compiler: install g++" in run.stdout


def test_a_missing_python_is_named(tree: Path, tools: Path) -> None:
    program(tools, "g++", "exit 0")
    run = make(tree, "setup", path=tools)
    assert run.returncode != 0
    assert "no Python 3.11 or later found" in run.stdout


def test_a_python_that_does_not_run_is_passed_over(tree: Path, tools: Path) -> None:
    """Version managers put names on PATH that answer only with an error."""
    program(tools, "g++", "exit 0")
    program(tools, "python3.13", "echo 'command not found' >&2; exit 127")
    program(tools, "python3.12", "exit 0")
    run = make(tree, "--dry-run", "setup", path=tools)
    assert "python3.12 -m venv" in run.stdout


def test_an_old_python_is_refused(tree: Path, tools: Path) -> None:
    program(tools, "g++", "exit 0")
    program(tools, "python3.9", "exit 1")
    run = make(tree, "setup", "PYTHON=python3.9", path=tools)
    assert run.returncode != 0
    assert "python3.9 is not Python 3.11 or later" in run.stdout


def test_without_a_gpu_it_says_that_the_cpu_is_used(tree: Path, tools: Path) -> None:
    run = make(tree, "machine", path=tools)
    assert run.stdout.strip() == "no NVIDIA GPU with nvcc found: C++ kernels on the CPU"


def test_with_a_gpu_and_nvcc_it_names_the_gpu(tree: Path, tools: Path) -> None:
    program(tools, "nvidia-smi", "echo 'NVIDIA H200'")
    program(tools, "nvcc", "exit 0")
    run = make(tree, "machine", path=tools)
    assert run.stdout.strip() == "NVIDIA H200 with nvcc found: CUDA kernels on the GPU"
