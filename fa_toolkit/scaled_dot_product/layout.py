"""Torch's layouts of attention, brought to four axes and back. Moves no data where a view will do."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import ShapeError
from ..language import Text


class Layout(NamedTuple):
    """A call brought to four axes, and the way back.

    Args:
        tensors: q, k, v as [B, H, N, D]; a single key/value head is left for all query heads.
        lead: the batch axes, broadcast.
        axes: how many the result has.
    """

    tensors: tuple[Tensor, Tensor, Tensor]
    lead: tuple[int, ...]
    axes: int

    @classmethod
    def of(cls, query: Tensor, key: Tensor, value: Tensor, gqa: bool) -> Layout:
        """Check the shapes against each other.

        Raises:
            ShapeError: naming the tensor that does not fit.
        """
        named = {"query": query, "key": key, "value": value}
        for name, x in named.items():
            if x.ndim < (3 if gqa else 2):
                wanted = Text("[..., H, N, D]" if gqa else "[..., N, D]", " [..., H, N, D]")
                raise ShapeError(name, expected=wanted, got=str(list(x.shape)))
        width, length = query.shape[-1], key.shape[-2]
        if key.shape[-1] != width:
            raise ShapeError("key", expected=f"[..., Nk, {width}]", got=str(list(key.shape)))
        if value.shape[-2] != length:
            raise ShapeError("value", expected=f"[..., {length}, Dv]", got=str(list(value.shape)))
        axes = max(x.ndim for x in named.values())
        full = {n: x[(None,) * (max(3, axes) - x.ndim)] for n, x in named.items()}
        lead = _broadcast({name: x.shape[:-3] for name, x in full.items()})
        heads = {name: x.shape[-3] for name, x in full.items()}
        heads = _grouped(heads) if gqa else _shared(heads)
        shaped = []
        for name, x in full.items():
            if gqa and x.shape[-3] != heads[name]:
                x = x.repeat_interleave(heads[name] // x.shape[-3], dim=-3)
            x = x.expand(*lead, heads[name], *x.shape[-2:])
            if len(lead) != 1:
                x = x.reshape(math.prod(lead), heads[name], *x.shape[-2:])
            shaped.append(x)
        return cls((shaped[0], shaped[1], shaped[2]), lead, axes)

    @property
    def scores(self) -> tuple[int, ...]:
        """[..., Hq, Nq, Nk], what a mask broadcasts to."""
        q, k, _ = self.tensors
        return (*self.lead, q.shape[1], q.shape[2], k.shape[2])

    def result(self, o: Tensor, query: Tensor) -> Tensor:
        """[B, H, N, Dv] with the axes of the call again, in memory in the order of those of query.

        As in torch's fused kernels; the last axis is dense always.
        """
        o = o.reshape(*self.lead, *o.shape[1:]) if len(self.lead) != 1 else o
        o = o[0] if self.axes == 2 else o
        order = list(range(self.axes))
        if query.shape[:-1] == o.shape[:-1]:
            order = [*_widest_first(query.shape[:-1], query.stride()[:-1]), self.axes - 1]
        back = [order.index(at) for at in range(self.axes)]
        return o.permute(order).contiguous().permute(back)


def _widest_first(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The axes by falling stride, as torch orders them: one of stride 0 stays where it stands.

    Sorted by hand: such an order is not total, and the compiler has no `sorted` for unknown sizes.
    """
    order = list(reversed(range(len(sizes))))  # narrowest first
    for place in range(1, len(order)):
        at = place
        for before in reversed(range(place)):
            here, there = order[at], order[before]
            if strides[here] == 0 or strides[there] == 0:
                continue
            wider = strides[there] > strides[here]
            if wider or (strides[there] == strides[here] and sizes[there] > sizes[here]):
                order[at], order[before], at = there, here, before
            elif strides[there] < strides[here]:
                break
    return order[::-1]


def _broadcast(shapes: dict[str, torch.Size]) -> tuple[int, ...]:
    """The one shape they all broadcast to; all have as many axes.

    Raises:
        ShapeError: naming the tensor that does not fit.
    """
    found = [1] * len(shapes["query"])
    for name, shape in shapes.items():
        for at, size in enumerate(shape):
            if found[at] == 1:
                found[at] = size
            elif size not in (1, found[at]):
                raise ShapeError(
                    name,
                    expected=Text(
                        f"batch axes that broadcast to {found}", f"能广播到 {found} 的批次维度"
                    ),
                    got=str(list(shape)),
                )
    return tuple(found)


def _shared(heads: dict[str, int]) -> dict[str, int]:
    """Heads without `enable_gqa`: broadcast, except that one key/value head serves all as it is.

    Raises:
        ShapeError: if they differ.
    """
    wanted = next((count for count in heads.values() if count != 1), 1)
    for name, count in heads.items():
        if count not in (1, wanted):
            raise ShapeError(
                name,
                expected=Text(f"{wanted} heads, or 1", f"{wanted} 个头，或 1 个"),
                got=str(count),
                hint=Text(
                    "enable_gqa=True, where query heads share key heads",
                    "enable_gqa=True，让多个 query 头共用一个 key 头",
                ),
            )
    served = 1 if heads["key"] == heads["value"] == 1 else wanted
    return {"query": wanted, "key": served, "value": served}


def _grouped(heads: dict[str, int]) -> dict[str, int]:
    """Heads under `enable_gqa`; where key and value differ, both are repeated for every query head.

    Raises:
        ShapeError: if the heads of key or value do not divide those of query.
    """
    total = heads["query"]
    for name in ("key", "value"):
        count = heads[name]
        if count != total and (count == 0 or total % count):
            raise ShapeError(
                name,
                expected=Text(
                    f"a number of heads that divides the {total} of query",
                    f"头数能整除 query 的 {total} 个头",
                ),
                got=str(count),
            )
    same = heads["key"] == heads["value"]
    return heads if same else {"query": total, "key": total, "value": total}
