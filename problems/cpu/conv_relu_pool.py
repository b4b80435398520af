"""The first stage of a small image network: 3 x 3 convolution, ReLU, 2 x 2 maximum.

Eager writes the convolution's output, reads and writes it for ReLU and reads it again to pool. The
room lies in pooling four accumulators before anything is written, and in blocking over output
channels so that three input rows in cache serve all of them.
"""

import torch
from torch import Tensor, nn

batch_size = 8
in_channels = 3
out_channels = 32
height = 128
width = 128
kernel_size = 3
pool_size = 2


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.pool = nn.MaxPool2d(pool_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(torch.relu(self.conv(x)))  # (batch, 32, 64, 64)


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
