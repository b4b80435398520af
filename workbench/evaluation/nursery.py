"""A process with torch imported and no device touched, forked once per candidate."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from workbench.evaluation import isolation, runner
from workbench.records import DeviceError

_PID = struct.Struct("<q")
_CALL_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Nursery:
    """The judge's handle on its nursery."""

    channel: socket.socket
    pid: int

    def spawn(self, runner_end: int, output: int, memory: int, plan: dict[str, Any]) -> int:
        """Fork a runner that owns these three descriptors; returns its process id."""
        order = json.dumps(plan).encode()
        head = struct.pack("<I", len(order))
        socket.send_fds(self.channel, [head], [runner_end, output, memory])
        self.channel.sendall(order)
        return self._answer()

    def end(self) -> int:
        """Kill the runner with all its descendants; returns its wait status."""
        self.channel.sendall(struct.pack("<I", 0))
        return self._answer()

    def _answer(self) -> int:
        ready, _, _ = select.select([self.channel], [], [], _CALL_LIMIT_S)
        data = self.channel.recv(_PID.size) if ready else b""
        if len(data) != _PID.size:
            raise DeviceError("the nursery does not answer; a candidate's process cannot be ended")
        return int(_PID.unpack(data)[0])


def start() -> Nursery:
    """Fork the nursery. The caller has imported torch and not yet used it."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            _live(theirs)
        finally:
            os._exit(0)
    theirs.close()
    return Nursery(ours, pid)


def _live(judge: socket.socket) -> None:
    """Fork a runner for each plan, end it for each empty order, until the judge is gone."""
    isolation.die_with_parent()
    isolation.adopt_orphans()
    child = 0
    while True:
        try:
            head, descriptors, _, _ = socket.recv_fds(judge, 4, 3)
        except OSError:
            head, descriptors = b"", []
        if len(head) < 4:
            isolation.end_orphans()
            return
        (length,) = struct.unpack("<I", head)
        if length == 0:
            judge.sendall(_PID.pack(_ended(child)))
            continue
        plan = json.loads(_exactly(judge, length))
        child = _fork(descriptors, plan)
        for descriptor in descriptors:
            os.close(descriptor)
        judge.sendall(_PID.pack(child))


def _fork(descriptors: list[int], plan: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            channel, output, memory = descriptors
            runner.become(socket.socket(fileno=channel), output, memory, plan)
        finally:
            os._exit(0)
    return pid


def _ended(child: int) -> int:
    """Wait status of a child that is killed unless it already ended; orphans go with it."""
    status = 0
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.001)
    isolation.end_orphans()
    return status


def _exactly(channel: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        chunk = channel.recv(length - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data
