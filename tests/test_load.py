"""Foreign load on the CPU, seen while something is timed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from workbench.evaluation import load

pytestmark = pytest.mark.skipif(load.moment() is None, reason="no /proc/stat")


def spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_own_work_is_not_foreign() -> None:
    quiet = load.moment()
    time.sleep(0.5)
    before = load.moment()
    spin(0.5)
    after = load.moment()
    background = load.foreign_share(quiet, before)
    share = load.foreign_share(before, after)
    assert background is not None
    assert share is not None
    assert share < background + 0.5 / (os.cpu_count() or 1)


def test_another_program_is_foreign_unless_it_is_named() -> None:
    code = "import time\nuntil = time.monotonic() + 20\nwhile time.monotonic() < until: pass"
    other = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(0.3)
        before, named = load.moment(), load.moment(other.pid)
        time.sleep(0.8)
        foreign = load.foreign_share(before, load.moment())
        own = load.foreign_share(named, load.moment(other.pid))
    finally:
        other.kill()
        other.wait()
    assert foreign is not None
    assert own is not None
    assert foreign - own > 0.3 / (os.cpu_count() or 1)
