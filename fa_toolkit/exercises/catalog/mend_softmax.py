"""Chapter 03, a fault to mend: a guard against −inf − (−inf) that does harm later."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule, Variant, randn
from .softmax import online_softmax

_INF = math.inf
Pair = tuple[torch.Tensor, torch.Tensor]


def _guarded(x: torch.Tensor, block: int, bug: str) -> Pair:
    m, l = x.new_tensor(-1e9 if bug == "finite-start" else -_INF), x.new_tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        new = torch.maximum(m, part.max())
        zero = torch.where(new == -_INF, 0.0, new)
        if bug == "zero-carried":
            new = zero
        pivot = new if bug in ("guard-removed", "zero-carried", "finite-start") else zero
        if bug == "block-skipped" and part.min() == -_INF:
            continue
        l = l * (m - pivot).exp() + (part - pivot).exp().sum()
        m = new
    if bug == "patched-after":
        return torch.where(m == -_INF, 0.0, m), l
    return m, l


def _row(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _budget(x: torch.Tensor, block: int) -> list[torch.Tensor]:
    _, l = online_softmax(x.double(), block)
    return [torch.zeros(()), 64 * torch.finfo(x.dtype).eps * l]


FIX_PIVOT = Exercise(
    id="03.fix_pivot",
    title=Text("Mend: a guard that does harm", "改错：帮了倒忙的保护"),
    spec=Text(
        "Given: online softmax with a guard against −inf − (−inf). Rows whose first block is all "
        "−inf come out wrong when the rest is far below zero. Find the line and mend it. A row of "
        "nothing but −inf ends with m = −inf, l = 0.",
        "给出的是带保护的在线 softmax，保护是为了避免 −inf − (−inf)。"
        "如果第一块全是 −inf，其余分数又远小于零，结果就不对。找出这一行并改好。"
        "整行都是 −inf 时 m = −inf，l = 0。",
    ),
    formula="m′ = max(m, max x)   l′ = l · e^(m − m′) + Σ e^(x − m′)",
    passage=Passage(3, Text("Merging is the better idea", "合并是更好的想法")),
    entry="guarded_softmax",
    widget="fa.viz.stepper([1, 2, 3, 4], blocks=2)",
    call="guarded_softmax(x, block) -> (m, l)",
    reference=online_softmax,
    outputs=(Output("m", dtype=None), Output("l", "denominator", None)),
    allowed=_budget,
    cases=[
        Case("value", "x=[1, 2, 3, 4], block=2", lambda: (_row(1, 2, 3, 4), 2)),
        Case("ragged", "N=23, block=5", lambda: (randn(23, seed=51), 5)),
        Case(
            "dead-rows",
            Text("first block −inf, then [−200, −201]", "第一块 −inf，然后 [−200, −201]"),
            lambda: (_row(-_INF, -_INF, -200, -201), 2),
        ),
        Case(
            "dead-rows",
            Text("first block −inf, then [1, 2]", "第一块 −inf，然后 [1, 2]"),
            lambda: (_row(-_INF, -_INF, 1, 2), 2),
        ),
        Case(
            "dead-rows",
            Text("−inf inside a block", "块里有 −inf"),
            lambda: (_row(-_INF, 3, -_INF, 1), 2),
        ),
        Case("dead-rows", Text("all −inf", "全是 −inf"), lambda: (_row(-_INF, -_INF, -_INF), 2)),
    ],
    rules=(Rule("own-work", lambda: (randn(8, seed=52), 4), forbidden=READY_MADE),),
    variants=(
        Variant(
            "zero-carried",
            Text(
                "The 0 that stands in for −inf becomes the maximum of the next block. Keep m itself "
                "at −inf and use the 0 in the exponents only.",
                "代替 −inf 的 0 成了下一块的最大值。m 本身要留作 −inf，0 只用在指数里。",
            ),
            lambda x, b: _guarded(x, b, "zero-carried"),
        ),
        Variant(
            "guard-removed",
            Text(
                "Without any guard, −inf − (−inf) is NaN and stays NaN.",
                "完全去掉保护，−inf − (−inf) 得 NaN，之后一直是 NaN。",
            ),
            lambda x, b: _guarded(x, b, "guard-removed"),
        ),
        Variant(
            "finite-start",
            Text(
                "m starts at a large negative number: a row of −inf does not end at −inf.",
                "m 从一个很大的负数开始：整行 −inf 时就到不了 −inf。",
            ),
            lambda x, b: _guarded(x, b, "finite-start"),
        ),
        Variant(
            "patched-after",
            Text(
                "The sums are right, but the m returned is 0 where it should be −inf.",
                "求和对了，但返回的 m 该是 −inf 的地方成了 0。",
            ),
            lambda x, b: _guarded(x, b, "patched-after"),
        ),
        Variant(
            "block-skipped",
            Text(
                "A block with one −inf is skipped whole; its other numbers count.",
                "块里只要有一个 −inf 就整块跳过了；其余的数要算。",
            ),
            lambda x, b: _guarded(x, b, "block-skipped"),
        ),
    ),
    hints=(
        Text(
            "Follow [−inf, −inf, −200, −201] in blocks of 2 by hand. What is m after the first "
            "block?",
            "手算 [−inf, −inf, −200, −201]，每块 2 个。第一块之后 m 是多少？",
        ),
        Text(
            "m is the largest number seen. Nothing was seen, so it is −inf; only the subtraction "
            "needs a finite stand-in.",
            "m 是已看到的最大值。还什么都没看到，它就是 −inf；只有做减法时才需要一个有限的替身。",
        ),
        Text(
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new), used in both exponents; m = m_new",
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new)，两个指数都减它；m = m_new",
        ),
    ),
)

EXERCISES = (FIX_PIVOT,)
