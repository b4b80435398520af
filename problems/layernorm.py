"""Layer normalization over three dimensions at once: 16 rows of 4.2 million fp32 values.

Eager gives one block to a row, so 16 blocks do all the work of a large device. The room lies in
spreading each row over many blocks, in merging their moments without cancellation, and in keeping
the row in cache between the statistics and the result, so that it is read from memory once.
"""

import torch
from torch import Tensor, nn

batch_size = 16
features = 64
dim1 = 256
dim2 = 256


class Model(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.1)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)  # (batch_size, features, dim1, dim2)


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, features, dim1, dim2)]


def get_init_inputs() -> list[tuple[int, ...]]:
    return [(features, dim1, dim2)]
