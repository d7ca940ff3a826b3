"""What the arguments of attention exercises stand for: a problem and a tile; and fewer of their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..problem import ITEMSIZE, AttentionProblem, TileShape

Layout = Callable[..., tuple[AttentionProblem, TileShape]]


def _problem(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> AttentionProblem:
    name = str(q.dtype).removeprefix("torch.")
    return AttentionProblem(
        len_q=q.shape[-2], len_k=k.shape[-2], head_dim=q.shape[-1], head_dim_v=v.shape[-1],
        dtype=name if name in ITEMSIZE else "float32", causal=causal,  # type: ignore[arg-type]
    )  # fmt: skip


def blocks(*, causal: bool = False) -> Layout:
    """Arguments (q, k, v, ..., block_m, block_n), or (q, k, v, block) with square tiles."""

    def layout(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *rest: Any
    ) -> tuple[AttentionProblem, TileShape]:
        sizes = [x for x in rest if isinstance(x, int) and not isinstance(x, bool)]
        return _problem(q, k, v, causal), TileShape(sizes[0], sizes[-1])

    return layout


def fixed(block_m: int, block_n: int) -> Layout:
    """Arguments (q, k, v, ...) and tiles that the exercise fixes; causal if one of them is True."""

    def layout(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *rest: Any
    ) -> tuple[AttentionProblem, TileShape]:
        return _problem(q, k, v, any(x is True for x in rest)), TileShape(block_m, block_n)

    return layout


def shorter(args: tuple[Any, ...], keys: int) -> tuple[Any, ...]:
    """The same call with the first `keys` keys."""
    q, k, v, *rest = args
    return (q, k[..., :keys, :].contiguous(), v[..., :keys, :].contiguous(), *rest)
