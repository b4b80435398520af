"""The judge's view of the memory a runner owns: tensors over one allocation, poison, guards."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workbench.evaluation.candidate import CandidateFailed, CandidateProcess
from workbench.evaluation.reference import Value
from workbench.evaluation.wire import HANDLE, Layout, Slot
from workbench.records import DeviceError, Signature, Status

GUARD_BYTE = 0xA5
NAN_BYTE = 0xFF  # every float type reads 0xFF.. as NaN, every integer as -1 or its maximum
FINITE_BYTE = 0x3B  # about 0.0029 as float32, a second poison that hides no unwritten element


class _IpcHandle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * HANDLE),)


@dataclass
class Arena:
    """Inputs, weights, outputs and workspace of a runner, as the judge sees them."""

    signature: Signature
    layout: Layout
    memory: Tensor  # uint8, all of it
    _release: Any = None
    _sums: dict[Slot, Tensor] = field(default_factory=dict)

    @classmethod
    def over(
        cls, process: CandidateProcess, signature: Signature, sets: int, device: torch.device
    ) -> Arena:
        """Lay out `sets` input and output sets and have the runner map them."""
        layout = Layout.of(signature, sets, process.workspace_bytes)
        offsets = [[s.offset if s else 0 for s in row] for row in layout.sets]
        workspace = layout.workspace.offset if layout.workspace else None
        handle = process.arena(layout.nbytes, offsets, workspace)
        if device.type == "cuda":
            memory, release = _open_ipc(handle, layout.nbytes, str(process.runtime))
        else:
            mapped = mmap.mmap(process.memory, layout.nbytes)
            memory, release = torch.frombuffer(mapped, dtype=torch.uint8), None
        arena = cls(signature, layout, memory, release)
        arena.memory.fill_(GUARD_BYTE)
        return arena

    def tensors(self, which: int, role: str) -> list[Tensor]:
        """Views of a set's buffers of one role, shaped and typed."""
        pairs = zip(self.signature.arguments, self.layout.sets[which], strict=True)
        return [
            self._bytes(slot).view(getattr(torch, a.dtype)).view(a.shape)
            for a, slot in pairs
            if slot is not None and a.role == role
        ]

    def fill_weights(self, weights: list[Tensor]) -> None:
        for place, weight in zip(self.tensors(0, "weight"), weights, strict=True):
            place.copy_(weight)
        self._remember(0, "weight")

    def fill_inputs(self, which: int, inputs: list[Value]) -> None:
        given = [v for v in inputs if isinstance(v, Tensor)]
        for place, value in zip(self.tensors(which, "input"), given, strict=True):
            place.copy_(value)
        self._remember(which, "input")

    def poison(self, which: int, byte: int = NAN_BYTE) -> None:
        """Make a set's outputs unreadable; the workspace as well."""
        for argument, slot in self._slots(which):
            if argument.role == "output":
                self._bytes(slot).fill_(byte)
        if self.layout.workspace is not None:
            self._bytes(self.layout.workspace).fill_(byte)

    def verify_untouched(self, which: int) -> None:
        """Inputs, weights and guard bands as they were left; raises CandidateFailed."""
        for argument, slot in self._slots(which):
            if argument.role == "output":
                continue
            if not torch.equal(_checksum(self._bytes(slot)), self._sums[slot]):
                raise CandidateFailed(
                    Status.rejected, f"the kernel changed its {argument.role} {argument.name!r}"
                )
        for low, high in self.layout.guards():
            if not bool((self.memory[low:high] == GUARD_BYTE).all()):
                raise CandidateFailed(
                    Status.incorrect,
                    f"the kernel wrote outside its buffers ({self._neighbours(low)})",
                )

    def close(self) -> None:
        """Unmap the runner's memory; a GPU's must be closed before the runner ends."""
        self._sums.clear()
        if self._release is not None:
            self._release()

    def _neighbours(self, low: int) -> str:
        """The buffer in front of a damaged guard band."""
        for row in self.layout.sets:
            for argument, slot in zip(self.signature.arguments, row, strict=True):
                if slot is not None and slot.offset + slot.nbytes == low:
                    return f"behind {argument.name!r}"
        return "in front of the first or behind the workspace"

    def _remember(self, which: int, role: str) -> None:
        for argument, slot in self._slots(which):
            if argument.role == role:
                self._sums[slot] = _checksum(self._bytes(slot))

    def _slots(self, which: int) -> list[tuple[Any, Slot]]:
        pairs = zip(self.signature.arguments, self.layout.sets[which], strict=True)
        return [(a, s) for a, s in pairs if s is not None]

    def _bytes(self, slot: Slot) -> Tensor:
        return self.memory[slot.offset : slot.offset + slot.nbytes]


def _checksum(data: Tensor) -> Tensor:
    """Two sums over the words of a buffer; equal data gives equal sums."""
    whole = data[: data.numel() // 4 * 4].view(torch.int32)
    tail = data[whole.numel() * 4 :]
    odd = whole[1::2]
    return torch.stack([whole.sum(dtype=torch.int64), odd.sum(dtype=torch.int64), tail.sum()])


class _CudaMemory:
    """Foreign device memory in the form torch.as_tensor understands."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


def _open_ipc(handle: bytes, nbytes: int, runtime: str) -> tuple[Tensor, Any]:
    """A uint8 tensor over another process's cudaMalloc, and the call that unmaps it."""
    cuda = ctypes.CDLL(runtime)
    cuda.cudaIpcOpenMemHandle.argtypes = [
        ctypes.POINTER(ctypes.c_void_p),
        _IpcHandle,
        ctypes.c_uint,
    ]
    cuda.cudaIpcCloseMemHandle.argtypes = [ctypes.c_void_p]
    address, packed = ctypes.c_void_p(), _IpcHandle.from_buffer_copy(handle)
    code = cuda.cudaIpcOpenMemHandle(ctypes.byref(address), packed, 1)
    if code or address.value is None:
        raise DeviceError(f"the device cannot share memory between processes (CUDA error {code})")
    where = address.value
    memory = torch.as_tensor(_CudaMemory(where, nbytes), device="cuda")

    def release() -> None:
        torch.cuda.synchronize()
        cuda.cudaIpcCloseMemHandle(where)

    return memory, release
