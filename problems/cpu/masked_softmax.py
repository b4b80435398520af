"""Attention weights: scores over a temperature, masked keys left out, softmax over the keys.

Three operations on 4 million scores, two of them only to prepare the third. The room lies in one
pass that scales and masks as it reads, and in an exponential that vectorizes (expf of libm does
not).
"""

import torch
from torch import Tensor, nn

batch_size = 4
heads = 8
queries = 128
keys = 1024
temperature = 0.7


class Model(nn.Module):
    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        scaled = scores / self.temperature
        return torch.softmax(scaled.masked_fill(mask, float("-inf")), dim=-1)


def get_inputs() -> list[Tensor]:
    scores = torch.randn(batch_size, heads, queries, keys)
    mask = torch.rand(batch_size, 1, queries, keys) < 0.3  # True: this key is left out
    mask[..., 0] = False  # so that no query is left without any key
    return [scores, mask]


def get_init_inputs() -> list[float]:
    return [temperature]
