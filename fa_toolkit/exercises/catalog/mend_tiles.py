"""Chapter 04, faults to mend: a maximum that forgets, and rows without keys."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import (
    READY_MADE,
    Case,
    Exercise,
    Output,
    Passage,
    Rule,
    Variant,
    attention_budget,
    randn,
)
from .causal_bugs import causal_tiles
from .causal_tiles import attention as causal_attention
from .tile_bugs import tiled
from .tiles import attention

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]
_INF = math.inf


def inputs(len_q: int, len_k: int, *, size: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of one head."""
    q, k = size * randn(len_q, 8, seed=61), size * randn(len_k, 8, seed=62)
    return q, k, randn(len_k, 5, seed=63)


def _falling() -> tuple[Tensor, Tensor, Tensor, int]:
    """Scores from +100 down to −100, so that each block lies far below the one before."""
    q, k = torch.full([4, 8], 5.0), torch.linspace(8.0, -8.0, 12)[:, None].expand(12, 8).clone()
    return q, k, randn(12, 5, seed=64), 3


def _plain(q: Tensor, k: Tensor, v: Tensor, block: int, bug: str) -> Pair:
    """The forward pass without a mask with one planted bug, in float32 where range matters."""
    x = q * q.shape[1] ** -0.5
    m, l, acc = x.new_full([len(q)], -_INF), x.new_zeros(len(q)), x.new_zeros(len(q), v.shape[1])
    for j in range(0, len(k), block):
        s = x @ k[j : j + block].T
        new = torch.maximum(m, s.amax(1))
        if bug in ("block-maximum", "factor-capped"):
            new = s.amax(1)
        if bug == "no-maximum":
            new = torch.zeros_like(m)
        alpha, p = (m - new).exp(), (s - new[:, None]).exp()
        if bug == "factor-capped":
            alpha = alpha.clamp(max=1.0)
        l, acc, m = l * alpha + p.sum(1), acc * alpha[:, None] + p @ v[j : j + block], new
    return acc / l[:, None], m + l.log()


def _max_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), lambda q, k, v, block: _plain(q, k, v, block, bug))


FIX_RUNNING_MAX = Exercise(
    id="04.fix_running_max",
    title=Text("Mend: a maximum that forgets", "改错：会忘的最大值"),
    spec=Text(
        "Given: the forward pass of one head without a mask. It agrees with the reference on random "
        "numbers and gives NaN when the scores fall along the row. Find the line and mend it.",
        "给出一个头的前向，没有掩码。随机数上它与参考一致，分数沿着行下降时却得到 NaN。"
        "找出这一行并改好。",
    ),
    formula="m′ = max(m, max s)   alpha = e^(m − m′) ≤ 1",
    passage=Passage(4, Text("One tile, by hand", "亲手算一块")),
    widget="fa.viz.tile_player()",
    then="04.fix_dead_rows",
    entry="steady_forward",
    call="steady_forward(q, k, v, block) -> (o, lse)",
    reference=lambda q, k, v, block: attention(q, k, v, block, block),
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=lambda q, k, v, block: list(attention_budget(q, k, v)),
    cases=[
        Case("value", "Nq=5, Nk=12, block=4", lambda: (*inputs(5, 12), 4)),
        Case("ragged", "Nq=3, Nk=11, block=4", lambda: (*inputs(3, 11), 4)),
        Case("extreme-logits", Text("falling from 113 to −113", "从 113 降到 −113"), _falling),
        Case("extreme-logits", "q, k × 30", lambda: (*inputs(4, 12, size=30.0), 4)),
    ],
    rules=(
        Rule("no-n-by-n", lambda: (*inputs(40, 64), 8), limit=40 * 64),
        Rule("own-work", lambda: (*inputs(5, 12), 4), forbidden=READY_MADE),
    ),
    variants=(
        _max_variant(
            "block-maximum",
            "m is the maximum of the present block alone. When the next block is lower, "
            "alpha = e^(m − m′) exceeds 1 and overflows: keep the larger of old and new.",
            "m 只是当前块的最大值。下一块更低时 alpha = e^(m − m′) 大于 1，会溢出：取新旧中较大的。",
        ),
        _max_variant(
            "factor-capped",
            "Capping alpha at 1 hides the overflow and loses the scale between blocks.",
            "把 alpha 截到 1 只是掩盖溢出，块与块之间的比例丢了。",
        ),
        _max_variant(
            "no-maximum",
            "Without a maximum e^s overflows at s = 89.",
            "不减最大值，s 到 89 时 e^s 就溢出。",
        ),
        Variant(
            "acc-not-rescaled",
            Text(
                "Your result equals the one without rescaling acc.",
                "你的结果等于没有修正 acc 的结果。",
            ),
            lambda q, k, v, block: tiled(q, k, v, block, block, bug="acc-not-rescaled"),
        ),
    ),
    hints=(
        Text(
            "Print alpha for falling scores. How large may it be?",
            "分数下降时把 alpha 打印出来。它最大能是多少？",
        ),
        Text(
            "m never falls: it is the largest score of all blocks so far.",
            "m 只升不降：它是到目前为止所有块里最大的分数。",
        ),
        Text("m_new = torch.maximum(m, s.amax(1))", "m_new = torch.maximum(m, s.amax(1))"),
    ),
)


def _dead(q: Tensor, k: Tensor, v: Tensor, block: int, bug: str) -> Pair:
    o, lse, _ = causal_tiles(q, k, v, max(1, len(q)), block, bug="inf-minus-inf")
    right, right_lse, _ = causal_tiles(q, k, v, max(1, len(q)), block)
    dead = right_lse == -_INF
    return {
        "inf-minus-inf": (o, lse),
        "o-patched": (right, lse),
        "lse-patched": (o, right_lse),
        "lse-zero": (right, right_lse.masked_fill(dead, 0.0)),
        "finite-mask": causal_tiles(q, k, v, max(1, len(q)), block, bug="finite-mask")[:2],
    }[bug]


def _dead_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), lambda q, k, v, block: _dead(q, k, v, block, bug))


FIX_DEAD_ROWS = Exercise(
    id="04.fix_dead_rows",
    title=Text("Mend: NaN before the first key", "改错：第一个 key 之前的 NaN"),
    spec=Text(
        "Given: causal attention, bottom-right. With more queries than keys the first rows see "
        "nothing and come out as NaN. They should be o = 0, lse = −inf. There are two places.",
        "给出右下对齐的因果注意力。query 比 key 多时，前几行什么都看不到，结果是 NaN。"
        "应为 o = 0，lse = −inf。要改两处。",
    ),
    formula="no key:   l = 0   o = 0   lse = ln 0 = −inf",
    passage=Passage(4, Text("Tiles that need not run", "不必算的块")),
    widget="fa.viz.tile_player()",
    then="04.fix_mask_value",
    entry="late_keys",
    call="late_keys(q, k, v, block) -> (o, lse)",
    reference=lambda q, k, v, block: causal_attention(q, k, v),
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=lambda q, k, v, block: list(attention_budget(q, k, v, causal=True)),
    cases=[
        Case("value", "Nq=8, Nk=8, block=4", lambda: (*inputs(8, 8), 4)),
        Case("causal", "Nq=5, Nk=12, block=4", lambda: (*inputs(5, 12), 4)),
        Case("ragged", "Nq=6, Nk=7, block=4", lambda: (*inputs(6, 7), 4)),
        Case("dead-rows", "Nq=9, Nk=4, block=2", lambda: (*inputs(9, 4), 2)),
        Case("dead-rows", "Nq=3, Nk=1, block=4", lambda: (*inputs(3, 1), 4)),
    ],
    rules=(Rule("own-work", lambda: (*inputs(5, 7), 4), forbidden=READY_MADE),),
    variants=(
        _dead_variant(
            "inf-minus-inf",
            "For a row that saw nothing m_new is −inf, and −inf − (−inf) is NaN. Subtract 0 there.",
            "什么都没看到的行 m_new 是 −inf，−inf − (−inf) 得 NaN。那里改为减 0。",
        ),
        _dead_variant(
            "o-patched",
            "o is right now, lse is still NaN.",
            "o 对了，lse 还是 NaN。",
        ),
        _dead_variant(
            "lse-patched",
            "lse is right now, o is still NaN: after the loop 0 is divided by 0.",
            "lse 对了，o 还是 NaN：循环之后算了 0 / 0。",
        ),
        _dead_variant(
            "lse-zero",
            "lse of a row without keys is 0; a merge would then count it as e^0 = 1. It is −inf.",
            "没有 key 的行 lse 是 0，合并时会按 e^0 = 1 计入。应为 −inf。",
        ),
        _dead_variant(
            "finite-mask",
            "With a finite mask value a row without keys averages the keys it may not see.",
            "掩码用了有限的数，没有 key 的行就把不该看的 key 取了平均。",
        ),
    ),
    hints=(
        Text(
            "Follow row 0 of Nq = 3, Nk = 1. Which operation makes the first NaN?",
            "跟着 Nq = 3、Nk = 1 的第 0 行走一遍：第一个 NaN 是哪一步产生的？",
        ),
        Text(
            "−inf − (−inf) in the exponents, then 0 / 0 after the loop.",
            "先是指数里的 −inf − (−inf)，再是循环之后的 0 / 0。",
        ),
        Text(
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new); seen = torch.where(l == 0, 1.0, l)",
            "pivot = torch.where(m_new == -torch.inf, 0.0, m_new); seen = torch.where(l == 0, 1.0, l)",
        ),
    ),
)


EXERCISES = (FIX_RUNNING_MAX, FIX_DEAD_ROWS)
