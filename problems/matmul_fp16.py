"""A square fp16 matrix product with an fp16 result: C = A B.

Compute-bound, and the library is close to what tensor cores give. What is left lies in wgmma with
TMA-fed, multi-stage shared memory, warp specialization, clusters that share operand tiles, and a
persistent grid whose tile order reuses the last-level cache.
"""

import torch
from torch import Tensor, nn

size = 4096

# Sums of products of "offset" and "large" inputs overflow fp16; those of "tiny" underflow it.
DISTRIBUTIONS = (
    "given", "normal", "alternating", "outliers", "row_scales", "integers", "zeros", "equal",
)  # fmt: skip


class Model(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.matmul(a, b)  # (size, size) @ (size, size)


def get_inputs() -> list[Tensor]:
    return [
        torch.randn(size, size, dtype=torch.float16),
        torch.randn(size, size, dtype=torch.float16),
    ]


def get_init_inputs() -> list[int]:
    return []
