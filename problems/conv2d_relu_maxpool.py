"""AlexNet's first stage: convolution, ReLU, then a 3 x 3 maximum with stride 2.

Eager writes the convolution's output, reads and writes it for ReLU and reads it again to pool. The
room lies in pooling while the tile is still in registers or shared memory (only a quarter of the
elements is ever written), on top of what the convolution alone offers.
"""

import torch
from torch import Tensor, nn

batch_size = 100
in_channels = 3
out_channels = 96
height = 224
width = 224
kernel_size = 11
stride = 4
padding = 2
pool_size = 3
pool_stride = 2


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.pool = nn.MaxPool2d(pool_size, stride=pool_stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(torch.relu(self.conv(x)))  # (batch, 96, 27, 27)


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size, stride, padding]
