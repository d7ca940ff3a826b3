"""Packed sequences of different lengths, one after the other: slice, call `attention`, put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ..language import Text
from .attention import Gradients, attention
from .inputs import check_tensors, compute_dtype, problem_of

Span = tuple[int, int]
Forward = Callable[..., tuple[Tensor, Tensor]]
Backward = Callable[..., Gradients]


def varlen_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention inside each of B sequences that lie packed end to end in one tensor.

    Sequence b owns the tokens cu_seqlens[b] to cu_seqlens[b + 1]; it may be empty, and masks are
    bottom-right within it. Tokens past the last offset belong to nobody: o = 0, lse = -inf.

    Shapes:
        q: [Tq, Hq, D]; k: [Tk, Hkv, D]; v: [Tk, Hkv, Dv]; cu_seqlens: [B + 1];
        o: [Tq, Hq, Dv]; lse: [Hq, Tq].

    Args:
        cu_seqlens_q, cu_seqlens_k: int32, 0 and the running sums of the lengths.
        causal, window, softcap, scale, sink, dropout_p, seed: as in `attention`; what is dropped
            is a function of the seed, the number of the sequence, and head, row and key within it.

    Example:
        >>> x = torch.ones(6, 1, 4)
        >>> ends = torch.tensor([0, 2, 2, 5], dtype=torch.int32)  # 2, 0 and 3 tokens, 1 left over
        >>> o, lse = varlen_attention(x, x, x, cu_seqlens_q=ends, cu_seqlens_k=ends, scale=0.0)
        >>> o[:, 0, 0].round(), lse[0].exp().round()
        (tensor([1., 1., 1., 1., 1., 0.]), tensor([2., 2., 3., 3., 3., 0.]))
    """
    check_packed(q, k, v, cu_seqlens_q, cu_seqlens_k)
    problem_of(*(dense(x, (0, 0)) for x in (q, k, v)), causal=causal, window=window, sink=sink)
    return each_forward(
        attention, q, k, v, cu_seqlens_q, cu_seqlens_k,
        causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed,
    )  # fmt: skip


def each_forward(
    forward: Forward, q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, **keywords: Any
) -> tuple[Tensor, Tensor]:
    """`forward` of one sequence after the other; reads the offsets on the host.

    Shapes, keywords:
        as in `varlen_attention`.
    """
    pairs = zip(spans(cu_q, len(q)), spans(cu_k, len(k)), strict=True)
    results = []
    for b, (own, keys) in enumerate(pairs):
        one = (dense(q, own), dense(k, keys), dense(v, keys))
        results.append((own, *forward(*one, batch_start=b, **keywords)))
    return packed(q, v.shape[-1], results)


def each_backward(
    backward: Backward,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None,
    cu_q: Tensor,
    cu_k: Tensor,
    *,
    sink: Tensor | None = None,
    **keywords: Any,
) -> Gradients:
    """`backward` of one sequence after the other; 0 for tokens that belong to nobody.

    Shapes, keywords:
        as in `varlen_attention`; do as o, dlse as lse, each gradient as its tensor.
    """
    dq, dk, dv = (x.new_zeros(x.shape) for x in (q, k, v))
    wide = None if sink is None else sink.to(lse.dtype)
    dsink = None if wide is None else torch.zeros_like(wide)
    pairs = zip(spans(cu_q, len(q)), spans(cu_k, len(k)), strict=True)
    for b, (own, keys) in enumerate(pairs):
        rows = slice(*own)
        one = backward(
            dense(q, own), dense(k, keys), dense(v, keys), dense(o, own), lse[None, :, rows],
            dense(do, own), None if dlse is None else dlse[None, :, rows],
            sink=wide, batch_start=b, **keywords,
        )  # fmt: skip
        for grad, span, found in zip((dq, dk, dv), (own, keys, keys), one[:3], strict=True):
            grad[slice(*span)] = found[0].transpose(0, 1)
        if dsink is not None and one.dsink is not None:
            dsink = dsink + one.dsink
    return Gradients(dq, dk, dv, None if sink is None or dsink is None else dsink.to(sink.dtype))


def check_packed(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor
) -> None:
    """Check what only packed tensors can get wrong; `problem_of` checks the rest.

    Raises:
        ShapeError, DtypeError, DeviceError: naming the argument that does not fit.
    """
    check_tensors(cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 3:
            raise ShapeError(name, expected="[T, H, D]", got=str(list(x.shape)))
    if v.shape[:2] != k.shape[:2]:
        raise ShapeError("v", expected=f"{list(k.shape[:2])} + Dv", got=str(list(v.shape)))
    for name, x in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if x.dtype != torch.int32:
            hint = f"{name}.to(torch.int32)"
            raise DtypeError(name, expected="torch.int32", got=str(x.dtype), hint=hint)
        if x.device != q.device:
            raise DeviceError(
                name,
                expected=Text(f"the device of q, {q.device}", f"与 q 同在 {q.device}"),
                got=str(x.device),
                hint=f"{name}.to(q.device)",
            )
        if x.ndim != 1 or not len(x) or len(x) != len(cu_seqlens_q):
            expected = f"[{max(cu_seqlens_q.numel(), 1)}]" if name[-1] == "k" else "[B + 1]"
            raise ShapeError(name, expected=expected, got=str(list(x.shape)))


def check_offsets(name: str, offsets: Tensor, tokens: int) -> None:
    """Look at the offsets themselves: they start at 0, never fall and end inside the tensor.

    Raises:
        ArgumentError: with the offsets that came.
    """
    listed = offsets.tolist()
    if listed[0] != 0 or listed[-1] > tokens or listed != sorted(listed):
        raise ArgumentError(
            name,
            expected=Text(
                f"0 first, never falling, at most {tokens}", f"从 0 开始，不下降，不超过 {tokens}"
            ),
            got=str(listed),
        )


def spans(offsets: Tensor, tokens: int) -> list[Span]:
    """(start, stop) of each sequence, kept in order and inside the tensor whatever they say.

    Example:
        >>> spans(torch.tensor([0, 3, 2, 9]), 5)
        [(0, 3), (3, 3), (3, 5)]
    """
    kept = offsets.clamp(0, tokens).cummax(0).values.tolist()
    return list(pairwise(kept))


def dense(x: Tensor, span: Span) -> Tensor:
    """The tokens of one sequence as a batch of one, [1, H, N, D]."""
    return x[slice(*span)].transpose(0, 1)[None]


def packed(
    q: Tensor, width: int, results: Iterable[tuple[Span, Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """(o, lse) of all tokens from those of each sequence; 0 and -inf where no sequence is.

    Shapes:
        results: o [1, Hq, n, Dv] and lse [1, Hq, n] of each span; o: [Tq, Hq, Dv]; lse: [Hq, Tq].
    """
    tokens, heads = q.shape[:2]
    results = list(results)
    like_o, like_lse = results[0][1:] if results else (q, q.to(compute_dtype(q.dtype)))
    outs, lses, end = [], [], 0

    def nobody(count: int) -> None:
        outs.append(like_o.new_zeros(count, heads, width))
        lses.append(like_lse.new_full((heads, count), float("-inf")))

    for (start, stop), o, lse in results:
        nobody(start - end)
        outs.append(o[0].transpose(0, 1))
        lses.append(lse[0])
        end = stop
    nobody(tokens - end)
    return torch.cat(outs), torch.cat(lses, dim=1)
