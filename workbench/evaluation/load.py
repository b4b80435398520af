"""How much of the CPU others use while a kernel is timed: a busy machine gives no fair number."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

BUSY = 0.15  # share of all cores used by others beyond which a timing says so
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_IDLE_FIELDS = (3, 4)  # idle and iowait in /proc/stat


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds of CPU time used up to now: by the whole machine, and by the given processes."""

    wall_s: float
    all_s: float
    own_s: float


def moment(*processes: int) -> Moment | None:
    """The clocks of this machine now; None where /proc does not tell."""
    try:
        fields = [int(f) for f in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        own = sum(_used(pid) for pid in (os.getpid(), *processes))
    except (OSError, ValueError, IndexError):
        return None
    busy = sum(f for i, f in enumerate(fields) if i not in _IDLE_FIELDS)
    return Moment(time.monotonic(), busy * _TICK_S, own)


def foreign_share(before: Moment | None, after: Moment | None) -> float | None:
    """Share of all cores that other processes used between two moments; None: not known."""
    if before is None or after is None or after.wall_s <= before.wall_s:
        return None
    cores = os.cpu_count() or 1
    others = (after.all_s - before.all_s) - (after.own_s - before.own_s)
    return max(others, 0.0) / (after.wall_s - before.wall_s) / cores


def _used(pid: int) -> float:
    """CPU seconds of one process, all its threads, dead ones included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S
