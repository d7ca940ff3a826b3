"""One call of the decode kernel: its sizes and its mask, and that its tensors fit each other.

A kernel computes addresses, so what does not fit is refused here; allocates and launches nothing.
"""

from __future__ import annotations

from typing import Any

import torch

from ..errors import DtypeError, ShapeError
from ..problem import AttentionProblem

_TYPES = (torch.float16, torch.bfloat16, torch.float32)
_Shape = tuple[int | None, ...]


def decode_problem_of(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    seq_lens: torch.Tensor,
    block_table: torch.Tensor | None = None,
    *,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    sink: torch.Tensor | None = None,
) -> AttentionProblem:
    """The sizes and the mask of a call; len_k is what a cache can hold for a sequence.

    Raises:
        ShapeError, DtypeError: if the tensors do not fit each other.
    """
    batch, len_q, heads_q, d = _sizes("q", q, (None, None, None, None), _TYPES)
    paged = block_table is not None
    wanted: _Shape = (None if paged else batch, None, None, d)
    pages, *middle, _ = _sizes("k_cache", k_cache, wanted, (q.dtype,))
    *_, dv = _sizes("v_cache", v_cache, (*k_cache.shape[:3], None), (q.dtype,))
    _sizes("seq_lens", seq_lens, (batch,), (torch.int32,))
    heads_kv, capacity = middle
    if block_table is not None:
        _, columns = _sizes("block_table", block_table, (batch, None), (torch.int32,))
        page, heads_kv = middle
        capacity = columns * page if pages else 0
    if sink is not None:
        _sizes("sink", sink, (heads_q,), (sink.dtype,))
    dtype: Any = str(q.dtype).removeprefix("torch.")
    return AttentionProblem(batch, heads_q, heads_kv, len_q, capacity, d, dv, dtype, causal, window)


def _sizes(
    name: str, x: torch.Tensor, wanted: _Shape, dtypes: tuple[torch.dtype, ...]
) -> tuple[int, ...]:
    """The shape of `x`, which must be `wanted` where that is a number."""
    fits = x.ndim == len(wanted) and all(
        b in (None, a) for a, b in zip(x.shape, wanted, strict=True)
    )
    if not fits:
        text = ", ".join("any" if n is None else str(n) for n in wanted)
        raise ShapeError(name, expected=f"[{text}]", got=str(list(x.shape)))
    if x.dtype not in dtypes:
        raise DtypeError(name, expected=" | ".join(map(str, dtypes)), got=str(x.dtype))
    return tuple(x.shape)


def bounds(problem: AttentionProblem) -> tuple[int, int, dict[str, bool]]:
    """(left, right, flags): how far a query sees, and whether either side can hide a key at all."""
    left, right = problem.left, problem.right
    # the last key is in sight of every query unless the right bound is below Nq - 1
    flags = {
        "HAS_LEFT": left is not None,
        "HAS_RIGHT": right is not None and right < problem.len_q - 1,
    }
    # no bound needs to pass what there is: they stay 32-bit numbers
    return min(left or 0, problem.len_k), min(right or 0, problem.len_q), flags
