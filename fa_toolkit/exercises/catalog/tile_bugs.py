"""The forward pass in tiles, without a mask, with one planted bug, in float64."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from .state_bugs import State, folded

#: The power of D that the scores are multiplied by.
_POWERS = {"no-scale": 0.0, "scale-1-over-d": -1.0}


def tiled(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    block_m: int,
    block_n: int,
    *,
    bug: str = "",
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and lse of one head; rows do not depend on each other, so all are taken at once."""
    if bug.startswith("rescaled-by-largest") and len(q) > block_m:  # here they do, in a block
        parts = [tiled(x, k, v, block_m, block_n, bug=bug) for x in torch.split(q, block_m)]
        return torch.cat([o for o, _ in parts]), torch.cat([lse for _, lse in parts])
    x, scale = q.double(), q.shape[1] ** _POWERS.get(bug, -0.5)
    state: State = (
        x.new_full([len(q)], -math.inf),
        x.new_zeros(len(q)),
        x.new_zeros(len(q), v.shape[1]),
    )
    stop = len(k) - len(k) % block_n if bug == "tail-dropped" else len(k)
    for j in range(0, stop, block_n):
        s, values = scale * x @ k[j : j + block_n].double().T, v[j : j + block_n]
        if bug == "same-values":
            values = v[: s.shape[1]]
        if bug == "last-block-only":
            state = (state[0], state[1] * 0, state[2] * 0)
        state = folded(state, s, values, bug)
    m, l, acc = state
    o = acc if bug in ("not-normalised", "normalised-each-step") else acc / l[:, None]
    lse = {
        "lse-no-max": l.log(),
        "lse-base-2": (m + l.log()) / math.log(2),
        "lse-base-mixed": m / math.log(2) + l.log(),
        "lse-base-mixed/l": m + l.log2(),
        "lse-no-log": m + l,
    }
    return o, lse.get(bug, m + l.log())
