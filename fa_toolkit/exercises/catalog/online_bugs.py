"""Bugs of the running maximum and sum of one row, for the exercise that carries no values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..spec import Variant
from .state_bugs import walked


def _stepped(x: torch.Tensor, block: int, bug: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A row without values, tile by tile, with a bug of the state."""
    return walked(x, x.new_zeros(len(x), 1), block, bug)[:2]


_TEXTS = (
    (
        "tile-maximum",
        "A block is summed relative to its own maximum. All terms must be relative to the "
        "same m′, the maximum of everything seen.",
        "一块是相对于自己的最大值求和的。所有项都要相对于同一个 m′，也就是已见的最大值。",
    ),
    (
        "old-maximum",
        "The new terms subtract the old m. Take the maximum first, then e^(x − m′).",
        "新的各项减的是旧的 m。先求最大值，再算 e^(x − m′)。",
    ),
    (
        "factor-on-the-sum",
        "The factor e^(m − m′) multiplies the new terms as well. Rescale the old sum "
        "first, then add.",
        "e^(m − m′) 连新的各项也乘了。先修正旧的和，再加新的。",
    ),
    (
        "rescaled-twice",
        "The old sum is multiplied by the factor twice in a step.",
        "一步之内，旧的和乘了两次修正因子。",
    ),
    (
        "maximum-not-kept",
        "The new maximum is not carried to the next step: m = m′ is missing.",
        "新的最大值没有带到下一步：漏了 m = m′。",
    ),
    (
        "block-maximum",
        "m is the maximum of the last block alone: keep the larger of the old and the new.",
        "m 只是最后一块的最大值：应取新旧两者中较大的。",
    ),
    (
        "pivot-carried",
        "The 0 that stands in for −inf was kept as the maximum. It belongs in the exponent only.",
        "代替 −inf 的那个 0 被当成最大值留下了。它只该出现在指数里。",
    ),
    (
        "dead-keys-counted",
        "−inf − (−inf) was turned into 0 before the exponential, and e^0 = 1 counts every "
        "hidden element. Subtract 0 in place of −inf, so that e^−inf = 0.",
        "−inf − (−inf) 在取指数之前被换成了 0，而 e^0 = 1 把它们都算了进来。"
        "应当用 0 代替要减的 −inf，于是 e^−inf = 0。",
    ),
    (
        "dead-block-ends",
        "A block of nothing but −inf ends the walk; what comes after it is lost. Skip it "
        "and go on.",
        "遇到整块都是 −inf 就停了，后面的全丢了。应跳过这一块，继续往下走。",
    ),
)
#: The form in which a bug shows in l; and its other forms.
_FIRST = {"rescaled-twice": "rescaled-twice/l"}
_ALSO = {"old-maximum": ("old-maximum/raw",), "block-maximum": ("block-maximum/returned",)}


def _form(form: str) -> Callable[..., Any]:
    return lambda x, block: _stepped(x, block, form)


STEPS = tuple(
    Variant(bug, Text(en, zh), _form(_FIRST.get(bug, bug)), tuple(map(_form, _ALSO.get(bug, ()))))
    for bug, en, zh in _TEXTS
)
