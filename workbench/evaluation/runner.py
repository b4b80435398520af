"""One candidate's process: load the kernel, launch it when told, say how it went."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.evaluation import isolation
from workbench.evaluation.wire import FAILED, HANDLE, OK, Answer

_SCALARS: dict[str, Any] = {
    "float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64,
    "int32": ctypes.c_int32, "bool": ctypes.c_bool,
}  # fmt: skip


class _Failure(Exception):
    """Something the candidate or the device did; its text goes to the judge."""


class _Device(Protocol):
    """The few things that differ between a CPU and a GPU, on the runner's side."""

    def allocate(self, nbytes: int, memory: int) -> tuple[int, bytes]:
        """Address of the arena, and the handle by which the judge maps it.

        `memory` is a file the judge has already sized and mapped; a GPU does not use it.
        """
        ...

    def trailing(self) -> tuple[Any, ...]:
        """Arguments of `launch` after the workspace."""
        ...

    def timed(self, launches: Callable[[], None]) -> float:
        """Seconds the launches took, by this side's own clock, all work finished."""
        ...


class _Cpu:
    def allocate(self, nbytes: int, memory: int) -> tuple[int, bytes]:
        self._arena = mmap.mmap(memory, nbytes)
        return ctypes.addressof(ctypes.c_char.from_buffer(self._arena)), b""

    def trailing(self) -> tuple[Any, ...]:
        return ()

    def timed(self, launches: Callable[[], None]) -> float:
        started = time.perf_counter()
        launches()
        return time.perf_counter() - started


class _Handle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * HANDLE),)


class _Cuda:
    """The CUDA runtime through ctypes; the library is loaded before any candidate's."""

    def __init__(self, runtime: str) -> None:
        self._cuda = ctypes.CDLL(runtime)
        self._cuda.cudaGetErrorString.restype = ctypes.c_char_p
        self._call("cudaSetDevice", 0)
        self._events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self._events:
            self._call("cudaEventCreate", ctypes.byref(event))
        self._stream = ctypes.c_void_p()
        self._call("cudaStreamCreateWithFlags", ctypes.byref(self._stream), 1)

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._cuda, name)(*arguments)
        if code:
            words = self._cuda.cudaGetErrorString(code) or b"unknown error"
            raise _Failure(f"CUDA error {code} in {name}: {words.decode()}")

    def allocate(self, nbytes: int, memory: int) -> tuple[int, bytes]:
        base, handle = ctypes.c_void_p(), (ctypes.c_ubyte * HANDLE)()
        self._call("cudaMalloc", ctypes.byref(base), ctypes.c_size_t(nbytes))
        self._call("cudaIpcGetMemHandle", handle, base)
        return base.value or 0, bytes(handle)

    def trailing(self) -> tuple[Any, ...]:
        return (self._stream,)

    def timed(self, launches: Callable[[], None]) -> float:
        first, last = self._events
        self._call("cudaEventRecord", first, self._stream)
        launches()
        self._call("cudaGetLastError")
        self._call("cudaEventRecord", last, self._stream)
        self._call("cudaDeviceSynchronize")
        elapsed_ms = ctypes.c_float()
        self._call("cudaEventElapsedTime", ctypes.byref(elapsed_ms), first, last)
        return elapsed_ms.value / 1e3


@dataclass
class _Kernel:
    """The loaded library and the arguments of its `launch`, one tuple a set."""

    library: ctypes.CDLL
    device: _Device
    scalars: list[tuple[str, float] | None]
    arguments: list[tuple[Any, ...]]

    def workspace_bytes(self) -> int:
        try:
            ask = self.library.workspace_bytes
        except AttributeError:
            return 0
        ask.restype = ctypes.c_size_t
        return int(ask())

    def bind(self, base: int, order: dict[str, Any]) -> None:
        """Addresses from offsets: `order["sets"]` and `order["workspace"]`."""
        workspace = order["workspace"]
        tail = (
            ctypes.c_void_p(None if workspace is None else base + workspace),
            *self.device.trailing(),
        )
        self.arguments = []
        for offsets in order["sets"]:
            values: list[Any] = []
            for offset, scalar in zip(offsets, self.scalars, strict=True):
                if scalar is not None:
                    dtype, value = scalar
                    values.append(_SCALARS[dtype](value))
                else:
                    values.append(ctypes.c_void_p(base + offset))
            self.arguments.append((*values, *tail))

    def block(self, order: dict[str, Any]) -> float:
        """`count` launches over the sets in turn from `first`, or all on it when `still`."""
        launch, sets = self.library.launch, len(self.arguments)
        first, step = order["first"], 0 if order.get("still") else 1
        turns = [self.arguments[(first + step * k) % sets] for k in range(order["count"])]

        def launches() -> None:
            for arguments in turns:
                launch(*arguments)

        return self.device.timed(launches)


def serve(channel: socket.socket, memory: int, plan: dict[str, Any]) -> None:
    """Answer the judge's orders until it hangs up; never returns to the nursery's code."""
    isolation.confine(plan["scratch"], cpu_s=plan["cpu_s"])
    orders = channel.makefile("rb")
    kernel: _Kernel | None = None
    while line := orders.readline():
        order = json.loads(line)
        try:
            match order["do"]:
                case "load":
                    kernel = _load(plan)
                    answer = Answer(OK, kernel.workspace_bytes(), b"", "")
                case "arena":
                    assert kernel is not None
                    base, handle = kernel.device.allocate(order["nbytes"], memory)
                    kernel.bind(base, order)
                    answer = Answer(OK, 0.0, handle, "")
                case "block":
                    assert kernel is not None
                    answer = Answer(OK, kernel.block(order), b"", "")
                case unknown:
                    answer = Answer(FAILED, 0.0, b"", f"unknown order {unknown!r}")
        except (_Failure, OSError, AttributeError) as failure:
            answer = Answer(FAILED, 0.0, b"", str(failure))
        channel.sendall(answer.pack())


def _load(plan: dict[str, Any]) -> _Kernel:
    device: _Device = _Cuda(plan["runtime"]) if plan["backend"] == "cuda" else _Cpu()
    library = ctypes.CDLL(plan["library"])
    library.launch.restype = None  # AttributeError when there is no such symbol
    return _Kernel(library, device, plan["scalars"], [])


def become(channel: socket.socket, output: int, memory: int, plan: dict[str, Any]) -> None:
    """Turn a fresh fork into a runner: words go to `output`, nothing else stays open."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    low, high = sorted((channel.fileno(), memory))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, 65536)
    try:
        serve(channel, memory, plan)
    finally:
        os._exit(0)
