"""A gated linear recurrence: every step moves the state towards its input by a learned gate.

Eager launches a few small operations for each of 128 steps. The room lies in walking the sequence
once with the state of a block of features in registers, independent blocks on different cores, and
in a sigmoid that vectorizes.
"""

import torch
from torch import Tensor, nn

batch_size = 8
steps = 128
features = 1024


class Model(nn.Module):
    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        keep = torch.sigmoid(gate)  # (batch_size, steps, features)
        state = torch.zeros_like(x[:, 0])
        states = []
        for step in range(steps):
            state = x[:, step] + keep[:, step] * (state - x[:, step])
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs() -> list[Tensor]:
    shape = (batch_size, steps, features)
    return [torch.randn(shape), torch.randn(shape)]


def get_init_inputs() -> list[int]:
    return []
