"""What the operating system lets us forbid to a running candidate, probed and applied."""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import signal
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = (
    0x20000,
    0x8000000,
    0x10000000,
    0x40000000,
)
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_PATH_BENEATH = 1
# Every access of ABI 1 that changes a file system, TRUNCATE (ABI 3) where known.
_WRITES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
_TRUNCATE = 1 << 14
OUTPUT_LIMIT = 16 << 20  # bytes a candidate may write to any one file, its stdout included
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def clean_environment() -> dict[str, str]:
    """This process's environment without anything that looks like a secret."""
    return {k: v for k, v in os.environ.items() if not any(w in k.upper() for w in SECRET_WORDS)}


def judge_environment() -> dict[str, str]:
    """The environment of this package's own child processes: no secrets, one thread a core."""
    environment = clean_environment()
    environment.setdefault("OMP_NUM_THREADS", str(_physical_cores()))
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    return environment


def hide_memory() -> None:
    """Forbid processes of the same user to read this one's memory (unless they are root)."""
    _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, so that it can end them."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(scratch: str, *, cpu_s: float) -> tuple[str, ...]:
    """Give up everything a kernel does not need; what was in force is returned.

    Called in a freshly forked process, before it loads foreign code.
    """
    powers = ["process group"]
    os.setsid()
    die_with_parent()
    os.chdir(scratch)
    _limit(cpu_s)
    powers.append("resource limits")
    if _unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC):
        powers += ["user namespace", "no network"]
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        powers.append("no new privileges")
    if _landlock(scratch):
        powers.append("landlock: writes only to its scratch folder")
    return tuple(powers)


@functools.cache
def probe() -> tuple[str, ...]:
    """The powers `confine` gets on this machine, found by trying it in a child process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, "\n".join(confine("/tmp", cpu_s=10)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        words = pipe.read()
    os.waitpid(child, 0)
    return tuple(words.split("\n")) if words else ()


def end_orphans() -> None:
    """Kill and reap every child of this process, those it adopted included."""
    while children := _children():
        for pid in children:
            _kill(pid)
        for pid in children:
            _reap(pid)


def _physical_cores() -> int:
    """Cores this process may run on, hyperthreads not counted: torch's own choice."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            package = (topology / "physical_package_id").read_text()
            cores.add((package, (topology / "core_id").read_text()))
        except OSError:
            cores.add((str(cpu), ""))
    return len(cores) or 1


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        try:
            found += [int(pid) for pid in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def _limit(cpu_s: float) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    seconds = int(cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _unshare(flags: int) -> bool:
    """New namespaces; the user keeps its ids inside, so device files stay usable."""
    uid, gid = os.getuid(), os.getgid()
    if _LIBC.unshare(flags) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    except OSError:
        pass  # the ids then read as nobody's, which changes no right we rely on
    return True


def _landlock(scratch: str) -> bool:
    """Allow writes only below the scratch folder, to device files and to /proc/self."""
    abi = _LIBC.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        return False
    rights = _WRITES | (_TRUNCATE if abi >= 3 else 0)
    handled = ctypes.c_uint64(rights)
    ruleset = _LIBC.syscall(_LANDLOCK_CREATE, ctypes.byref(handled), 8, 0)
    if ruleset < 0:
        return False
    open_only = rights & (0b10 | _TRUNCATE)
    # CUDA names its threads through /proc/self; other processes' files there stay shut.
    for place, allowed in ((scratch, rights), ("/dev", open_only), ("/proc/self", open_only)):
        _allow(ruleset, place, allowed)
    done = bool(_LIBC.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return done


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _allow(ruleset: int, place: str, rights: int) -> None:
    folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
    rule = _PathBeneath(rights, folder)
    _LIBC.syscall(_LANDLOCK_ADD, ruleset, _LANDLOCK_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(folder)
