"""The state (m, l, acc) with one planted bug, and the sentences that name the bugs."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
_INF = math.inf


def folded(state: State, s: torch.Tensor, v: torch.Tensor, bug: str = "") -> State:
    """One tile folded into a state, with one planted bug."""
    m, l, acc = (x.double() for x in state)
    s, v = s.double(), v.double()
    new = torch.maximum(m, s.amax(1))
    if bug == "one-maximum":
        new = new.max().expand_as(new)
    pivot = torch.where(new == -_INF, 0.0, new)
    if bug == "inf-minus-inf":
        pivot = new
    if bug == "guard-for-all" and not bool((new == -_INF).all()):
        pivot = new
    alpha, p = (m - pivot).exp(), (s - pivot[:, None]).exp()
    if bug == "inverse-factor":
        alpha = torch.where(m == -_INF, 1.0, (pivot - m).exp())
    ones = torch.ones_like(alpha)
    old_l = ones if bug in ("l-not-rescaled", "nothing-rescaled") else alpha
    old_acc = ones if bug in ("acc-not-rescaled", "nothing-rescaled") else alpha
    if bug == "rescaled-twice":
        old_acc = alpha * alpha
    l, acc = l * old_l + p.sum(1), acc * old_acc[:, None] + p @ v
    if bug == "normalised-each-step":
        acc = acc / l[:, None]
    if bug == "pivot-carried":
        new = pivot
    if bug == "block-maximum":
        new = s.amax(1)
    return new, l, acc


def walked(s: torch.Tensor, v: torch.Tensor, block: int, bug: str) -> State:
    """A row, tile by tile, with one planted bug."""
    state: State = (torch.full([1], -_INF), torch.zeros(1), torch.zeros(1, v.shape[1]))
    stop = len(s) - len(s) % block if bug == "tail-dropped" else len(s)
    for j in range(0, stop, block):
        v_part = v[j : j + block]
        if bug == "same-values":
            v_part = v[: min(block, len(s) - j)]
        if bug == "last-block-only":
            state = (state[0], state[1] * 0, state[2] * 0)
        state = folded(state, s[None, j : j + block], v_part, bug)
    return state[0][0], state[1][0], state[2][0]


#: What both exercises share: (bug, English, Chinese).
SHARED = (
    (
        "acc-not-rescaled",
        "acc still carries the old maximum: multiply it by e^(m − m′) as you do with l.",
        "acc 还带着旧的最大值：它和 l 一样，也要乘 e^(m − m′)。",
    ),
    (
        "l-not-rescaled",
        "l still carries the old maximum, acc does not.",
        "l 还带着旧的最大值，acc 已经改过了。",
    ),
    (
        "nothing-rescaled",
        "When m grows, neither l nor acc is brought to the new maximum.",
        "m 变大时，l 和 acc 都没有换算到新的最大值。",
    ),
    (
        "inverse-factor",
        "The factor is upside down: old terms shrink, e^(m − m′) is at most 1.",
        "修正因子倒过来了：旧的各项要变小，e^(m − m′) 不超过 1。",
    ),
    (
        "rescaled-twice",
        "acc is multiplied by the factor twice in a step.",
        "一步之内 acc 乘了两次修正因子。",
    ),
    (
        "normalised-each-step",
        "acc is divided by l in every step. It stays un-normalised until the end.",
        "每一步都把 acc 除以 l 了。acc 到最后才归一化。",
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
