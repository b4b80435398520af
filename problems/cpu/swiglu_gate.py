"""A clamped SwiGLU on interleaved columns: even ones gate, odd ones are gated.

Eager slices with a stride of two, so its vector loads waste half of what they read, and makes six
passes over the halves. The room lies in one pass that takes the pairs apart in registers, and in a
sigmoid that vectorizes.
"""

import torch
from torch import Tensor, nn

tokens = 2048
hidden = 1024
width = 2 * hidden
alpha = 1.702
limit = 7.0


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        gate, linear = x[..., ::2], x[..., 1::2]  # (tokens, hidden) each
        gate = gate.clamp(max=limit)
        linear = linear.clamp(min=-limit, max=limit)
        return gate * torch.sigmoid(alpha * gate) * (linear + 1.0)


def get_inputs() -> list[Tensor]:
    return [torch.randn(tokens, width)]


def get_init_inputs() -> list[int]:
    return []
