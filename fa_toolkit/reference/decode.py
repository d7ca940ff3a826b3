"""Decoding, one sequence after the other: cut its keys out of the cache, call `attention`."""

from __future__ import annotations

import torch
from torch import Tensor

from .attention import attention
from .cache import cached, decode_problem, lengths_of, with_queries
from .inputs import compute_dtype


def decode_attention(
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
) -> tuple[Tensor, Tensor]:
    """Attention of the newest queries over a cache of which each sequence fills a part.

    The Nq queries of a sequence are its last positions: query i stands at seq_len + i - Nq. Entries
    past a length are never looked at. A sequence of length 0 gives o = 0, lse = -inf (or the sink).

    Shapes:
        q: [B, Nq, Hq, D]; o: [B, Nq, Hq, Dv]; lse: [B, Hq, Nq]; or, for one query,
        q: [B, Hq, D]; o: [B, Hq, Dv]; lse: [B, Hq];
        k_cache, v_cache: [B, Hkv, N, D or Dv]; or pages [blocks, page, Hkv, D or Dv], of which
        row b of block_table, [B, max_blocks], lists those of sequence b; seq_lens: [B].

    Args:
        seq_lens: int32, keys of each sequence, the new ones included.
        block_table: int32; entries past the pages a length needs may hold anything.
        causal, window, softcap, scale, sink: as in `attention`.

    Returns:
        o in the dtype of q; lse in natural units, float32 (float64 for float64 inputs).

    Example:
        >>> cache = torch.ones(2, 1, 8, 4)
        >>> o, lse = decode_attention(
        ...     torch.zeros(2, 3, 4), cache, cache, seq_lens=torch.tensor([5, 0], dtype=torch.int32)
        ... )
        >>> o[:, 0, 0].round(), lse[:, 0].exp().round()
        (tensor([1., 0.]), tensor([5., 0.]))
    """
    problem = decode_problem(
        q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
    )
    new, outs, lses = with_queries(q), [], []
    for b, length in enumerate(lengths_of(problem, seq_lens)):
        k, v = (cached(x, b, length, block_table)[None] for x in (k_cache, v_cache))
        one = new[b : b + 1].transpose(1, 2)  # [1, Hq, Nq, D]
        o, lse = attention(
            one, k, v, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink
        )
        outs.append(o.transpose(1, 2))
        lses.append(lse)
    o = torch.cat(outs) if outs else new.new_zeros(*new.shape[:3], problem.head_dim_v)
    rows = (problem.batch, problem.heads_q, problem.len_q)
    lse = torch.cat(lses) if lses else new.new_zeros(rows, dtype=compute_dtype(q.dtype))
    return (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])
