"""Exercises of chapter 03, second part: the merge of two states."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule, Variant, randn

State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def merge(a: State, b: State) -> State:
    """The dull reference."""
    (m_a, l_a, acc_a), (m_b, l_b, acc_b) = a, b  # [rows], [rows], [rows, D]
    m = torch.maximum(m_a, m_b)
    alpha, beta = ((x - m).exp().nan_to_num(0.0) for x in (m_a, m_b))  # [rows]
    return m, alpha * l_a + beta * l_b, alpha[:, None] * acc_a + beta[:, None] * acc_b


def _state(seed: int, shift: float = 0.0, rows: int = 3, keys: int = 5) -> State:
    s, v = randn(rows, keys, seed=seed) + shift, randn(keys, 4, seed=seed + 50)
    m = s.amax(1)
    p = (s - m[:, None]).exp()
    return m, p.sum(1), p @ v


def _empty(rows: int = 3) -> State:
    return torch.full([rows], -math.inf), torch.zeros(rows), torch.zeros(rows, 4)


def _merged(a: State, b: State, *, l_too: bool = True, acc_too: bool = True) -> State:
    m = torch.maximum(a[0], b[0])
    alpha, beta = ((x - m).exp().nan_to_num(0.0) for x in (a[0], b[0]))
    l = alpha * a[1] + beta * b[1] if l_too else a[1] + b[1]
    acc = alpha[:, None] * a[2] + beta[:, None] * b[2] if acc_too else a[2] + b[2]
    return m, l, acc


def _nan_merge(a: State, b: State) -> State:
    m = torch.maximum(a[0], b[0])
    alpha, beta = (a[0] - m).exp(), (b[0] - m).exp()
    return m, alpha * a[1] + beta * b[1], alpha[:, None] * a[2] + beta[:, None] * b[2]


def _one_sided(a: State, b: State) -> State:
    m = torch.maximum(a[0], b[0])
    alpha = (a[0] - m).exp().nan_to_num(0.0)
    return m, alpha * a[1] + b[1], alpha[:, None] * a[2] + b[2]


def _weighted_by_l(a: State, b: State, divided: bool) -> State:
    """Each acc times its l as well, as a normalised result would need it."""
    m, l, _ = merge(a, b)
    of_a, of_b = (x[1] * (x[0] - m).exp().nan_to_num(0.0) for x in (a, b))
    acc = of_a[:, None] * a[2] + of_b[:, None] * b[2]
    return m, l, acc / torch.where(l == 0, 1.0, l)[:, None] if divided else acc


def _finished(a: State, b: State) -> State:
    m, l, acc = merge(a, b)
    return m, l, acc / torch.where(l == 0, 1.0, l)[:, None]


MERGE = Exercise(
    id="03.merge",
    title=Text("Merge two halves", "合并两半"),
    spec=Text(
        "Two states (m, l, acc), each of a part of the keys, become the state of both parts. "
        "m and l are [rows], acc is [rows, D] and not normalised. The empty state is m = −inf, "
        "l = 0, acc = 0, and changes nothing, not even another empty one.",
        "两个状态 (m, l, acc) 各看了一部分 key，合成两部分都看过的状态。"
        "m、l 为 [rows]，acc 为 [rows, D]，"
        "未归一化。空状态是 m = −inf、l = 0、acc = 0，与谁合并都不改变对方，两个空状态合并仍为空。",
    ),
    formula="m = max(mₐ, m_b)   l = lₐ·e^(mₐ − m) + l_b·e^(m_b − m)   acc likewise",
    passage=Passage(3, Text("Merging is the better idea", "合并是更好的想法")),
    then="03.fix_pivot",
    entry="merge",
    widget='fa.viz.stepper([1, 2, 3, 4], blocks=2, view="merged")',
    call="merge((m, l, acc), (m, l, acc)) -> (m, l, acc)",
    reference=merge,
    outputs=(
        Output("m", dtype=None),
        Output("l", "denominator", None),
        Output("acc", "accumulator", None),
    ),
    cases=[
        Case("value", Text("two parts", "两部分"), lambda: (_state(1), _state(2))),
        Case(
            "value",
            Text("the second part larger", "后一部分更大"),
            lambda: (_state(1), _state(3, shift=2.0)),
        ),
        Case(
            "value",
            Text("the first part larger", "前一部分更大"),
            lambda: (_state(3, shift=2.0), _state(1)),
        ),
        Case(
            "extreme-logits",
            Text("maxima 2000 apart", "最大值相差 2000"),
            lambda: (_state(4, -1e3), _state(5, 1e3)),
        ),
        Case("dead-rows", Text("first empty", "前一个为空"), lambda: (_empty(), _state(6))),
        Case("dead-rows", Text("second empty", "后一个为空"), lambda: (_state(6), _empty())),
        Case("dead-rows", Text("both empty", "两个都为空"), lambda: (_empty(), _empty())),
    ],
    rules=(Rule("own-work", lambda: (_state(7), _state(8)), forbidden=READY_MADE),),
    variants=(
        Variant(
            "no-rescale",
            Text(
                "Your result equals the one without any rescaling.",
                "你的结果等于完全没有修正的结果。",
            ),
            lambda a, b: _merged(a, b, l_too=False, acc_too=False),
        ),
        Variant(
            "acc-not-rescaled",
            Text(
                "Your result equals the one without rescaling acc.",
                "你的结果等于没有修正 acc 的结果。",
            ),
            lambda a, b: _merged(a, b, acc_too=False),
        ),
        Variant(
            "l-not-rescaled",
            Text(
                "Your result equals the one without rescaling l.", "你的结果等于没有修正 l 的结果。"
            ),
            lambda a, b: _merged(a, b, l_too=False),
        ),
        Variant(
            "one-sided",
            Text(
                "Only the first state is rescaled. If its "
                "m is the larger one, the second needs it.",
                "只修正了第一个状态。如果它的 m 更大，需要修正的是第二个。",
            ),
            _one_sided,
        ),
        Variant(
            "inf-minus-inf",
            Text(
                "Two empty states give −inf − (−inf) = NaN. Subtract 0 where m is −inf.",
                "两个空状态会算出 −inf − (−inf) = NaN。m 为 −inf 处改为减 0。",
            ),
            _nan_merge,
        ),
        Variant(
            "weighted-by-l",
            Text(
                "acc is weighted by its l as well, as a normalised result would be. acc is a plain "
                "sum: e^(m_side − m) is its only factor, as for l.",
                "acc 还多乘了自己那边的 l，那是归一化结果才要的权重。acc 只是和：和 l 一样，"
                "只乘 e^(m_side − m)。",
            ),
            lambda a, b: _weighted_by_l(a, b, divided=False),
            (lambda a, b: _weighted_by_l(a, b, divided=True),),
        ),
        Variant(
            "normalised-each-step",
            Text(
                "acc is divided by l here. A state stays un-normalised until all parts are in.",
                "这里就把 acc 除以 l 了。要等各部分都合并完才归一化。",
            ),
            _finished,
        ),
        Variant(
            "average",
            Text(
                "You average two normalised results; each part weighs by its l.",
                "你把两部分平均了；每部分的权重应是它的 l。",
            ),
            lambda a, b: (torch.maximum(a[0], b[0]), (a[1] + b[1]) / 2, (a[2] + b[2]) / 2),
        ),
    ),
    hints=(
        Text(
            "Let one state be empty on paper: what must come out?",
            "在纸上让一个状态为空：结果应该是什么？",
        ),
        Text(
            "l and acc of both sides must be relative to the same m before they are added.",
            "两边的 l 和 acc 要先换算到同一个 m，才能相加。",
        ),
        Text(
            "alpha = (m_a - m).exp(), beta = (m_b - "
            "m).exp(), with 0 in place of m where it is −inf.",
            "alpha = (m_a - m).exp()，beta = (m_b - m).exp()；m 为 −inf 处用 0 代替。",
        ),
    ),
)

EXERCISES = (MERGE,)
