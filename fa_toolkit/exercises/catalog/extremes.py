"""Inputs of attention whose scores are extreme in one way, and what such a case is called."""

from __future__ import annotations

import torch

from ...language import Text

#: The label of a case made by `far_below`.
FAR_BELOW = Text("every score far below 0", "每个分数都远低于 0")


def far_below(q: torch.Tensor, k: torch.Tensor, *, size: float = 12.0) -> list[torch.Tensor]:
    """q and k with signs such that every score is far below 0, where e^s is 0 and e^(−s) infinite.

    What counts a key that does not exist, with its score 0, shows at once.
    """
    return [size * q.abs(), -size * k.abs()]


#: The label of a case made by `rising`.
HIDDEN_ABOVE = Text("hidden scores far above the visible ones", "被遮住的分数远高于看得到的")


def rising(q: torch.Tensor, k: torch.Tensor, *, size: float = 20.0) -> list[torch.Tensor]:
    """q and k with signs and sizes such that later keys have far larger scores.

    Under a causal mask a maximum taken over hidden keys too leaves e^(s − m) = 0 everywhere.
    """
    slope = torch.linspace(-1, 1, k.shape[-2], device=k.device)[:, None]
    return [size * q.abs(), size * k.abs() * slope]
