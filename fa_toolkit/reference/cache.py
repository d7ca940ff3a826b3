"""Caches of keys and values: what a decode call must look like, and how one sequence is read.

A cache is one long row of slots per sequence, or pages of slots that a block table strings
together. Computes no attention.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ..language import Text
from ..problem import ITEMSIZE, AttentionProblem
from .inputs import check_tensors


def decode_problem(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    seq_lens: Tensor,
    block_table: Tensor | None = None,
    *,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    sink: Tensor | None = None,
) -> AttentionProblem:
    """Check the tensors of a decode call against each other; looks at no value on the device.

    Returns:
        the problem with len_k = the most keys a sequence can have: N, or max_blocks * page.

    Shapes:
        q: [B, Hq, D] or [B, Nq, Hq, D]; seq_lens: [B]; block_table: [B, max_blocks];
        k_cache, v_cache: [B, Hkv, N, D or Dv], or [blocks, page, Hkv, D or Dv] with a table.

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
    """
    tables = {} if block_table is None else {"block_table": block_table}
    sinks = {} if sink is None else {"sink": sink}
    check_tensors(q=q, k_cache=k_cache, v_cache=v_cache, seq_lens=seq_lens, **tables, **sinks)
    if q.ndim not in (3, 4):
        raise ShapeError("q", expected="[B, Hq, D] | [B, Nq, Hq, D]", got=str(list(q.shape)))
    dtype = str(q.dtype).removeprefix("torch.")
    if dtype not in ITEMSIZE:
        raise DtypeError("q", expected=" | ".join(ITEMSIZE), got=str(q.dtype))
    for name, x in (("k_cache", k_cache), ("v_cache", v_cache)):
        _check_kind(name, x, q.dtype, q.device)
    _check_kind("seq_lens", seq_lens, torch.int32, q.device)
    if block_table is not None:
        _check_kind("block_table", block_table, torch.int32, q.device)
    batch, len_q, heads_q, head_dim = with_queries(q).shape
    _check_shape("seq_lens", seq_lens, (batch,))
    if block_table is None:
        _check_shape("k_cache", k_cache, (batch, None, None, head_dim), "[B, Hkv, N, D]")
        heads_kv, capacity = k_cache.shape[1:3]
    else:
        _check_shape("block_table", block_table, (batch, None), f"[{batch}, max_blocks]")
        _check_shape("k_cache", k_cache, (None, None, None, head_dim), "[blocks, page, Hkv, D]")
        heads_kv, capacity = k_cache.shape[2], block_table.shape[1] * k_cache.shape[1]
        capacity = capacity if k_cache.shape[0] else 0
    _check_shape("v_cache", v_cache, (*k_cache.shape[:3], None), f"{list(k_cache.shape[:3])} + Dv")
    if v_cache.shape[3] == 0:  # AttentionProblem reads 0 as "the same as head_dim"
        raise ShapeError("v_cache", expected="Dv 1..256", got=str(list(v_cache.shape)))
    if sink is not None:
        _check_shape("sink", sink, (heads_q,))
    sizes = (batch, heads_q, heads_kv, len_q, capacity, head_dim, v_cache.shape[3])
    try:
        return AttentionProblem(*sizes, dtype, causal, window)  # type: ignore[arg-type]
    except ArgumentError as error:
        if error.name == "heads_q":
            error.hint = _LAYOUTS
        raise


_LAYOUTS = Text(
    "q is [B, Hq, D] or [B, Nq, Hq, D], a cache [B, Hkv, N, D], pages are [blocks, page, Hkv, D]",
    "q 是 [B, Hq, D] 或 [B, Nq, Hq, D]，缓存是 [B, Hkv, N, D]，页是 [blocks, page, Hkv, D]",
)


def _check_kind(name: str, x: Tensor, dtype: torch.dtype, device: torch.device) -> None:
    if x.dtype != dtype:
        raise DtypeError(name, expected=str(dtype), got=str(x.dtype), hint=f"{name}.to({dtype})")
    if x.device != device:
        raise DeviceError(
            name,
            expected=Text(f"the device of q, {device}", f"与 q 同在 {device}"),
            got=str(x.device),
            hint=f"{name}.to(q.device)",
        )


def _check_shape(
    name: str, x: Tensor, wanted: tuple[int | None, ...], text: str | None = None
) -> None:
    fits = x.ndim == len(wanted) and all(
        b is None or a == b for a, b in zip(x.shape, wanted, strict=True)
    )
    if not fits:
        raise ShapeError(name, expected=text or str(list(wanted)), got=str(list(x.shape)))


def check_values(
    problem: AttentionProblem, k_cache: Tensor, seq_lens: Tensor, block_table: Tensor | None
) -> None:
    """Look at the lengths and page ids themselves: one synchronisation with the device.

    Raises:
        ArgumentError: if a length lies outside 0..len_k, or a page that is needed does not exist.
    """
    wrong = (seq_lens < 0) | (seq_lens > problem.len_k)
    checks = [("seq_lens", wrong, seq_lens, problem.len_k)]
    if block_table is not None:
        pages, page = k_cache.shape[:2]
        first = torch.arange(block_table.shape[1], device=seq_lens.device) * page
        needed = first[None, :] < seq_lens[:, None]
        missing = needed & ((block_table < 0) | (block_table >= pages))
        checks.append(("block_table", missing, block_table, pages - 1))
    if not torch.stack([bad.any() for _, bad, _, _ in checks]).any():
        return
    name, bad, values, most = next(c for c in checks if c[1].any())
    place = bad.nonzero()[0].tolist()
    raise ArgumentError(
        f"{name}{place}",
        expected=Text(f"a whole number 0..{most}", f"整数 0..{most}"),
        got=str(values[tuple(place)].item()),
    )


def with_queries(q: Tensor) -> Tensor:
    """[B, Nq, Hq, D], whichever form q came in."""
    return q if q.ndim == 4 else q[:, None]


def lengths_of(problem: AttentionProblem, seq_lens: Tensor) -> list[int]:
    """The keys of each sequence, kept inside the cache whatever the tensor says."""
    return [int(n) for n in seq_lens.clamp(0, problem.len_k).tolist()]


def cached(cache: Tensor, b: int, length: int, block_table: Tensor | None = None) -> Tensor:
    """The first `length` entries of sequence `b`, [Hkv, length, D], in order.

    Page ids outside the cache are moved to its nearest page: wrong numbers, but no wild access.

    Example:
        >>> pages = torch.arange(6.0).reshape(3, 2, 1, 1)  # 3 pages of 2 slots
        >>> cached(pages, 0, 3, torch.tensor([[2, 0]]))[0, :, 0]
        tensor([4., 5., 0.])
    """
    if block_table is None:
        return cache[b, :, :length]
    page = max(cache.shape[1], 1)
    ids = block_table[b, : -(-length // page)].long().clamp(0, max(cache.shape[0] - 1, 0))
    return cache[ids].flatten(0, 1)[:length].transpose(0, 1)
