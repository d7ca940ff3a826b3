"""Decoding as a loop over splits: each finishes on its own, then the parts are merged. Untraced.

One sequence after the other, all key heads at once; the heads of a group are packed into rows, as
the kernel has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from ..problem import AttentionProblem
from ..reference import compute_dtype, visible_pairs
from ..reference.cache import cached, decode_problem, lengths_of, with_queries
from ..reference.inputs import check_scalars
from .program import Span
from .state import SoftmaxState, merge_partials

BLOCK_N = 64  # keys in a tile
LONGEST_SPLIT = 2048  # keys of a split, where their number is left to us


@torch.no_grad()
def flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    num_splits: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of the newest queries over a cache, its keys cut into splits that are then merged.

    A split is a finished attention over some of the keys: (o, lse). Nothing passes between splits,
    so on a GPU they run side by side; here they run one after the other.

    Shapes, semantics:
        as in `reference.decode_attention`.

    Args:
        num_splits: parts the visible keys of a sequence are cut into; None: by their length.

    Example:
        >>> cache = torch.randn(1, 2, 300, 16)
        >>> lens = torch.tensor([250], dtype=torch.int32)
        >>> q = torch.randn(1, 8, 16)
        >>> a, _ = flash_decode(q, cache, cache, seq_lens=lens, num_splits=1)
        >>> b, _ = flash_decode(q, cache, cache, seq_lens=lens, num_splits=5)
        >>> bool(torch.allclose(a, b, atol=1e-6))
        True
    """
    problem = decode_problem(
        q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
    )
    scale, cap = check_scalars(problem, scale, softcap)
    new, kind = with_queries(q), compute_dtype(q.dtype)
    o = new.new_zeros(*new.shape[:3], problem.head_dim_v)
    lse = new.new_zeros(new.shape[:3], dtype=kind)
    rows = _packed(sink, problem)
    for b, length in enumerate(lengths_of(problem, seq_lens) if lse.numel() else []):
        own = replace(problem, batch=1, len_k=length)
        k, v = (cached(x, b, length, block_table) for x in (k_cache, v_cache))
        heads = (problem.heads_kv, problem.group)
        packed = new[b].to(kind).unflatten(1, heads).transpose(0, 1).flatten(1, 2)  # type: ignore[no-untyped-call]
        parts = [
            _split(own, packed, k, v, span, scale, cap, rows if first else None)
            for first, span in _splits(own, num_splits)
        ]
        merged_o, merged_lse = merge_partials(*zip(*parts, strict=True))
        unpack = (problem.heads_kv, problem.len_q, problem.group)
        o[b] = merged_o.view(*unpack, -1).transpose(0, 1).flatten(1, 2)
        lse[b] = merged_lse.view(unpack).transpose(0, 1).flatten(1, 2)
    lse = lse.transpose(1, 2)
    return (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])


def _packed(sink: Tensor | None, problem: AttentionProblem) -> Tensor | None:
    """The sink of every packed row, [Hkv, Nq * group]; row r is head r % group of its key head."""
    if sink is None:
        return None
    return sink.reshape(problem.heads_kv, 1, problem.group).expand(-1, problem.len_q, -1).flatten(1)


def _splits(problem: AttentionProblem, num_splits: int | None) -> Iterator[tuple[bool, Span]]:
    """(is it the first, its keys) of the splits of the keys that can be seen, in whole tiles."""
    low, high = problem.visible_keys(0, problem.len_q)
    if num_splits is None:
        num_splits = max(1, -(-(high - low) // LONGEST_SPLIT))
    tiles = -(-(high - low) // BLOCK_N)
    step = -(-tiles // num_splits) * BLOCK_N
    for i in range(num_splits):
        start = low + i * step
        if i == 0 or start < high:
            yield i == 0, (start, min(start + step, high))


def _split(
    problem: AttentionProblem,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    span: Span,
    scale: float,
    cap: float,
    sink: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Finished attention of the packed rows over the keys of one split.

    Shapes:
        q: [Hkv, Nq * group, D]; k, v: [Hkv, Nk, D or Dv]; o: [Hkv, Nq * group, Dv].
    """
    state = SoftmaxState.empty(q.shape[:2], v.shape[-1], sink=sink, dtype=q.dtype, device=q.device)
    for start in range(*span, BLOCK_N):
        cols = (start, min(start + BLOCK_N, span[1]))
        keys, values = (x[:, slice(*cols)].to(q.dtype) for x in (k, v))
        s = scale * (q @ keys.mT)  # [Hkv, Nq * group, N]
        if cap:
            s = cap * torch.tanh(s / cap)
        seen = visible_pairs(problem, (0, problem.len_q), cols, q.device)
        s = s.masked_fill(~seen.repeat_interleave(problem.group, 0), float("-inf"))
        state = state.update(s, values)
    return state.finish()
