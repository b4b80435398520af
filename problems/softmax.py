"""Softmax over long rows: 4096 rows of 65536 fp32 values.

Memory-bound: 1.07 GB in, 1.07 GB out. A row is 256 KB, too long for one block's shared memory, so
eager reads it more than once. The room lies in holding the row on chip between the maximum, the
sum and the result (registers of a large block, or a cluster's shared memory) with 16-byte accesses.
"""

import torch
from torch import Tensor, nn

batch_size = 4096
dim = 65536


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=1)  # (batch_size, dim)


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[int]:
    return []
