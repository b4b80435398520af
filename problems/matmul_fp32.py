"""A square fp32 matrix product: C = A B.

Compute-bound. The library runs it on the FMA pipes at fp32 rate; the room lies in tensor cores fed
with split operands (three fp16 or tf32 products add up to fp32-class accuracy), double-buffered
shared memory and a tile order that keeps B in the last-level cache.
"""

import torch
from torch import Tensor, nn

size = 4096


class Model(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.matmul(a, b)  # (size, size) @ (size, size)


def get_inputs() -> list[Tensor]:
    return [torch.randn(size, size), torch.randn(size, size)]


def get_init_inputs() -> list[int]:
    return []
