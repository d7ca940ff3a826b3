"""Rows of a batch as one packed line of tokens: what is padding leaves, what restarts is cut.

Index arithmetic only, done once per mask; `attention` applies it in every layer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Packing:
    """Which tokens of a [B, N] batch lie in which packed sequence.

    Args:
        tokens_q, tokens_k: indices of the tokens that take part, into the batch laid flat; None:
            all of them.
        cu_seqlens_q, cu_seqlens_k: int32, 0 and the running sums of the lengths.
        longest_q, longest_k: the longest lengths.
    """

    tokens_q: Tensor | None
    tokens_k: Tensor | None
    cu_seqlens_q: Tensor
    cu_seqlens_k: Tensor
    longest_q: int
    longest_k: int

    def to(self, device: Any) -> Packing:
        """The same on another device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {
            name: x.to(device) for name, x in values.items() if isinstance(x, Tensor)
        }
        return replace(self, **moved)


def unpadded(valid: Tensor, queries: Tensor | None, len_q: int) -> Packing:
    """The tokens that are no padding, row after row.

    Args:
        valid: [B, Nk], keys that exist.
        queries: [B, Nq], queries that exist; None: all of them, as in cross attention.
        len_q: Nq.
    """
    batch = valid.shape[0]
    tokens_k, cu_k, longest_k = _kept(valid)
    if queries is not None:
        tokens_q, cu_q, longest_q = _kept(queries)
        return Packing(tokens_q, tokens_k, cu_q, cu_k, longest_q, longest_k)
    cu_q = torch.arange(batch + 1, dtype=torch.int32, device=valid.device) * len_q
    return Packing(None, tokens_k, cu_q, cu_k, len_q, longest_k)


def cut(starts: Tensor) -> Packing | None:
    """Sequences that begin where `starts`, [B, N], is true; None if every row is just one."""
    starts = starts.clone()
    starts[:, 0] = True
    flat = starts.flatten()
    begins = flat.nonzero()[:, 0].to(torch.int32)
    if len(begins) == len(starts):
        return None
    cu = torch.nn.functional.pad(begins, (0, 1), value=flat.numel())
    longest = int(cu.diff().max())
    return Packing(None, None, cu, cu, longest, longest)


def has_holes(valid: Tensor) -> bool:
    """Whether padding stands between tokens of some row of `valid`, [B, N]."""
    before = torch.nn.functional.pad(valid, (1, 0))[:, :-1]
    return bool(((valid & ~before).sum(-1) > 1).any())


def _kept(valid: Tensor) -> tuple[Tensor, Tensor, int]:
    """Indices into the flat batch, running sums of the lengths, the longest."""
    lengths = valid.sum(-1, dtype=torch.int32)
    cu = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    return valid.flatten().nonzero()[:, 0], cu, int(lengths.max()) if len(lengths) else 0
