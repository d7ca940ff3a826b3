"""Exercises of chapter 03: softmax in three passes and in blocks."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule, Variant, randn
from .online_bugs import STEPS


def three_pass_softmax(x: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    m = x.max()  # []
    l = (x - m).exp().sum()  # []
    return (x - m).exp() / l  # [N]


def _row(*values: float) -> tuple[torch.Tensor]:
    return (torch.tensor(values, dtype=torch.float32),)


THREE_PASS = Exercise(
    id="03.three_pass",
    title=Text("Softmax in three passes", "三遍 softmax"),
    spec=Text(
        "Softmax of one row x [N]: find the maximum m, then the denominator l, then the result. "
        "Write it out; torch.softmax and its kin are not allowed.",
        "对一行 x [N] 做 softmax：先求最大值 m，再求分母 l，"
        "最后求结果。自己写，不用 torch.softmax 之类。",
    ),
    formula="m = max x   l = Σ e^(x − m)   y = e^(x − m) / l",
    passage=Passage(3, Text("Why the maximum is subtracted", "为什么要减最大值")),
    then="03.online",
    entry="three_pass_softmax",
    widget="fa.viz.stepper([1, 2, 3, 4], blocks=2)",
    call="three_pass_softmax(x) -> y",
    reference=three_pass_softmax,
    cases=[
        Case("value", "x=[1, 2, 3, 4]", lambda: _row(1, 2, 3, 4)),
        Case("value", "N=33", lambda: (randn(33, seed=1),)),
        Case("extreme-logits", "x=[1000, 999, -1000]", lambda: _row(1000, 999, -1000)),
        Case("extreme-logits", "x=[-1000, -1001]", lambda: _row(-1000, -1001)),
        Case(
            "strides",
            Text("every second element", "隔一个取一个"),
            lambda: (randn(20, seed=2)[::2],),
        ),
        Case("dtype", "float64", lambda: (randn(9, seed=3).double(),)),
    ],
    rules=(Rule("own-work", lambda: _row(1, 2, 3), forbidden=READY_MADE),),
    variants=(
        Variant(
            "naive",
            Text(
                "You do not subtract the maximum: e^1000 overflows.",
                "你没有减去最大值：e^1000 会溢出。",
            ),
            lambda x: x.exp() / x.exp().sum(),
        ),
        Variant(
            "min",
            Text(
                "You subtract the minimum. The largest term must become e^0.",
                "你减去的是最小值。最大的一项应变成 e^0。",
            ),
            lambda x: (x - x.min()).exp() / (x - x.min()).exp().sum(),
        ),
        Variant(
            "not-normalised",
            Text(
                "The division by l is missing: the result does not sum to 1.",
                "漏了除以 l：结果之和不是 1。",
            ),
            lambda x: (x - x.max()).exp(),
        ),
        Variant(
            "mean",
            Text(
                "You divide by the mean of the terms, not by their sum.",
                "你除以的是各项的平均值，应除以总和。",
            ),
            lambda x: (x - x.max()).exp() / (x - x.max()).exp().mean(),
        ),
    ),
    hints=(
        Text("If only the large rows fail, look at the exponent.", "如果只有大数出错，看指数。"),
        Text(
            "After subtracting m the largest term is e^0 = 1, so nothing overflows.",
            "减去 m 后最大项是 e^0 = 1，不会溢出。",
        ),
        Text("m = x.max(); l = (x - m).exp().sum()", "m = x.max(); l = (x - m).exp().sum()"),
    ),
)


def online_softmax(x: torch.Tensor, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The dull reference: what the whole row gives, whatever the block."""
    m = x.max()  # []
    pivot = torch.where(m == -torch.inf, 0.0, m)
    return m, (x - pivot).exp().sum()  # [], []


def _online(
    x: torch.Tensor,
    block: int,
    *,
    factor: str = "right",
    pivot: bool = True,
    drop: bool = False,
    first: float = -math.inf,
) -> tuple[torch.Tensor, torch.Tensor]:
    m, l = x.new_tensor(first), x.new_tensor(0.0)
    stop = len(x) - len(x) % block if drop else len(x)
    for start in range(0, stop, block):
        part = x[start : start + block]
        new = torch.maximum(m, part.max())
        base = x.new_tensor(0.0) if pivot and new == -math.inf else new
        alpha = {
            "right": (m - base).exp(),
            "none": x.new_tensor(1.0),
            "inverse": x.new_tensor(1.0) if m == -math.inf else (base - m).exp(),
        }[factor]
        m, l = new, l * alpha + (part - base).exp().sum()
    return m, l


def _difference(x: torch.Tensor, block: int, *, guard: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The old sum less the rise of the maximum; `guard` where there was none before."""
    m, l = x[:block].max() if not guard else x.new_tensor(-math.inf), x.new_tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        new = torch.maximum(m, part.max())
        base = torch.where(new == -math.inf, 0.0, new) if guard else new
        rise = new - m if m > -math.inf or not guard else x.new_tensor(0.0)
        m, l = new, l - rise + (part - base).exp().sum()
    return m, l


def _bare_difference(x: torch.Tensor, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same from m = −inf, whose first rise is infinite."""
    m, l = x.new_tensor(-math.inf), x.new_tensor(0.0)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        new = torch.maximum(m, part.max())
        m, l = new, l - (new - m) + (part - new).exp().sum()
    return m, l


ONLINE = Exercise(
    id="03.online",
    title=Text("Softmax, one block at a time", "逐块的 softmax"),
    spec=Text(
        "Walk over the row x [N] in blocks. After each block, m is the maximum so far and l the "
        "sum of e^(x − m) so far. Return both at the end. A block may be shorter than the others, "
        "and may hold nothing but −inf; a row of −inf ends with m = −inf and l = 0.",
        "按块走完一行 x [N]。每走完一块，m 是目前的最大值，l 是目前 e^(x − m) 之和，最后一并返回。"
        "最后一块可能较短，也可能整块都是 −inf；整行都是 −inf 时 m = −inf，l = 0。",
    ),
    formula="m′ = max(m, max x)   l′ = l · e^(m − m′) + Σ e^(x − m′)",
    passage=Passage(3, Text("One loop over the blocks", "一块一块走下去")),
    then="03.row",
    entry="online_softmax",
    widget="fa.viz.stepper([1, 2, 3, 4], blocks=2)",
    call="online_softmax(x, block) -> (m, l)",
    reference=online_softmax,
    outputs=(Output("m", dtype=None), Output("l", "denominator", None)),
    cases=[
        Case("value", "x=[1, 2, 3, 4], block=2", lambda: (*_row(1, 2, 3, 4), 2)),
        Case("value", "x=[4, 3, 2, 1], block=2", lambda: (*_row(4, 3, 2, 1), 2)),
        Case("value", "N=32, block=4", lambda: (randn(32, seed=1), 4)),
        Case("value", "x=[-5, -4, -7], block=1", lambda: (*_row(-5, -4, -7), 1)),
        Case("ragged", "N=7, block=3", lambda: (randn(7, seed=2), 3)),
        Case("ragged", "N=5, block=8", lambda: (randn(5, seed=3), 8)),
        Case(
            "extreme-logits",
            "x=[-1000, 0, 1000, 999], block=2",
            lambda: (*_row(-1000, 0, 1000, 999), 2),
        ),
        Case(
            "dead-rows",
            Text("first block −inf", "第一块全是 −inf"),
            lambda: (*_row(-math.inf, -math.inf, 1, 2), 2),
        ),
        Case(
            "dead-rows",
            Text("all −inf", "全是 −inf"),
            lambda: (*_row(-math.inf, -math.inf, -math.inf), 2),
        ),
    ],
    rules=(
        Rule("one-block", lambda: (randn(24, seed=4), 4), limit=4),
        Rule("own-work", lambda: (randn(8, seed=5), 4), forbidden=READY_MADE),
    ),
    variants=(
        Variant(
            "no-rescale",
            Text(
                "Your result equals the one without rescaling l when m grows.",
                "你的结果等于 m 变大时没有修正 l 的结果。",
            ),
            lambda x, b: _online(x, b, factor="none"),
        ),
        Variant(
            "inverse-factor",
            Text(
                "Your factor is upside down: old terms shrink by e^(m − m′), which is at most 1.",
                "修正因子倒过来了：旧的项应乘 e^(m − m′)，它不超过 1。",
            ),
            lambda x, b: _online(x, b, factor="inverse"),
        ),
        Variant(
            "subtracts-the-difference",
            Text(
                "You take the rise of m off the old sum. It belongs in an exponent: l · e^(m − m′).",
                "你从旧的和里减去了 m 的增量。它该放在指数里：l · e^(m − m′)。",
            ),
            lambda x, b: _difference(x, b, guard=False),
            (lambda x, b: _difference(x, b, guard=True), _bare_difference),
        ),
        *STEPS,
        Variant(
            "starts-at-zero",
            Text(
                "m starts at 0, so a row below 0 never finds its maximum. Before anything is seen "
                "it is −inf.",
                "m 从 0 开始，全是负数的行就找不到最大值。什么都没看到时它是 −inf。",
            ),
            lambda x, b: _online(x, b, first=0.0),
        ),
        Variant(
            "inf-minus-inf",
            Text(
                "While m is still −inf, −inf − (−inf) is NaN. Subtract 0 there.",
                "m 还是 −inf 时，−inf − (−inf) 得 NaN。这时改为减 0。",
            ),
            lambda x, b: _online(x, b, pivot=False),
        ),
        Variant(
            "last-block-only",
            Text(
                "Your l is that of the last block alone: what came before is lost.",
                "你的 l 只含最后一块：前面的丢了。",
            ),
            lambda x, b: (x.max(), (x[(len(x) - 1) // b * b :] - x.max()).exp().sum()),
        ),
        Variant(
            "tail-dropped",
            Text("The last, shorter block is left out.", "最后那个较短的块漏掉了。"),
            lambda x, b: _online(x, b, drop=True),
        ),
    ),
    hints=(
        Text(
            "Compare a rising row with a falling one. Which needs a repair?",
            "比较递增和递减的行，哪一种需要修正？",
        ),
        Text(
            "After each block, l must be the sum over "
            "all numbers seen, all relative to the same m.",
            "每走完一块，l 必须是所有已见数字之和，而且都相对于同一个 m。",
        ),
        Text(
            "l = l * (m - m_new).exp() + (part - m_new).exp().sum()",
            "l = l * (m - m_new).exp() + (part - m_new).exp().sum()",
        ),
    ),
)

EXERCISES = (THREE_PASS, ONLINE)
