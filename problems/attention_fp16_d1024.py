"""Attention in fp16 with an unusually wide head: dimension 1024, 512 queries and keys, no mask.

Fused kernels of the library end at 256, so eager writes and reads the 512 x 512 scores in memory.
The room lies in a fused kernel all the same: split the head dimension, keep the scores of a block
of queries in shared memory and stream K and V through it in slices.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

batch_size = 32
heads = 32
length = 512
dim = 1024

# The logits of "offset" and "large" inputs (1e5 and more) leave softmax nothing but rounding.
DISTRIBUTIONS = (
    "given", "normal", "alternating", "outliers", "row_scales", "integers", "zeros", "equal",
    "tiny",
)  # fmt: skip


class Model(nn.Module):
    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value)


def get_inputs() -> list[Tensor]:
    shape = (batch_size, heads, length, dim)
    return [torch.randn(shape, dtype=torch.float16) for _ in range(3)]


def get_init_inputs() -> list[int]:
    return []
