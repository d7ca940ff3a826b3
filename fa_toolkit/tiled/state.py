"""The running state of attention over keys, (m, l, acc), and its merge. Knows no masks, no tiles.

Two states over different keys merge into the state over all of them, in any order and grouping:
that is what lets a row be cut into tiles, into splits of a cache, or across devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ..language import Text
from ..reference import compute_dtype
from ..reference.inputs import check_tensors

MINUS_INF = float("-inf")


class SoftmaxState(NamedTuple):
    """What attention knows of the keys seen so far, for each row of queries.

    The output is kept un-normalised, so that sums and output are repaired by the same factor
    when the maximum rises, and divided once, at the end.

        m   = max_j s_j        l = sum_j e^(s_j - m)        acc = sum_j e^(s_j - m) v_j

    Shapes:
        m, l: [..., M]; acc: [..., M, Dv].
    """

    m: Tensor
    l: Tensor  # noqa: E741  (the letter of the formula)
    acc: Tensor

    @classmethod
    def empty(
        cls,
        rows: Sequence[int],
        width: int,
        *,
        sink: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> SoftmaxState:
        """The state before any key: the neutral element of `merge`.

        A sink is a key without a value: m starts at it and l at 1.

        Args:
            rows: the shape of m and l, [..., M].
            width: Dv.
            sink: logits that broadcast to `rows`.
        """
        acc = torch.zeros(*rows, width, dtype=dtype, device=device)
        m = torch.full(tuple(rows), MINUS_INF, dtype=dtype, device=device)
        if sink is not None:
            m = sink.to(m).expand_as(m)
        return cls(m, (m != MINUS_INF).to(dtype), acc)

    def fold(
        self, s: Tensor, v: Tensor, factor: Tensor | float = 1.0
    ) -> tuple[SoftmaxState, Tensor, Tensor]:
        """Fold in one tile of scores and values; also (alpha, p), for those who want to watch.

            m_new = max(m, max_j s_j)     alpha = e^(m - m_new)     p = e^(s - m_new)
            l     = l * alpha + sum_j p_j           acc = acc * alpha + p v

        Shapes:
            s, p: [..., M, N]; v: [..., N, Dv]; alpha: [..., M].

        Args:
            factor: what dropout makes of each p before it meets v; l does not see it.
        """
        if s.shape[-1] == 0:
            return self, torch.ones_like(self.m), s
        m_new = torch.maximum(self.m, s.amax(-1))  # [..., M]
        pivot = _pivot(m_new)
        alpha = torch.exp(self.m - pivot)  # [..., M]
        p = torch.exp(s - pivot[..., None])  # [..., M, N]
        l_new = self.l * alpha + p.sum(-1)
        acc = self.acc * alpha[..., None] + factor * p @ v  # [..., M, Dv]
        return SoftmaxState(m_new, l_new, acc), alpha, p

    def update(self, s: Tensor, v: Tensor) -> SoftmaxState:
        """The state once one more tile of scores `s` and values `v` is folded in.

        Example:
            >>> state = SoftmaxState.empty([1], 1)
            >>> for s in ([1.0, 2.0], [3.0, 4.0]):
            ...     state = state.update(torch.tensor([s]), torch.ones(2, 1))
            >>> state.m.item(), round(state.l.item(), 4)
            (4.0, 1.553)
        """
        return self.fold(s, v)[0]

    def merge(self, other: SoftmaxState) -> SoftmaxState:
        """The state over the keys of both; associative and commutative up to rounding."""
        m_new = torch.maximum(self.m, other.m).detach()  # where it stands changes no result
        pivot = _pivot(m_new)
        mine, theirs = torch.exp(self.m - pivot), torch.exp(other.m - pivot)
        return SoftmaxState(
            m_new,
            self.l * mine + other.l * theirs,
            self.acc * mine[..., None] + other.acc * theirs[..., None],
        )

    def finish(self) -> tuple[Tensor, Tensor]:
        """(o, lse). A row that saw nothing has o = 0 and lse = -inf.

        o = acc / l        lse = m + log l
        """
        dead = self.m == MINUS_INF
        l_safe = self.l.masked_fill(dead, 1.0)
        return self.acc / l_safe[..., None], self.m + torch.log(l_safe)


def merge_partials(
    outs: Sequence[Tensor] | Tensor,
    lses: Sequence[Tensor] | Tensor,
    *,
    out_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention over all keys from attention over parts of them.

    Each finished part is a state again, with m = lse, l = 1, acc = o, so the parts merge as
    tiles do. Parts that saw nothing (lse = -inf) count nothing, whatever their o holds.

        lse = log sum_i e^(lse_i)        o = sum_i e^(lse_i - lse) o_i

    Shapes:
        outs: parts of [..., N, Dv], a list or stacked [parts, ...]; lses: parts of [..., N], rows in
            the order of o. Packed calls and 4-D decoding return lse with the heads first:
            lse.transpose(-1, -2) fits their o.

    Args:
        out_dtype: dtype of the result, that of `outs` if None.

    Returns:
        (o, lse); merging is done in float32, or float64 for float64 parts. Differentiable.

    Raises:
        ArgumentError: if there is no part, or as many of one as not of the other.
        DtypeError: if a part is no dense tensor of floating point numbers.
        DeviceError: if parts live on different devices.
        ShapeError: if a part's lse is not its o without the last axis, or parts differ.

    Example:
        >>> o, lse = merge_partials([torch.ones(1, 1), torch.zeros(1, 1)], torch.zeros(2, 1))
        >>> o.item(), round(lse.item(), 4)
        (0.5, 0.6931)
    """
    outs, lses = _listed("outs", outs), _listed("lses", lses)
    if not outs or len(outs) != len(lses):
        raise ArgumentError(
            "outs, lses",
            expected=Text("as many of each, at least one", "数量相同，且至少一份"),
            got=f"{len(outs)}, {len(lses)}",
        )
    for i, (o, lse) in enumerate(zip(outs, lses, strict=True)):
        _check_kind(f"outs[{i}]", o, outs[0])
        _check_kind(f"lses[{i}]", lse, outs[0])
        if o.shape != outs[0].shape or lse.shape != o.shape[:-1]:
            expected = f"{list(outs[0].shape)}, {list(outs[0].shape[:-1])}"
            got = f"{list(o.shape)}, {list(lse.shape)}"
            turned = lse.ndim > 1 and lse.transpose(-1, -2).shape == o.shape[:-1]
            hint = "lse.transpose(-1, -2)" if turned else ""
            raise ShapeError(f"outs[{i}], lses[{i}]", expected=expected, got=got, hint=hint)
    if out_dtype is None:
        out_dtype = outs[0].dtype
    if not isinstance(out_dtype, torch.dtype) or not out_dtype.is_floating_point:
        raise DtypeError(
            "out_dtype",
            expected=Text("a floating point torch.dtype, or None", "浮点的 torch.dtype 或 None"),
            got=repr(out_dtype),
            hint="torch.float32",
        )
    o, lse = reduce(SoftmaxState.merge, map(_part, outs, lses)).finish()
    return o.to(out_dtype), lse


def _listed(name: str, parts: Sequence[Tensor] | Tensor) -> list[Tensor]:
    if (isinstance(parts, Tensor) and parts.ndim == 0) or not isinstance(parts, Iterable):
        raise ArgumentError(
            name,
            expected=Text("a list of tensors, or one stacked", "张量的列表，或叠在一起的张量"),
            got=str(list(parts.shape)) if isinstance(parts, Tensor) else type(parts).__name__,
        )
    return list(parts)


def _check_kind(name: str, part: Tensor, first: Tensor) -> None:
    check_tensors(**{name: part})
    if not part.is_floating_point():
        raise DtypeError(
            name, expected=Text("a floating point type", "浮点类型"), got=str(part.dtype)
        )
    if part.device != first.device:
        raise DeviceError(name, expected=str(first.device), got=str(part.device))


def _part(o: Tensor, lse: Tensor) -> SoftmaxState:
    kind = compute_dtype(torch.promote_types(o.dtype, lse.dtype))
    dead = lse == MINUS_INF
    one = torch.ones_like(lse, dtype=kind).masked_fill(dead, 0.0)
    return SoftmaxState(lse.to(kind), one, o.to(kind).masked_fill(dead[..., None], 0.0))


def _pivot(m: Tensor) -> Tensor:
    """m, with 0 for a row that has seen nothing: never -inf minus -inf."""
    return m.masked_fill(m == MINUS_INF, 0.0)
