"""Exercises of chapter 09, fourth part: the merge of finished parts as a Triton kernel."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Rule, Variant, randn
from .devices import here
from .splits import joined

_EPS = torch.finfo(torch.float32).eps


def _parts(splits: int, rows: int = 5, *, shift: float = 0.0) -> tuple[Any, ...]:
    lses = 2 * randn(splits, rows, seed=71) + shift
    return here(randn(splits, rows, 16, seed=72), lses)


def _some_empty(
    splits: int, *, everything: bool = False, unwritten: float = 0.0
) -> tuple[Any, ...]:
    """The first part saw keys, the others nothing."""
    outs, lses = randn(splits, 4, 16, seed=73), randn(splits, 4, seed=74)
    lses[1:], outs[1:] = -math.inf, unwritten
    if everything:
        lses[0, 2:], outs[0, 2:] = -math.inf, 0.0
    return here(outs, lses)


def _merge_budget(outs: torch.Tensor, lses: torch.Tensor) -> list[Any]:
    o, _ = joined(outs.nan_to_num(0.0).abs(), lses)
    reach = lses.double().abs().masked_fill(lses == -math.inf, 0.0).amax(0)  # [R]
    rounding = 8 * _EPS * (4 + reach)
    return [rounding[:, None] * o + _EPS, rounding]


def _merge_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), partial(joined, bug=bug))


MERGE_SPLITS = Exercise(
    id="09.merge",
    title=Text("Merge the splits in a kernel", "用 kernel 合并各段"),
    spec=Text(
        "Finished parts outs [S, R, D] and lses [S, R] (float32) become o [R, D] and lse [R]. One "
        "program owns one row and has S ≤ 16 parts and D values in one block. Load the lses of "
        "the row (−inf in the lanes past S), form the weights, sum the weighted parts. A part "
        "with lse = −inf saw nothing: it counts nothing, whatever its o holds. If all parts saw "
        "nothing, o = 0 and lse = −inf.",
        "各段算完的 outs [S, R, D] 和 lses [S, R]（float32）合成 o [R, D] 和 lse [R]。一个程序实例负责一行，"
        "把 S ≤ 16 段和 D 个值放进一块。读入这一行的各个 lse（超出 S 的位置取 −inf），算出权重，"
        "再把各段加权求和。lse = −inf 的段什么都没看到：不管它的 o 里是什么，都不计入。"
        "所有段都没看到时，o = 0，lse = −inf。",
    ),
    formula="m = maxᵢ lseᵢ   wᵢ = e^(lseᵢ − m)   o = Σ wᵢ oᵢ / Σ wᵢ   lse = m + ln Σ wᵢ",
    entry="merge_splits",
    call="merge_splits(outs, lses) -> (o, lse)",
    reference=joined,  # without a bug: the dull reference
    outputs=(Output("o", "value", "float32"), Output("lse", "lse", "float32")),
    allowed=_merge_budget,
    cases=[
        Case("value", "S=16, R=5", lambda: _parts(16)),
        Case("ragged", "S=3, R=5", lambda: _parts(3)),
        Case("ragged", "S=1, R=2", lambda: _parts(1, 2)),
        Case("extreme-logits", "lse + 200", lambda: _parts(5, shift=200.0)),
        Case("extreme-logits", "lse − 200", lambda: _parts(5, shift=-200.0)),
        Case("dead-rows", Text("one part saw keys", "只有一段看到 key"), lambda: _some_empty(4)),
        Case(
            "dead-rows",
            Text("empty parts hold NaN", "空段里是 NaN"),
            lambda: _some_empty(3, unwritten=math.nan),
        ),
        Case(
            "dead-rows",
            Text("rows that saw nothing", "什么都没看到的行"),
            lambda: _some_empty(3, everything=True),
        ),
    ],
    rules=(Rule("own-work", lambda: _parts(3), forbidden=TORCH_MATHS),),
    variants=(
        _merge_variant(
            "average",
            "You average the parts. A part weighs by its sum of exponentials, e^lse.",
            "你把各段平均了。每段的权重是它的指数和 e^lse。",
        ),
        _merge_variant("first-only", "Only the first part is used.", "只用了第一段。"),
        _merge_variant("last-part-lost", "The last part is left out.", "漏了最后一段。"),
        _merge_variant(
            "weights-not-normalised",
            "The weights e^(lseᵢ − max) are not divided by their sum.",
            "权重 e^(lseᵢ − max) 没有除以它们的和。",
        ),
        _merge_variant(
            "lse-is-maximum",
            "o is right; lse lacks ln Σ wᵢ.",
            "o 对了；lse 漏了 ln Σ wᵢ。",
        ),
        _merge_variant(
            "no-maximum",
            "e^lse overflows or becomes 0. Subtract the largest lse inside the exponent.",
            "e^lse 会溢出或变成 0。要在指数里减去最大的 lse。",
        ),
        _merge_variant(
            "empty-is-nan",
            "A row whose parts all saw nothing gives −inf − (−inf). Subtract 0 where m is −inf.",
            "各段都没看到 key 的行会算出 −inf − (−inf)。m 为 −inf 处改为减 0。",
        ),
        _merge_variant(
            "empty-counts",
            "0 times NaN is NaN: put 0 in place of the o of a part that saw nothing.",
            "0 乘 NaN 还是 NaN：没看到 key 的段，o 要换成 0。",
        ),
    ),
    hints=(
        Text(
            "Take parts without −inf first. Then ask what each line makes of lse = −inf.",
            "先看没有 −inf 的段，再逐行想：lse = −inf 时算出什么？",
        ),
        Text(
            "The pivot is m, or 0 where m is −inf. Parts with weight 0 may hold NaN: mask their "
            "load.",
            "减去的是 m，m 为 −inf 时减 0。权重为 0 的段里可能是 NaN：读的时候就遮掉。",
        ),
        Text(
            "w = tl.exp(lse - pivot); o = tl.sum(w[:, None] * parts, axis=0) / l, with l = 1 "
            "where the sum of w is 0",
            "w = tl.exp(lse - pivot); o = tl.sum(w[:, None] * parts, axis=0) / l；w 之和为 0 时 l 取 1",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (MERGE_SPLITS,)
