"""Exercise of chapter 06: the last step of a kernel, o and the natural log-sum-exp."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]
_EPS = torch.finfo(torch.float32).eps
_INF = math.inf


def finish(m: Tensor, l: Tensor, acc: Tensor) -> Pair:
    """The dull reference; m counts in powers of 2."""
    return (acc / l[:, None]).nan_to_num(0.0), m * math.log(2) + l.log()  # [rows, D], [rows]


def _finish_with(m: Tensor, l: Tensor, acc: Tensor, bug: str) -> Pair:
    o, right = finish(m, l, acc)
    dead = l == 0
    lse = {
        "m-not-converted": m + l.log(),
        "base-2": m + l.log2(),
        "both-converted": (m + l.log()) * math.log(2),
        "m-only": m * math.log(2),
        "divided": m / math.log(2) + l.log(),
        "dead-lse-zero": right.masked_fill(dead, 0.0),
        "dead-lse-nan": right.masked_fill(dead, math.nan),
    }.get(bug, right)
    if bug == "dead-o-nan":
        o = acc / l[:, None]
    if bug == "not-normalised":
        o = acc
    return o, lse


def _state(rows: int, *, dead: tuple[int, ...] = (), size: float = 3.0) -> tuple[Tensor, ...]:
    m, l = size * randn(rows, seed=114), 1 + randn(rows, seed=115).abs()
    acc = l[:, None] * randn(rows, 16, seed=116)
    for row in dead:
        m[row], l[row], acc[row] = -_INF, 0.0, 0.0
    return here(m, l, acc)


def _finish_budget(m: Tensor, l: Tensor, acc: Tensor) -> list[Tensor]:
    o, _ = finish(m.double(), l.double(), acc.double())
    reach = m.double().abs().nan_to_num(0.0, posinf=0.0) + l.double().log().abs()
    return [16 * _EPS * o.abs() + _EPS, 16 * _EPS * (reach.nan_to_num(0.0, posinf=0.0) + 1)]


def _finish_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), lambda m, l, acc: _finish_with(m, l, acc, bug))


LSE = Exercise(
    id="06.lse",
    title=Text("The last step: o and lse", "最后一步：o 和 lse"),
    spec=Text(
        "After the loop, m is in base-2 units: l and acc are sums of 2^(s − m). Write o = acc / l "
        "and lse in natural units, the logarithm to base e that the backward pass and every merge "
        "expect. A row that saw no key has m = −inf, l = 0: o = 0, lse = −inf.",
        "循环结束时 m 以 2 为底：l 和 acc 是 2^(s − m) 之和。写出 o = acc / l，以及自然对数的 lse，"
        "反向和合并都按以 e 为底来用。一个 key 都没看到的行 m = −inf，l = 0：o = 0，lse = −inf。",
    ),
    formula="lse = ln Σ e^(natural s) = m · ln 2 + ln l",
    passage=Passage(6, Text("update", "update")),
    then="06.fix_base",
    entry="finish",
    call="finish(m, l, acc) -> (o, lse)",
    reference=finish,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=_finish_budget,
    cases=[
        Case("value", "rows=16", lambda: _state(16)),
        Case("ragged", "rows=21", lambda: _state(21)),
        Case(
            "extreme-logits",
            Text("m up to a few thousand", "m 达数千"),
            lambda: _state(16, size=2e3),
        ),
        Case(
            "dead-rows",
            Text("rows 0 and 3 saw nothing", "第 0、3 行什么都没看到"),
            lambda: _state(6, dead=(0, 3)),
        ),
    ],
    rules=(Rule("own-work", lambda: _state(8), forbidden=TORCH_MATHS | {"log", "log2"}),),
    variants=(
        _finish_variant(
            "m-not-converted",
            "m is added in base-2 units: multiply it by ln 2.",
            "m 还是以 2 为底就加上去了：要乘 ln 2。",
        ),
        _finish_variant(
            "base-2",
            "lse is the logarithm to base 2. It should be natural.",
            "lse 是以 2 为底的对数，应为自然对数。",
        ),
        _finish_variant(
            "both-converted",
            "ln l is multiplied by ln 2 as well; only m counts in powers of 2.",
            "ln l 也乘了 ln 2；只有 m 以 2 为底。",
        ),
        _finish_variant("m-only", "ln l is missing from lse.", "lse 里漏了 ln l。"),
        _finish_variant(
            "divided",
            "m is divided by ln 2; from base 2 to natural it is multiplied.",
            "m 除以了 ln 2；从以 2 为底换成自然对数是乘。",
        ),
        _finish_variant(
            "dead-o-nan",
            "A row without keys divides 0 by 0. Divide by 1 where l is 0.",
            "没有 key 的行算了 0 / 0。l 为 0 的地方改为除以 1。",
        ),
        _finish_variant(
            "dead-lse-zero",
            "lse of a row without keys is 0; it is −inf.",
            "没有 key 的行 lse 是 0；应为 −inf。",
        ),
        _finish_variant(
            "dead-lse-nan",
            "lse of a row without keys is NaN; it is −inf.",
            "没有 key 的行 lse 是 NaN；应为 −inf。",
        ),
        _finish_variant("not-normalised", "acc is not divided by l.", "没有把 acc 除以 l。"),
    ),
    hints=(
        Text(
            "Take l = 1: what is lse if the only score was 3, stored as 3 / ln 2?",
            "设 l = 1：唯一的分数是 3，存成 3 / ln 2，lse 是多少？",
        ),
        Text(
            "2^m = e^(m · ln 2). A sum of one term 1 has the logarithm 0; an empty one, −inf.",
            "2^m = e^(m · ln 2)。只有一项 1 的和，对数是 0；空和的对数是 −inf。",
        ),
        Text(
            "seen = tl.where(l_i == 0.0, 1.0, l_i); lse = m_i * 0.6931471805599453 + tl.log(seen)",
            "seen = tl.where(l_i == 0.0, 1.0, l_i); lse = m_i * 0.6931471805599453 + tl.log(seen)",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (LSE,)
