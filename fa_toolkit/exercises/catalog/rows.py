"""Exercises of chapter 03, third part: the state (m, l, acc) of one row, then of a block of rows."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from typing import Any

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule, Variant, randn
from .state_bugs import BLOCKS, GUARDS, UPDATES, State, folded, variant, walked

_INF = math.inf


def row_state(s: torch.Tensor, v: torch.Tensor, block: int) -> State:
    """The dull reference: the whole row at once, whatever the block."""
    m = s.max()  # []
    p = (s - m).exp().nan_to_num(0.0)  # [N]
    return m, p.sum(), p @ v  # [], [], [D]


def _row_budget(s: torch.Tensor, v: torch.Tensor, block: int) -> list[torch.Tensor]:
    eps = 32 * torch.finfo(s.dtype).eps
    _, l, reach = row_state(s.double(), v.double().abs(), block)
    return [eps * s.double().abs().nan_to_num(0.0, posinf=0.0).max(), eps * l, eps * reach]


def _scores(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _row(n: int, block: int, *, d: int = 3, size: float = 1.0) -> tuple[Any, ...]:
    return size * randn(n, seed=21), randn(n, d, seed=22), block


def _given(s: torch.Tensor, block: int) -> tuple[Any, ...]:
    return s, randn(len(s), 3, seed=23), block


_STATE_OUTPUTS = (
    Output("m", dtype=None),
    Output("l", "denominator", None),
    Output("acc", "accumulator", None),
)


def _row_variant(bug: str, en: str, zh: str) -> Variant:
    return variant(bug, en, zh, lambda form: lambda s, v, block: walked(s, v, block, form))


ROW = Exercise(
    id="03.row",
    title=Text("One row with its values", "一行分数，带上 V"),
    spec=Text(
        "One query: scores s [N] and values v [N, D], seen `block` keys at a time. Carry the "
        "maximum m, the denominator l and the un-normalised output acc, so that after every block "
        "all three belong to one softmax over the keys seen. Blocks may hold nothing but −inf.",
        "一个 query：分数 s [N]，值 v [N, D]，每次看 `block` 个 key。边走边维护最大值 m、分母 l 和"
        "未归一化的输出 acc，使每走完一块，三者都对应已看到的 key 的同一个 softmax。"
        "某一块可能全是 −inf。",
    ),
    formula="l′ = l·e^(m − m′) + Σ e^(s − m′)   acc′ = acc·e^(m − m′) + e^(s − m′)·V",
    passage=Passage(3, Text("The output needs the same factor", "输出也要乘同一个因子")),
    then="03.rows",
    entry="attend_row",
    widget="fa.viz.stepper([1, 2, 3, 4], blocks=2)",
    call="attend_row(s, v, block) -> (m, l, acc)",
    reference=row_state,
    outputs=_STATE_OUTPUTS,
    allowed=_row_budget,
    cases=[
        Case("value", "N=8, block=4", lambda: _row(8, 4)),
        Case(
            "value",
            Text("rising scores, block=2", "分数递增，block=2"),
            lambda: _given(_scores(1, 2, 3, 4, 5, 6), 2),
        ),
        Case(
            "value",
            Text("falling scores, block=2", "分数递减，block=2"),
            lambda: _given(_scores(6, 5, 4, 3, 2, 1), 2),
        ),
        Case("ragged", "N=11, block=4", lambda: _row(11, 4)),
        Case("ragged", "N=3, block=8", lambda: _row(3, 8)),
        Case("extreme-logits", "s × 300", lambda: _row(12, 4, size=300.0)),
        Case(
            "dead-rows",
            Text("first block −inf, the rest near −200", "第一块全是 −inf，其余在 −200 附近"),
            lambda: _given(_scores(-_INF, -_INF, -200, -201), 2),
        ),
        Case("dead-rows", Text("all −inf", "全是 −inf"), lambda: _given(_scores(*[-_INF] * 3), 2)),
    ],
    rules=(
        Rule("one-block", lambda: _row(24, 4, d=2), limit=4 * 2),
        Rule("own-work", lambda: _row(8, 4), forbidden=READY_MADE),
    ),
    variants=(
        *(_row_variant(*shared) for shared in (*UPDATES, *GUARDS)),
        _row_variant(
            "same-values",
            "Every block takes the first rows of V again: its slice does not move.",
            "每一块都取了 V 最前面的几行：V 的切片没有跟着走。",
        ),
        _row_variant(
            "last-block-only",
            "Only the last block is in l and acc: add to them, do not replace them.",
            "l 和 acc 里只剩最后一块：要累加，不是覆盖。",
        ),
        _row_variant(
            "dead-block-ends",
            "A block of nothing but −inf ends the walk; what comes after it is lost. Skip it and go on.",
            "遇到整块都是 −inf 就停了，后面的全丢了。应跳过这一块，继续往下走。",
        ),
        _row_variant(
            "tail-dropped", "The last, shorter block is left out.", "最后那个较短的块漏掉了。"
        ),
    ),
    hints=(
        Text(
            "acc is a sum of the same terms as l, each times a row of V. What happened to l?",
            "acc 和 l 是同样的项之和，只是每项多乘了 V 的一行。l 在这一步经历了什么？",
        ),
        Text(
            "One factor per step, e^(m − m′), and both sums take it.",
            "每步只有一个因子 e^(m − m′)，两个和都要乘。",
        ),
        Text(
            "l = l * alpha + p.sum(); acc = acc * alpha + p @ v_part",
            "l = l * alpha + p.sum(); acc = acc * alpha + p @ v_part",
        ),
    ),
)


def fold(state: State, s: torch.Tensor, v: torch.Tensor) -> State:
    """The dull reference: l and acc summed anew under the common maximum."""
    m = torch.maximum(state[0], s.amax(1))  # [rows]
    alpha = (state[0] - m).exp().nan_to_num(0.0)  # [rows]
    p = (s - m[:, None]).exp().nan_to_num(0.0)  # [rows, keys]
    return m, alpha * state[1] + p.sum(1), alpha[:, None] * state[2] + p @ v


def _tile(
    rows: int, keys: int, *, d: int = 4, shift: float = 0.0, size: float = 1.0, dead: bool = False
) -> tuple[State, torch.Tensor, torch.Tensor]:
    """A state that has seen six keys, and the next tile, `shift` higher."""
    seen, values = size * randn(rows, 6, seed=31), randn(6, d, seed=32)
    m = seen.amax(1)
    p = (seen - m[:, None]).exp()
    l, acc = p.sum(1), p @ values
    if dead:  # the first row has seen nothing, and sees nothing now
        m[0], l[0], acc[0] = -_INF, 0.0, 0.0
    s = size * randn(rows, keys, seed=33) + shift
    if dead:
        s[0] = -_INF
    return (m, l, acc), s, randn(keys, d, seed=34)


def _fresh(rows: int) -> tuple[State, torch.Tensor, torch.Tensor]:
    """No key seen so far; of the tile, row 0 sees nothing and the others are near −200."""
    s = randn(rows, 4, seed=35) - 200
    s[0] = -_INF
    empty = (torch.full([rows], -_INF), torch.zeros(rows), torch.zeros(rows, 4))
    return empty, s, randn(4, 4, seed=36)


def _fold_budget(state: State, s: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    eps = 32 * torch.finfo(s.dtype).eps
    m, l, acc = state
    wide = (m.double(), l.double(), acc.double().abs())
    new, sum_l, reach = fold(wide, s.double(), v.double().abs())
    return [eps * new.abs().nan_to_num(0.0, posinf=0.0), eps * sum_l, eps * reach]


def _fold_variant(bug: str, en: str, zh: str) -> Variant:
    return variant(bug, en, zh, lambda form: lambda state, s, v: folded(state, s, v, form))


ROWS = Exercise(
    id="03.rows",
    title=Text("A block of rows", "一块行"),
    spec=Text(
        "The same step for a block of rows: m and l are [rows], acc is [rows, D], s is one tile of "
        "scores [rows, keys]. Every row has a maximum and a factor of its own. A row may have seen "
        "nothing so far while its neighbours have.",
        "同一步，这回是一块行：m、l 为 [rows]，acc 为 [rows, D]，s 是一个分数块 [rows, keys]。"
        "每一行有自己的最大值和修正因子。可能有的行还什么都没看到，而旁边的行已经看到了。",
    ),
    formula="m′ᵢ = max(mᵢ, maxⱼ sᵢⱼ)   and with it l′ and acc′ as for one row",
    passage=Passage(3, Text("The output needs the same factor", "输出也要乘同一个因子")),
    then="03.merge",
    entry="fold",
    widget="fa.viz.tile_player()",
    call="fold((m, l, acc), s, v) -> (m, l, acc)",
    reference=fold,
    outputs=_STATE_OUTPUTS,
    allowed=_fold_budget,
    cases=[
        Case("value", "rows=3, keys=5", lambda: _tile(3, 5)),
        Case(
            "value",
            Text("the tile is larger", "新块的分数更大"),
            lambda: _tile(4, 4, shift=2.0),
        ),
        Case(
            "value",
            Text("the tile is smaller", "新块的分数更小"),
            lambda: _tile(4, 4, shift=-2.0),
        ),
        Case("ragged", "rows=1, keys=1", lambda: _tile(1, 1)),
        Case("extreme-logits", "s × 200", lambda: _tile(3, 5, size=200.0)),
        Case(
            "dead-rows",
            Text("row 0 sees nothing", "第 0 行什么都看不到"),
            lambda: _tile(3, 4, dead=True),
        ),
        Case("dead-rows", Text("first tile of all", "第一个块"), lambda: _fresh(3)),
        Case("dead-rows", Text("no row sees anything", "所有行都看不到"), lambda: _fresh(1)),
    ],
    rules=(Rule("own-work", lambda: _tile(3, 5), forbidden=READY_MADE),),
    variants=(
        *(_fold_variant(*shared) for shared in (*UPDATES, *BLOCKS, *GUARDS)),
        _fold_variant(
            "one-maximum",
            "One maximum serves all rows. Each row has its own: reduce over the keys only.",
            "所有行共用了一个最大值。每行各有一个：只沿 key 方向取最大。",
        ),
        _fold_variant(
            "guard-for-all",
            "The guard acts only if every row is −inf. It is needed row by row.",
            "只有所有行都是 −inf 时才起保护。应逐行判断。",
        ),
        _fold_variant(
            "block-maximum",
            "The m returned is that of this tile alone; keep the larger of the old and the new.",
            "返回的 m 只是这一块的最大值；应取新旧两者中较大的。",
        ),
    ),
    hints=(
        Text(
            "Which rows are wrong? Those whose maximum grew, those that saw nothing, or all?",
            "哪些行错了？最大值变大的，什么都没看到的，还是全部？",
        ),
        Text(
            "alpha is [rows]; acc is [rows, D]. Each row of acc takes its own factor.",
            "alpha 是 [rows]，acc 是 [rows, D]。acc 的每一行乘自己的因子。",
        ),
        Text(
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new); acc = acc * alpha[:, None] + p @ v",
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new); acc = acc * alpha[:, None] + p @ v",
        ),
    ),
)

EXERCISES = (ROW, ROWS)
