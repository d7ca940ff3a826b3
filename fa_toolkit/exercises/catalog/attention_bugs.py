"""Attention in a few lines of torch, right and with one planted bug. No exercise by itself."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ...language import Text
from ..spec import Variant, visible


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """The dull reference: three lines, and rows without keys are 0."""
    hidden = ~visible(q.shape[-2], k.shape[-2]) & causal  # [Nq, Nk]
    s = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(hidden, -torch.inf)
    return torch.softmax(s, dim=-1).masked_fill(hidden, 0.0) @ v  # [..., Nq, Dv]


def wrong(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    hidden: torch.Tensor | None,
    *,
    scale: float | None = None,
    dim: int = -1,
) -> torch.Tensor:
    s = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    return torch.softmax(s, dim=dim) @ v


def top_left(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    rows, cols = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    return wrong(q, k, v, rows < cols if causal else None)


def strict(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    rows = torch.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
    hidden = rows <= torch.arange(k.shape[-2])
    return wrong(q, k, v, hidden if causal else None).nan_to_num(0.0)


def _masked_late(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    p = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1)
    return p.masked_fill(~visible(q.shape[-2], k.shape[-2]) & causal, 0.0) @ v


def _filled(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, value: float
) -> torch.Tensor:
    hidden = ~visible(q.shape[-2], k.shape[-2]) & causal
    s = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(hidden, value)
    return torch.softmax(s, dim=-1) @ v


def _scaled(factor: Callable[..., float]) -> Callable[..., torch.Tensor]:
    """Right but for the scale."""

    def scaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
        hidden = ~visible(q.shape[-2], k.shape[-2]) & causal
        return wrong(q, k, v, hidden, scale=factor(q, k, v)).nan_to_num(0.0)

    return scaled


def more() -> tuple[Variant, ...]:
    """Scales and masks that are nearly right."""
    return (
        Variant(
            "scale-of-length",
            Text("You scale by a number of rows. It is 1/√D, D the width of q and k: their last axis.",
                 "你按行数缩放了。应是 1/√D，D 是 q、k 的宽度，也就是最后一轴。"),
            _scaled(lambda q, k, v: k.shape[-2] ** -0.5),
            (_scaled(lambda q, k, v: q.shape[-2] ** -0.5),),
        ),
        Variant(
            "scale-of-v",
            Text("You scale by the width of v. It is 1/√D, D the width of q and k.",
                 "你按 v 的宽度缩放了。应是 1/√D，D 是 q、k 的宽度。"),
            _scaled(lambda q, k, v: v.shape[-1] ** -0.5),
        ),
        Variant(
            "scale-upside-down",
            Text("The scores are multiplied by √D. They are divided by it.",
                 "分数乘了 √D，应是除以它。"),
            _scaled(lambda q, k, v: q.shape[-1] ** 0.5),
        ),
        Variant(
            "masked-to-zero",
            Text("Hidden scores are 0, and e^0 counts. They must be −inf.",
                 "被遮住的分数是 0，而 e^0 会计入。应为 −inf。"),
            lambda q, k, v, c: _filled(q, k, v, c, 0.0),
        ),
        Variant(
            "finite-mask",
            Text("Hidden scores are a large negative number: a row without keys then averages V. "
                 "They must be −inf, and such a row 0.",
                 "被遮住的分数用了很大的负数，没有 key 的行就成了 V 的平均。应为 −inf，这样的行应为 0。"),
            lambda q, k, v, c: _filled(q, k, v, c, -1e9),
            (lambda q, k, v, c: _filled(q, k, v, c, -1e4),
             lambda q, k, v, c: _filled(q, k, v, c, float(torch.finfo(q.dtype).min))),
        ),
        Variant(
            "masked-after-softmax",
            Text("The mask acts after softmax, so hidden keys are still in the denominator: mask the "
                 "scores.",
                 "掩码加在 softmax 之后，被遮住的 key 还在分母里：应遮住分数。"),
            _masked_late,
        ),
        Variant(
            "mask-always",
            Text("The mask acts without causal as well.", "causal 为假时掩码也起作用了。"),
            lambda q, k, v, c: attention(q, k, v, True),
        ),
        Variant(
            "past-hidden",
            Text("The comparison is turned round: rows see the future and not the past.",
                 "比较的方向反了：看到的是后面，看不到前面。"),
            lambda q, k, v, c: wrong(
                q, k, v, visible(q.shape[-2], k.shape[-2]) if c else None
            ).nan_to_num(0.0),
        ),
    )  # fmt: skip
