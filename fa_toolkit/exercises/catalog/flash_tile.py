"""Exercises of chapter 06: one tile of scores, and the loop over keys."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...language import Text
from ..layouts import fixed, shorter
from ..spec import (
    TORCH_MATHS,
    Case,
    Exercise,
    Output,
    Passage,
    Rule,
    Variant,
    attention_budget,
    randn,
)
from .devices import here
from .extremes import FAR_BELOW, far_below
from .state_bugs import BLOCKS, UPDATES, variant
from .tile_bugs import tiled

_EPS = torch.finfo(torch.float32).eps
Pair = tuple[torch.Tensor, torch.Tensor]


def scores(q: torch.Tensor, k: torch.Tensor, scale: float) -> torch.Tensor:
    """The dull reference."""
    s = torch.full([len(q), 32], -math.inf, dtype=q.dtype, device=q.device)
    s[:, : len(k)] = scale * q @ k.T  # [Nq, Nk] of [Nq, 32]
    return s


def _filled(q: torch.Tensor, k: torch.Tensor, scale: float, value: float) -> torch.Tensor:
    return scores(q, k, scale).nan_to_num(0.0, neginf=value)


def _qk(len_q: int, len_k: int, size: float = 1.0) -> tuple[Any, ...]:
    q, k = here(size * randn(len_q, 16, seed=1), size * randn(len_k, 16, seed=2))
    return q, k, 0.25


def _scores_budget(q: torch.Tensor, k: torch.Tensor, scale: float) -> list[Any]:
    reach = scale * (q.double().abs() @ k.double().abs().T)
    return [torch.nn.functional.pad(16 * _EPS * reach, (0, 32 - len(k))) + _EPS]


def _below(q: torch.Tensor, k: torch.Tensor, *rest: Any) -> tuple[Any, ...]:
    return (*far_below(q, k), *rest)


SCORES = Exercise(
    id="06.scores",
    title=Text("One tile of scores", "一个分数块"),
    spec=Text(
        "Load one tile of q [Nq, D] and one of k [Nk, D], both contiguous with Nq, Nk up to 32, "
        "and form s = scale · q kᵀ. Rows past Nq and Nk load as 0; columns past Nk hold −inf.",
        "读入 q [Nq, D] 和 k [Nk, D] 各一块（连续，Nq、Nk 不超过 32），算出 s = scale · q kᵀ。"
        "超出 Nq、Nk 的行读成 0；超出 Nk 的列为 −inf。",
    ),
    formula="s[i, j] = scale · Σ_d q[i, d] · k[j, d],   −inf for j ≥ Nk",
    passage=Passage(6, Text("load_q, load_kv, scores", "load_q、load_kv、scores")),
    then="06.tile",
    entry="tile_scores",
    widget="fa.viz.pointer_grid(10, block=4, program=2)",
    call="tile_scores(q, k, scale) -> s [Nq, 32]",
    reference=scores,
    outputs=(Output("s", dtype="float32"),),
    allowed=_scores_budget,
    cases=[
        Case("value", "Nq=Nk=32", lambda: _qk(32, 32)),
        Case("ragged", "Nq=32, Nk=20", lambda: _qk(32, 20)),
        Case("ragged", "Nq=7, Nk=1", lambda: _qk(7, 1)),
        Case("extreme-logits", "q, k × 100", lambda: _qk(8, 8, size=100.0)),
    ],
    rules=(Rule("own-work", lambda: _qk(8, 8), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "no-scale",
            Text("The scale is missing.", "漏了缩放。"),
            lambda q, k, scale: scores(q, k, 1.0),
        ),
        Variant(
            "zero-columns",
            Text(
                "Columns past Nk hold 0, and e^0 = 1 would count. They must hold −inf.",
                "超出 Nk 的列是 0，而 e^0 = 1 会被计入。应为 −inf。",
            ),
            lambda q, k, scale: _filled(q, k, scale, 0.0),
        ),
        Variant(
            "finite-columns",
            Text(
                "Columns past Nk hold a large negative "
                "number. −inf is exact at every size of score.",
                "超出 Nk 的列用了很大的负数。−inf 不论分数多大都准确。",
            ),
            lambda q, k, scale: _filled(q, k, scale, -1e6),
        ),
        Variant(
            "scale-twice",
            Text("The scale enters twice.", "缩放乘了两次。"),
            lambda q, k, scale: scores(q, k, scale * scale),
        ),
    ),
    hints=(
        Text(
            "Take Nk = 32 first. Then ask what stands in the columns that have no key.",
            "先看 Nk = 32。再想：没有 key 的列里放什么？",
        ),
        Text(
            "Lanes loaded as 0 give the score 0, and softmax counts e^0.",
            "读成 0 的位置分数为 0，softmax 会计入 e^0。",
        ),
        Text(
            's = tl.where((offs_n < len_k)[None, :], s, -float("inf"))',
            's = tl.where((offs_n < len_k)[None, :], s, -float("inf"))',
        ),
    ),
    needs_triton=True,
)


def one_tile(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> Pair:
    """The dull reference."""
    s = scale * q @ k.T  # [16, Nk]
    return torch.softmax(s, 1) @ v, torch.logsumexp(s, 1)  # [16, D], [16]


def _qkv(len_k: int, size: float = 1.0) -> tuple[Any, ...]:
    q, k = size * randn(16, 16, seed=3), size * randn(len_k, 16, seed=4)
    return (*here(q, k, randn(len_k, 16, seed=5)), 0.25)


def _loop_variant(bug: str, en: str, zh: str) -> Variant:
    # the width of these tiles is 16, so the default scale of `tiled` is the 0.25 of the cases
    return variant(
        bug,
        en,
        zh,
        lambda form: lambda q, k, v, scale: tiled(q, k, v, 16, 16, bug=form),
        frozenset(["rescaled-by-largest/all"]),  # with one block of rows: nothing is rescaled
    )


LOOP = Exercise(
    id="06.loop",
    title=Text("The loop over keys", "沿 key 的循环"),
    spec=Text(
        "One program, 16 queries, 16 keys a step. The scores of a step stand in s, masked. Fold "
        "them into m_i, l_i and acc so that after the loop acc / l_i is attention and "
        "m_i + ln l_i its log-sum-exp.",
        "一个程序实例，16 个 query，每步 16 个 key。"
        "每步的分数已在 s 里，掩码已加好。把它并入 m_i、l_i、acc，"
        "使循环之后 acc / l_i 就是注意力，m_i + ln l_i 就是 log-sum-exp。",
    ),
    formula="alpha = e^(m − m′)   l′ = l·alpha + Σ p   acc′ = acc·alpha + p·V",
    passage=Passage(6, Text("update", "update")),
    then="06.ragged",
    entry="one_tile",
    layout=fixed(16, 16),
    shorter=shorter,
    widget="fa.viz.tile_player()",
    call="one_tile(q, k, v, scale) -> (o, lse)",
    reference=one_tile,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=lambda q, k, v, scale: attention_budget(q, k, v, scale=scale),
    cases=[
        Case("value", "Nk=16", lambda: _qkv(16)),
        Case("value", "Nk=48", lambda: _qkv(48)),
        Case("ragged", "Nk=39", lambda: _qkv(39)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(32, size=30.0)),
        Case("extreme-logits", FAR_BELOW, lambda: _below(*_qkv(39))),
    ],
    rules=(Rule("own-work", lambda: _qkv(16), forbidden=TORCH_MATHS),),
    variants=(
        *(_loop_variant(*item) for item in (*UPDATES, *BLOCKS)),
        _loop_variant(
            "block-maximum",
            "m_new is the maximum of this step alone: keep the larger of m_i and it.",
            "m_new 只是这一步的最大值：应与 m_i 取较大的。",
        ),
        _loop_variant(
            "one-maximum",
            "One maximum serves all rows: reduce over the keys only, axis=1.",
            "所有行共用了一个最大值：只沿 key 方向取，axis=1。",
        ),
        _loop_variant(
            "last-block-only",
            "Only the last step is in the result: add to l_i and acc, do not replace them.",
            "结果里只有最后一步：l_i 和 acc 要累加，不是覆盖。",
        ),
    ),
    hints=(
        Text(
            "Nk = 16 is one step. If it holds and Nk = 48 does not, look at what is carried over.",
            "Nk = 16 只有一步。如果它对而 Nk = 48 不对，看跨步保留的量。",
        ),
        Text(
            "When m grows, everything summed so far was relative to the old m.",
            "m 变大时，之前累加的一切都是相对旧 m 的。",
        ),
        Text(
            "alpha = tl.exp(m_i - m_new); acc = acc * "
            "alpha[:, None] + tl.dot(p, v, input_precision='ieee'); and keep m_new",
            "alpha = tl.exp(m_i - m_new); "
            "acc = acc * alpha[:, None] + tl.dot(p, v, input_precision='ieee')；并记下 m_new",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (SCORES, LOOP)
