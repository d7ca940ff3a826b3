"""The update of (m, l, acc) with one planted bug, and the sentences that name the bugs."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..spec import Variant

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
_INF = math.inf

#: The same mistake made in another place or with other numbers: "bug/form".
FORMS: dict[str, tuple[str, ...]] = {
    "factor-on-the-sum": ("factor-on-the-sum/l", "factor-on-the-sum/acc"),
    "old-maximum": ("old-maximum/raw",),
    "one-maximum": ("one-maximum/of-the-tile",),
    "block-maximum": ("block-maximum/returned",),
    "rescaled-twice": ("rescaled-twice/l", "rescaled-twice/both"),
    "normalised-each-step": ("normalised-each-step/blended",),
    "rescaled-by-largest": ("rescaled-by-largest/all",),
    "finite-mask": ("finite-mask/6", "finite-mask/5", "finite-mask/4", "finite-mask/most"),
    "mask-within-tile": ("mask-within-tile/rows", "mask-within-tile/cols"),
    "diagonal-tile-skipped": ("diagonal-tile-skipped/floor",),
    "own-key-hidden": ("own-key-hidden/patched",),
    "cut-tile-unmasked": (
        "cut-tile-unmasked/first-key",
        "cut-tile-unmasked/one-less",
        "cut-tile-unmasked/same-start",
    ),
    "lse-base-mixed": ("lse-base-mixed/l",),
    "counted-before-the-end": ("counted-before-the-end/but-last",),
}


def variant(
    bug: str,
    en: str,
    zh: str,
    fn: Callable[[str], Callable[..., Any]],
    without: frozenset[str] = frozenset(),
) -> Variant:
    """The bug in all its forms, `fn` being made for each, but for those `without` effect here."""
    forms = [form for form in FORMS.get(bug, ()) if form not in without]
    return Variant(bug, Text(en, zh), fn(bug), tuple(map(fn, forms)))


def _maxima(m: torch.Tensor, s: torch.Tensor, bug: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum that is kept, and the one that exponents subtract."""
    new = torch.maximum(m, s.amax(1))
    if bug == "one-maximum":
        new = new.max().expand_as(new)
    if bug == "one-maximum/of-the-tile":
        new = torch.maximum(m, s.max())
    if bug == "block-maximum":
        new = s.amax(1)
    pivot = torch.where(new == -_INF, 0.0, new)
    if bug == "inf-minus-inf" or (bug == "guard-for-all" and not bool((new == -_INF).all())):
        pivot = new
    kept = {
        "pivot-carried": pivot, "block-maximum/returned": s.amax(1), "maximum-not-kept": m,
    }.get(bug, new)  # fmt: skip
    return kept, pivot


def _factors(m: torch.Tensor, pivot: torch.Tensor, bug: str) -> tuple[torch.Tensor, torch.Tensor]:
    """What the old l and the old acc are multiplied by."""
    alpha = (m - pivot).exp()
    if bug == "inverse-factor":
        alpha = torch.where(m == -_INF, 1.0, (pivot - m).exp())
    one, twice = torch.ones_like(alpha), alpha * alpha
    of_l = one if bug in ("l-not-rescaled", "nothing-rescaled") else alpha
    of_acc = one if bug in ("acc-not-rescaled", "nothing-rescaled") else alpha
    of_l = torch.zeros_like(one) if bug == "l-last-step-only" else of_l
    of_l = twice if bug in ("rescaled-twice/l", "rescaled-twice/both") else of_l
    return of_l, twice if bug in ("rescaled-twice", "rescaled-twice/both") else of_acc


def _added(
    old: torch.Tensor, new: torch.Tensor, factor: torch.Tensor, *, together: bool
) -> torch.Tensor:
    return (old + new) * factor if together else old * factor + new


def folded(state: State, s: torch.Tensor, v: torch.Tensor, bug: str = "") -> State:
    """One tile folded into a state, with one planted bug."""
    m, l, acc = (x.double() for x in state)
    s, v = s.double(), v.double()
    new, pivot = _maxima(m, s, bug)
    of_l, of_acc = _factors(m, pivot, bug)
    if _kept_back(m, new, bug):
        of_l = of_acc = torch.ones_like(m)
    p = (s - _subtracted(m, new, pivot, s, bug)[:, None]).exp()
    if bug == "dead-keys-counted":
        p = p.masked_fill((new == -_INF)[:, None], 1.0)
    weights = p / p.sum(1, keepdim=True) if bug == "tile-normalised" else p
    before = l * of_l
    l = _added(l, p.sum(1), of_l, together=bug in ("factor-on-the-sum", "factor-on-the-sum/l"))
    both = bug in ("factor-on-the-sum", "factor-on-the-sum/acc")
    acc = _added(acc, weights @ v, of_acc[:, None], together=both)
    if bug == "normalised-each-step/blended":  # right for an acc that is kept normalised
        acc = state[2].double() * before[:, None] + p @ v
    if bug.startswith("normalised-each-step"):
        acc = acc / torch.where(l == 0, 1.0, l)[:, None]
    return new, l, acc


def _kept_back(m: torch.Tensor, new: torch.Tensor, bug: str) -> bool:
    """Whether no row is rescaled because one test was made for all of them."""
    if bug == "rescaled-by-largest/all":
        return not bool((new > m).all())
    return bug == "rescaled-by-largest" and not bool(new.max() > m.max())


def _subtracted(
    m: torch.Tensor, new: torch.Tensor, pivot: torch.Tensor, s: torch.Tensor, bug: str
) -> torch.Tensor:
    """What the exponents of the new terms subtract."""
    if bug == "old-maximum":
        return torch.where(m == -_INF, pivot, m)
    if bug == "old-maximum/raw":
        return m
    if bug == "tile-maximum":
        own = s.amax(1)
        return torch.where(own == -_INF, 0.0, own)
    return pivot


def walked(s: torch.Tensor, v: torch.Tensor, block: int, bug: str) -> State:
    """A row, tile by tile, with one planted bug."""
    state: State = (torch.full([1], -_INF), torch.zeros(1), torch.zeros(1, v.shape[1]))
    stop = len(s) - len(s) % block if bug == "tail-dropped" else len(s)
    for j in range(0, stop, block):
        v_part = v[j : j + block]
        if bug == "same-values":
            v_part = v[: min(block, len(s) - j)]
        if bug == "dead-block-ends" and bool((s[j : j + block] == -_INF).all()):
            break
        if bug == "last-block-only":
            state = (state[0], state[1] * 0, state[2] * 0)
        state = folded(state, s[None, j : j + block], v_part, bug)
    return state[0][0], state[1][0], state[2][0]


#: Bugs of the update that show in its results whatever the loop around it: (bug, English, Chinese).
UPDATES = (
    (
        "acc-not-rescaled",
        "Your result equals the one without rescaling acc: it still carries the old maximum and "
        "needs the factor e^(m − m′), as l does.",
        "你的结果等于没有修正 acc 的结果：它还带着旧的最大值，和 l 一样要乘 e^(m − m′)。",
    ),
    (
        "l-not-rescaled",
        "Your result equals the one without rescaling l.",
        "你的结果等于没有修正 l 的结果。",
    ),
    (
        "nothing-rescaled",
        "Your result equals the one without rescaling l and acc when m grows.",
        "你的结果等于 m 变大时 l 和 acc 都没有修正的结果。",
    ),
    (
        "inverse-factor",
        "The factor is upside down: old terms shrink, e^(m − m′) is at most 1.",
        "修正因子倒过来了：旧的各项要变小，e^(m − m′) 不超过 1。",
    ),
    (
        "rescaled-twice",
        "A sum is multiplied by the factor twice in a step.",
        "一步之内，有个和乘了两次修正因子。",
    ),
    (
        "l-last-step-only",
        "l is the sum of the last step alone: add to it, do not replace it.",
        "l 只是最后一步的和：要累加，不是覆盖。",
    ),
    (
        "factor-on-the-sum",
        "The factor e^(m − m′) multiplies the new terms as well. They are relative to m′ already: "
        "rescale the old sum first, then add.",
        "e^(m − m′) 连新的各项也乘了。新项本来就相对于 m′：先修正旧的和，再加新的。",
    ),
    (
        "old-maximum",
        "The new terms subtract the old m. Take the maximum first, then e^(s − m′).",
        "新的各项减的是旧的 m。先求最大值，再算 e^(s − m′)。",
    ),
    (
        "tile-maximum",
        "The new terms subtract the maximum of their own tile. All terms must be relative to the "
        "same m′, the maximum of everything seen.",
        "新的各项减的是自己那块的最大值。所有项都要相对于同一个 m′，也就是已见的最大值。",
    ),
    (
        "maximum-not-kept",
        "The new maximum is not carried to the next step: m = m′ is missing.",
        "新的最大值没有带到下一步：漏了 m = m′。",
    ),
    (
        "normalised-each-step",
        "acc is divided by l in every step. It stays un-normalised until the end.",
        "每一步都把 acc 除以 l 了。acc 到最后才归一化。",
    ),
    (
        "tile-normalised",
        "Each tile's weights are divided by that tile's own sum before they meet V. Only l, at the "
        "end, divides.",
        "每一块的权重先除以本块之和再乘 V 了。应到最后才除以 l。",
    ),
)
#: The same, where a tile has several rows.
BLOCKS = (
    (
        "rescaled-by-largest",
        "One test decides for all rows of a tile whether l and acc are rescaled. Each row has a "
        "maximum of its own: a row whose maximum grew needs its factor whatever the others do.",
        "一块里的所有行共用一次判断来决定要不要修正 l 和 acc。每行的最大值各不相同："
        "哪一行的最大值变大了，哪一行就要乘自己的因子。",
    ),
)
#: The same, of an lse that is returned.
LSE_MIXED = (
    "lse-base-mixed",
    "Only one of the two terms of lse is in base 2. Both are natural: m ln 2 if m is in base 2, and "
    "ln l, not log2 l.",
    "lse 的两项里只有一项以 2 为底。两项都应是自然对数：m 若以 2 为底就乘 ln 2；是 ln l，不是 log2 l。",
)
#: The same, where states or rows may be empty.
GUARDS = (
    (
        "dead-keys-counted",
        "−inf − (−inf) was turned into 0 before the exponential, and e^0 = 1 counts every hidden key. "
        "Subtract 0 in place of −inf, so that e^−inf = 0.",
        "−inf − (−inf) 在取指数之前被换成了 0，而 e^0 = 1 把遮住的 key 都算了进来。"
        "应当用 0 代替要减的 −inf，于是 e^−inf = 0。",
    ),
    (
        "inf-minus-inf",
        "Where nothing was seen yet, −inf − (−inf) gives NaN. Subtract 0 there.",
        "还什么都没看到的地方，−inf − (−inf) 得 NaN。那里改为减 0。",
    ),
    (
        "pivot-carried",
        "The 0 that stands in for −inf was kept as the maximum. It belongs in the exponent only.",
        "代替 −inf 的那个 0 被当成最大值留下了。它只该出现在指数里。",
    ),
)
