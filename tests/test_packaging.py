"""What is installed, pinned, published and imported, held against each other."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import workbench
from workbench.cli import arguments

ROOT = Path(__file__).parents[1]
PUBLIC = """
Problem Category Status Settings WorkbenchError load_problem load_problems resized History Store
OpenAI Replay Human LocalExecutor default_backend Beam Search __version__
""".split()
HEAVY = ("torch", "openai", "plotly", "matplotlib", "pandas", "numpy", "IPython", "ipywidgets")
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
NOT_IN_PYPROJECT = {"python", "pip", "make", "cxx-compiler"}
# Written so that this file does not hold what it looks for.
FORBIDDEN = re.compile(
    r"/wo" r"rk/(?:main|shared|scratch)|/opt/(?:py" r"pi|wheels)|/ro" r"ot/|/ho" r"me/\w"
    r"|py" r"pi\.org|files\.python" r"hosted|registry\.npm" r"js|deb\.deb" r"ian\.org"
)  # fmt: skip


def requirements(*, group: str | None = None) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = project["optional-dependencies"][group] if group else project["dependencies"]
    return [Requirement(text) for text in texts]


def pins(name: str) -> dict[str, Version]:
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith(("#", "-r ")):
            pin = Requirement(line)
            (specifier,) = pin.specifier
            assert specifier.operator == "==", f"{name}: {line!r} is not pinned"
            assert "@" not in line, f"{name}: {line!r} names an address"
            assert "+" not in line, f"{name}: {line!r} names a local build"
            found[canonicalize_name(pin.name)] = Version(specifier.version)
    return found


def needs(name: str) -> list[str]:
    """What an installed package requires; nothing is known of one that is not installed here."""
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []


def test_the_public_names_are_these() -> None:
    assert sorted(workbench.__all__) == sorted(PUBLIC)
    assert dir(workbench) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(workbench, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = workbench.nothing_like_it


@pytest.mark.parametrize(
    "statement",
    [
        "import workbench",
        "import workbench.cli",
        "from workbench import *",
        "import workbench.figures, workbench.export",
    ],
)
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    program = f"{statement}\nimport sys\nprint(*[n for n in {HEAVY!r} if n in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout.strip() == ""


def test_the_lock_satisfies_pyproject() -> None:
    locked = pins("requirements.lock")
    for requirement in requirements():
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_the_lock_holds_what_builds_the_package() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    locked = pins("requirements.lock")
    assert {canonicalize_name(Requirement(text).name) for text in build} <= set(locked)


def test_the_test_lock_satisfies_pyproject() -> None:
    locked = pins("requirements.lock") | pins("requirements-test.lock")
    for requirement in requirements(group="test"):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_the_two_locks_share_no_package() -> None:
    assert not set(pins("requirements.lock")) & set(pins("requirements-test.lock"))


def test_every_package_that_is_needed_is_locked() -> None:
    """The requirements of what is installed here, followed to their ends."""
    locked = set(pins("requirements.lock"))
    todo = [*requirements(), Requirement("hatchling")]
    seen: set[str] = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if f"{requirement}" in seen:
            continue
        seen.add(f"{requirement}")
        assert name in locked, f"{name} is needed and not in requirements.lock"
        for text in needs(name):
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                if name == "torch" and needed.name.startswith(("nvidia-", "cuda-", "triton")):
                    continue  # torch's CUDA build pins these itself
                needed.marker = None
                todo.append(needed)


def test_conda_installs_the_same_packages_at_the_same_versions() -> None:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (by_pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    specs = [entry for entry in entries if isinstance(entry, str)]
    specs += [spec.replace("==", "=") for spec in by_pip if not spec.startswith("-")]
    conda = {name: pin for name, _, pin in (spec.partition("=") for spec in specs)}
    locked = pins("requirements.lock")
    wanted = {CONDA_NAMES.get(r.name, r.name): canonicalize_name(r.name) for r in requirements()}
    assert set(conda) - NOT_IN_PYPROJECT == set(wanted)
    for name, ours in wanted.items():
        assert f"{locked[ours]}.".startswith(f"{conda[name]}."), f"{name}: {locked[ours]}"


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == workbench.__version__
    assert citation["license"] == "MIT"


def test_no_tracked_file_names_a_machine_path_or_a_registry() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    ).stdout.decode()
    found = []
    for name in filter(None, tracked.split("\0")):
        try:
            content = (ROOT / name).read_text()
        except (OSError, UnicodeDecodeError):
            continue
        found += [f"{name}: {match[0]}" for match in FORBIDDEN.finditer(content)]
    assert not found


def readme() -> str:
    return (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language; "" for those without one."""
    fenced = readme().split("```")[1::2]
    return [body for head, _, body in (b.partition("\n") for b in fenced) if head == language]


def test_the_readme_is_short_and_finished() -> None:
    lines = readme().splitlines()
    assert len(lines) < 200
    assert not any("<!--" in line or "TODO" in line for line in lines)


def test_the_readme_shows_what_exists() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", readme())
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("block", blocks("python"))
def test_python_in_the_readme_compiles(block: str) -> None:
    compile(block, "README.md", "exec")


@pytest.mark.parametrize(
    "line", [line for b in blocks("") for line in b.splitlines() if line.startswith("workbench ")]
)
def test_commands_in_the_readme_are_understood(line: str) -> None:
    command = line.split("  ")[0].replace("[PATH]", "").replace("KIND", "folder")
    assert arguments.parser().parse_args(shlex.split(command)[1:]).command


@pytest.mark.parametrize(
    "line", [line for b in blocks("") for line in b.splitlines() if line.startswith("make ")]
)
def test_targets_in_the_readme_exist(line: str) -> None:
    assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.M)
