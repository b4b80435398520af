"""What happens to queries and keys before attention: RMS normalization, then rotary positions.

Each head's vector of 128 values is normalized and its two halves are rotated by its position.
Eager makes nine passes and four copies of it. The room lies in doing all of it in registers: one
read, one write, cosines and sines shared by all heads of a position.
"""

import torch
from torch import Tensor, nn

batch_size = 2
length = 1024
heads = 16
dim = 128
half = dim // 2
theta = 10000.0
eps = 1e-6


class Model(nn.Module):
    def __init__(self, length: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))
        rates = theta ** (-torch.arange(0, dim, 2) / dim)
        angles = torch.arange(length)[:, None] * rates[None, :]
        self.register_buffer("cos", angles.cos())  # (length, half)
        self.register_buffer("sin", angles.sin())

    def forward(self, x: Tensor) -> Tensor:
        normed = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * self.weight
        first, second = normed[..., :half], normed[..., half:]
        cos, sin = self.cos[:, None, :], self.sin[:, None, :]  # the same for all heads
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, length, heads, dim)]


def get_init_inputs() -> list[int]:
    return [length, dim]
