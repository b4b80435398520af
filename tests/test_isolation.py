"""What a confined process can no longer do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.evaluation import isolation

POWERS = isolation.probe()


def confined(scratch: Path, action: Callable[[], object]) -> str:
    """Run an action in a confined child; "done", or the name of the error it met."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            isolation.confine(str(scratch), cpu_s=10)
            action()
            os.write(write, b"done")
        except BaseException as error:
            os.write(write, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        words = pipe.read()
    os.waitpid(child, 0)
    return words


@pytest.mark.skipif("landlock" not in " ".join(POWERS), reason="the kernel grants no Landlock")
def test_files_can_be_written_only_in_the_scratch_folder(tmp_path: Path) -> None:
    scratch, other = tmp_path / "scratch", tmp_path / "other"
    scratch.mkdir()
    other.mkdir()
    (other / "kept").write_text("kept")
    assert confined(scratch, lambda: (scratch / "a").write_text("x")) == "done"
    assert confined(scratch, lambda: (other / "a").write_text("x")) == "PermissionError"
    assert confined(scratch, lambda: (other / "kept").write_text("x")) == "PermissionError"
    assert confined(scratch, (other / "kept").unlink) == "PermissionError"
    assert (other / "kept").read_text() == "kept"


@pytest.mark.skipif("no network" not in POWERS, reason="the kernel grants no user namespace")
def test_no_server_of_this_machine_can_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        assert confined(tmp_path, lambda: socket.create_connection(address, 2)) == "OSError"


@pytest.mark.skipif("landlock" not in " ".join(POWERS), reason="the kernel grants no Landlock")
def test_the_memory_of_its_parent_cannot_be_read(tmp_path: Path) -> None:
    parent = os.getpid()
    answer = confined(tmp_path, lambda: os.open(f"/proc/{parent}/mem", os.O_RDONLY))
    assert answer == "PermissionError"


def test_endless_output_is_cut_off(tmp_path: Path) -> None:
    def flood() -> None:
        with (tmp_path / "flood").open("wb") as file:
            for _ in range(64):
                file.write(bytes(1 << 20))

    assert confined(tmp_path, flood) == "OSError"
    assert (tmp_path / "flood").stat().st_size <= isolation.OUTPUT_LIMIT


def test_secrets_do_not_reach_child_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-very-secret")
    environment = isolation.judge_environment()
    assert "very-secret" not in "".join(environment.values())
    assert environment["PATH"] == os.environ["PATH"]


def test_orphans_of_a_candidate_are_ended(tmp_path: Path) -> None:
    program = f"""
import os, time
from workbench.evaluation import isolation
isolation.adopt_orphans()
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
os.waitpid(child, 0)
while not os.path.exists({str(tmp_path / "pid")!r}) or not open({str(tmp_path / "pid")!r}).read():
    time.sleep(0.01)
isolation.end_orphans()
"""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
    assert time.monotonic() - started < 20
