"""The two sides' common words: how judge and runner lay out memory and answer each other."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from workbench.records import Signature

GUARD = 4096  # bytes before and after every buffer
ALIGN = 4096
HANDLE = 64  # bytes of a cudaIpcMemHandle_t
WORD_BYTES = {
    "float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2,
    "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip

# A runner's answer, always this size: code, number (bytes or seconds), handle, text.
# It comes from a process that ran foreign code, so it is evidence and never unpickled.
ANSWER = struct.Struct(f"<id{HANDLE}s444s")
OK, FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a runner said; `text` is shown to people and never interpreted."""

    code: int
    number: float
    handle: bytes
    text: str

    def pack(self) -> bytes:
        return ANSWER.pack(self.code, self.number, self.handle, self.text.encode()[:444])

    @classmethod
    def unpack(cls, data: bytes) -> Answer:
        code, number, handle, text = ANSWER.unpack(data)
        return cls(code, number, handle, text.rstrip(b"\0").decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Slot:
    """A buffer inside the arena; guard bands of GUARD bytes lie on both sides."""

    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where every buffer of every set lies in one allocation.

    Inputs and outputs exist once per set, weights once; all in the order of `launch`.
    """

    sets: tuple[tuple[Slot | None, ...], ...]  # per set, per argument; None for scalars
    workspace: Slot | None
    nbytes: int

    @classmethod
    def of(cls, signature: Signature, sets: int, workspace_bytes: int) -> Layout:
        end = 0

        def place(nbytes: int) -> Slot:
            nonlocal end
            slot = Slot(_up(end + GUARD), nbytes)
            end = slot.offset + _up(nbytes)
            return slot

        weights = {a.name: place(tensor_bytes(a.dtype, a.shape)) for a in signature.of("weight")}
        rows = [
            tuple(
                None
                if a.role == "scalar"
                else weights.get(a.name) or place(tensor_bytes(a.dtype, a.shape))
                for a in signature.arguments
            )
            for _ in range(sets)
        ]
        workspace = place(workspace_bytes) if workspace_bytes else None
        return cls(tuple(rows), workspace, _up(end + GUARD))

    def guards(self) -> list[tuple[int, int]]:
        """Byte ranges that nobody may write: everything that is not inside a buffer."""
        slots = {s for row in self.sets for s in row if s} | (
            {self.workspace} if self.workspace else set()
        )
        ranges, end = [], 0
        for slot in sorted(slots, key=lambda s: s.offset):
            ranges.append((end, slot.offset))
            end = slot.offset + slot.nbytes
        return [*ranges, (end, self.nbytes)]


def tensor_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    size = WORD_BYTES[dtype]
    for n in shape:
        size *= n
    return size


def _up(n: int) -> int:
    return -(-n // ALIGN) * ALIGN
