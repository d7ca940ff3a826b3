"""Exercises of chapter 09, third part: decoding in splits."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch

from ...language import Text
from ..spec import (
    READY_MADE,
    Case,
    Exercise,
    Output,
    Rule,
    Variant,
    attention_budget,
    randn,
)

Pair = tuple[torch.Tensor, torch.Tensor]
_EPS = torch.finfo(torch.float32).eps


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Pair:
    """The dull reference: the splits change nothing."""
    s = q @ k.T * q.shape[1] ** -0.5  # [G, Nk]
    o = torch.softmax(s, dim=1).nan_to_num(0.0) @ v  # [G, Dv]
    return o, torch.logsumexp(s, dim=1)  # [G]


def _split(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int, bug: str) -> Pair:
    """Decoding in splits with one planted bug, in float64."""
    width = len(k) // splits if bug == "tail-dropped" else -(-len(k) // splits)
    outs, lses = [], []
    for i in range(splits):
        keys = slice(i * width, min((i + 1) * width, len(k)))
        s = q.double() @ k[keys].double().T * (1.0 if bug == "no-scale" else q.shape[1] ** -0.5)
        m = s.amax(1, keepdim=True) if s.shape[1] else s.new_zeros(len(s), 1)
        total = (s - m).exp().sum(1)  # [G]
        o = torch.softmax(s, 1).nan_to_num(0.0) @ v[keys].double()
        outs.append(o * total[:, None] if bug == "part-not-divided" else o)
        lses.append(total.log() if bug == "lse-without-m" else torch.logsumexp(s, 1))
    return joined(torch.stack(outs), torch.stack(lses), bug)


def joined(outs: torch.Tensor, lses: torch.Tensor, bug: str = "") -> Pair:
    """The merge of finished parts, [S, R, Dv] and [S, R], with one planted bug."""
    outs, lses = outs.double(), lses.double()
    if bug == "first-only":
        return outs[0], lses[0]
    if bug == "last-part-lost":
        outs, lses = outs[:-1], lses[:-1]
    lse = torch.logsumexp(lses, 0)  # [R]
    pivot = torch.where(lse == -math.inf, 0.0, lse)
    weights = (lses - pivot).exp()  # [S, R]
    if bug == "average":
        weights = torch.full_like(weights, 1 / len(outs))
    elif bug == "lse-as-weight":
        weights = lses / lses.sum(0)
    elif bug == "no-maximum":  # e^lse as it stands, in the type that kernels have
        lse = lses.float().exp().sum(0).log().double()
        weights = (lses.float().exp() / lses.float().exp().sum(0)).double()
    elif bug == "no-maximum/by-lse" and bool((lses > -math.inf).any()):
        lse = lses.float().exp().sum(0).log().double()
        weights = (lses - lse).exp()
    elif bug == "weights-not-normalised":
        weights = (lses - lses.amax(0)).exp()
    elif bug == "empty-is-nan":
        weights = (lses - lse).exp()
    if bug == "lse-is-maximum":
        lse = lses.amax(0)
    if bug not in ("no-maximum", "empty-is-nan", "empty-counts"):
        outs = outs.masked_fill((lses == -math.inf)[..., None], 0.0)
    return (weights[..., None] * outs).sum(0), lse


def _qkv(len_k: int, splits: int, *, group: int = 4, size: float = 1.0) -> tuple[Any, ...]:
    q, k = size * randn(group, 8, seed=61), size * randn(len_k, 8, seed=62)
    return q, k, randn(len_k, 6, seed=63), splits


def _split_budget(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> list[Any]:
    o, lse = attention_budget(q, k, v)
    return [2 * o + _EPS, 2 * lse]


def _split_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), partial(_split, bug=bug))


SPLIT = Exercise(
    id="09.split",
    title=Text("Decode in splits", "把解码切成几段"),
    spec=Text(
        "The query heads of one group, q [G, D], stand at the end of a cache k [Nk, D], v "
        "[Nk, Dv] and see all of it. Cut the keys into `splits` parts of ⌈Nk / splits⌉ (the last "
        "ones may be shorter or empty), finish attention over each part on its own, then merge "
        "the parts. Return o [G, Dv] and lse [G]; with no keys at all o = 0 and lse = −inf. No "
        "operation may read more than one part of the keys.",
        "一组 query 头 q [G, D] 站在缓存 k [Nk, D]、v [Nk, Dv] 的末尾，能看到全部 key。把 key 切成 `splits` "
        "段，每段 ⌈Nk / splits⌉ 个（最后几段可能较短或为空），每段各自算完注意力，再把各段合并。"
        "返回 o [G, Dv] 和 lse [G]；一个 key 都没有时 o = 0，lse = −inf。任何一步操作都不能读多于一段的 key。",
    ),
    formula="lse = ln Σᵢ e^lseᵢ   o = Σᵢ e^(lseᵢ − lse) · oᵢ",
    entry="split_decode",
    call="split_decode(q, k, v, splits) -> (o, lse)",
    reference=attention,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=_split_budget,
    cases=[
        Case("value", "Nk=32, splits=4", lambda: _qkv(32, 4)),
        Case("value", "Nk=24, splits=1", lambda: _qkv(24, 1)),
        Case("value", "G=1, Nk=40, splits=2", lambda: _qkv(40, 2, group=1)),
        Case("ragged", "Nk=29, splits=4", lambda: _qkv(29, 4)),
        Case("ragged", "Nk=9, splits=8", lambda: _qkv(9, 8)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(32, 4, size=30.0)),
        Case("dead-rows", "Nk=0, splits=3", lambda: _qkv(0, 3)),
    ],
    rules=(
        Rule("one-block", lambda: _qkv(256, 4, group=2), limit=64 * 8),
        # the softmax of a part, and adding up two lse, may be torch's
        Rule(
            "own-work",
            lambda: _qkv(32, 4),
            forbidden=READY_MADE - {"logsumexp", "logaddexp", "softmax", "_softmax"},
        ),
    ),
    variants=(
        _split_variant(
            "average",
            "You average the parts. A part weighs by its sum of exponentials, e^lse.",
            "你把各段平均了。每段的权重是它的指数和 e^lse。",
        ),
        _split_variant(
            "lse-as-weight",
            "You weigh by lse itself; the weight is e^lse over the sum of them.",
            "你直接用 lse 当权重，权重应是 e^lse 除以它们的和。",
        ),
        _split_variant(
            "weights-not-normalised",
            "The weights e^(lseᵢ − max) are not divided by their sum.",
            "权重 e^(lseᵢ − max) 没有除以它们的和。",
        ),
        _split_variant(
            "part-not-divided",
            "A part has to be finished before it is weighed: its acc divided by its l.",
            "每段要先算完再加权：acc 要除以这一段的 l。",
        ),
        _split_variant(
            "lse-without-m",
            "The lse of a part is m + ln l; without m, parts with large scores weigh too little.",
            "每段的 lse 是 m + ln l；漏了 m，分数大的段权重就太小。",
        ),
        _split_variant(
            "tail-dropped",
            "Nk // splits leaves out the last keys; a part holds ⌈Nk / splits⌉.",
            "Nk // splits 会漏掉最后几个 key，每段应有 ⌈Nk / splits⌉ 个。",
        ),
        _split_variant(
            "no-scale",
            "Your result equals the one without the scale 1/√D.",
            "你的结果等于漏掉缩放 1/√D 的结果。",
        ),
        _split_variant(
            "lse-is-maximum",
            "o is right; lse is the largest of the parts. It is ln Σ e^lseᵢ.",
            "o 对了；lse 取成了各段的最大值，应为 ln Σ e^lseᵢ。",
        ),
        Variant(
            "no-maximum",
            Text(
                "e^lse overflows for large scores. Subtract the largest lse inside the exponent.",
                "分数一大，e^lse 就溢出。要在指数里减去最大的 lse。",
            ),
            partial(_split, bug="no-maximum"),
            (partial(_split, bug="no-maximum/by-lse"),),
        ),
    ),
    hints=(
        Text(
            "Try splits = 1: if that holds, the fault is in the merge.",
            "先试 splits = 1：如果对了，问题就在合并。",
        ),
        Text(
            "A finished part is a state again: m = lse, l = 1, acc = o. Chapter 03 merges states.",
            "算完的一段又是一个状态：m = lse，l = 1，acc = o。第 03 章的合并照样适用。",
        ),
        Text(
            "m = lses.amax(0); w = (lses - m).exp(); "
            "o = (w[..., None] * outs).sum(0) / w.sum(0)[:, None]",
            "m = lses.amax(0); w = (lses - m).exp(); "
            "o = (w[..., None] * outs).sum(0) / w.sum(0)[:, None]",
        ),
    ),
)

EXERCISES = (SPLIT,)
