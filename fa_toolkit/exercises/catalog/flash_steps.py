"""Exercises of chapter 06, third part: one tile of attention, and ragged lengths."""

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
from .tile_bugs import tiled

Tensor = torch.Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """The dull reference."""
    return torch.softmax(scale * q @ k.T, 1) @ v  # [Nq, D]


def _qkv(len_q: int, len_k: int, d: int = 16, size: float = 1.0) -> tuple[Any, ...]:
    q, k = size * randn(len_q, d, seed=111), size * randn(len_k, d, seed=112)
    return (*here(q, k, randn(len_k, d, seed=113)), d**-0.5)


def _below(q: Tensor, k: Tensor, *rest: Any) -> tuple[Any, ...]:
    return (*far_below(q, k), *rest)


def _budget(q: Tensor, k: Tensor, v: Tensor, scale: float) -> list[Tensor]:
    return [attention_budget(q, k, v, scale=scale)[0]]


def _padded(q: Tensor, k: Tensor, v: Tensor, scale: float, width: int) -> Tensor:
    """Keys that do not exist count with the score 0, up to a multiple of `width`."""
    more = -len(k) % width
    k, v = (torch.nn.functional.pad(x, (0, 0, 0, more)) for x in (k, v))
    return attention(q, k, v, scale)


def _by_rows(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Keys below Nq count, those that do not exist with the score 0."""
    more = -len(k) % 16
    k, v = (torch.nn.functional.pad(x, (0, 0, 0, more))[: len(q)] for x in (k, v))
    return attention(q, k, v, scale)


def _weights(q: Tensor, k: Tensor, v: Tensor, scale: float, bug: str) -> Tensor:
    s = scale * q @ k.T
    if bug == "over-queries":
        return torch.softmax(s, 0) @ v
    if bug == "no-maximum":
        return s.exp() @ v / s.exp().sum(1, keepdim=True)
    if bug == "one-maximum":
        p = (s - s.max()).exp()
        return p @ v / p.sum(1, keepdim=True)
    if bug == "maximum-of-absent-keys":
        largest = s.amax(1, keepdim=True)
        p = (s - (largest.clamp_min(0.0) if len(k) < 32 else largest)).float().exp()
        return p @ v.float() / p.sum(1, keepdim=True)
    return (s - s.amax(1, keepdim=True)).exp() @ v


TILE = Exercise(
    id="06.tile",
    title=Text("Attention in one tile", "一个块里的注意力"),
    spec=Text(
        "One program, 16 queries, at most 32 keys: everything fits in one tile, so there is no "
        "loop. The scores s [16, 32] stand there; lanes past len_k were loaded as 0. Mask them, "
        "make safe softmax of each row, multiply by v.",
        "一个程序实例，16 个 query，至多 32 个 key：一个块就放下了，没有循环。"
        "分数 s [16, 32] 已算好；超出 len_k 的位置读成了 0。"
        "把它们遮住，逐行做安全的 softmax，再乘 v。",
    ),
    formula="o = Σⱼ e^(sⱼ − m) · v[j] / Σⱼ e^(sⱼ − m),   j < Nk,   m = maxⱼ sⱼ",
    passage=Passage(6, Text("load_q, load_kv, scores", "load_q、load_kv、scores")),
    then="06.loop",
    entry="tile_attention",
    layout=fixed(16, 16),
    widget="fa.viz.tile_player()",
    call="tile_attention(q, k, v, scale) -> o [16, D]",
    reference=attention,
    outputs=(Output("o"),),
    allowed=_budget,
    cases=[
        Case("value", "Nk=32", lambda: _qkv(16, 32)),
        Case("ragged", "Nk=20", lambda: _qkv(16, 20)),
        Case("ragged", "Nk=1", lambda: _qkv(16, 1)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(16, 24, size=30.0)),
        Case("extreme-logits", FAR_BELOW, lambda: _below(*_qkv(16, 20))),
    ],
    rules=(Rule("own-work", lambda: _qkv(16, 8), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "keys-past-the-end",
            Text(
                "Lanes past Nk hold the score 0 and count as e^0. Set them to −inf.",
                "超出 Nk 的位置分数是 0，会按 e^0 计入。应设为 −inf。",
            ),
            lambda q, k, v, scale: _padded(q, k, v, scale, 32),
        ),
        Variant(
            "maximum-of-absent-keys",
            Text(
                "The maximum is taken before the lanes past Nk are hidden: their score 0 is the largest "
                "where all real scores are far below, and every e^(s − m) is 0. Hide them first.",
                "先取了最大值，后遮超出 Nk 的位置：真实分数都远低于 0 时，它们的 0 成了最大值，"
                "e^(s − m) 全是 0。要先遮掉。",
            ),
            lambda q, k, v, scale: _weights(q, k, v, scale, "maximum-of-absent-keys"),
        ),
        Variant(
            "over-queries",
            Text(
                "Softmax runs over the queries (axis 0). Each row of s is one softmax: axis=1.",
                "softmax 沿 query（axis 0）做了。s 的每一行是一个 softmax：axis=1。",
            ),
            lambda q, k, v, scale: _weights(q, k, v, scale, "over-queries"),
        ),
        Variant(
            "no-maximum",
            Text("The maximum is not subtracted: e^s overflows.", "没有减去最大值：e^s 会溢出。"),
            lambda q, k, v, scale: _weights(q, k, v, scale, "no-maximum"),
        ),
        Variant(
            "one-maximum",
            Text(
                "One maximum for the whole tile: rows far below it underflow to 0 / 0. Each row "
                "subtracts its own.",
                "整个块共用一个最大值：远低于它的行会下溢成 0 / 0。每行减自己的最大值。",
            ),
            lambda q, k, v, scale: _weights(q, k, v, scale, "one-maximum"),
        ),
        Variant(
            "not-normalised",
            Text("The division by the sum is missing.", "漏了除以总和。"),
            lambda q, k, v, scale: _weights(q, k, v, scale, "not-normalised"),
        ),
    ),
    hints=(
        Text(
            "Take Nk = 32 first; then ask what the other lanes of s hold.",
            "先看 Nk = 32；再想 s 里其余的位置是什么。",
        ),
        Text(
            "Three lines of chapter 03 with axis=1: m, p, then p · v over the sum of p.",
            "第 03 章的三行，加上 axis=1：m，p，然后 p · v 除以 p 的和。",
        ),
        Text(
            's = tl.where(mask_n[None, :], s, -float("inf")); p = tl.exp(s - tl.max(s, axis=1)[:, None])',
            's = tl.where(mask_n[None, :], s, -float("inf")); p = tl.exp(s - tl.max(s, axis=1)[:, None])',
        ),
    ),
    needs_triton=True,
)


def _some_rows(q: Tensor, k: Tensor, v: Tensor, scale: float, rows: int) -> Tensor:
    o = torch.full_like(q, math.nan)
    o[:rows] = attention(q, k, v, scale)[:rows]
    return o


def _narrow(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Only the first columns, up to a power of two, enter the scores."""
    d = 1 << (q.shape[1].bit_length() - 1)
    return torch.softmax(scale * q[:, :d] @ k[:, :d].T, 1) @ v


RAGGED = Exercise(
    id="06.ragged",
    title=Text("Lengths and widths that fit no block", "不合块大小的长度和宽度"),
    spec=Text(
        "One head, any Nq, Nk and D, contiguous. One program a tile of 16 rows, 16 keys a step, "
        "BLOCK_D the next power of two from D. Load q, k and v so that nothing outside is touched, "
        "hide the keys that do not exist, and store the rows that do.",
        "一个头，Nq、Nk、D 任意，内存连续。每 16 行一个程序实例，每步 16 个 key，BLOCK_D 是不小于 D 的 2 的幂。"
        "读 q、k、v 时不能碰到外面，把不存在的 key 遮住，只写存在的行。",
    ),
    formula="load: row < N and d < D, else 0;   s = −inf for keys ≥ Nk",
    passage=Passage(6, Text("load_q, load_kv, scores", "load_q、load_kv、scores")),
    then="06.causal",
    entry="ragged_attention",
    layout=fixed(16, 16),
    shorter=shorter,
    widget="fa.viz.tile_player()",
    call="ragged_attention(q, k, v, scale) -> o [Nq, D]",
    reference=attention,
    outputs=(Output("o"),),
    allowed=_budget,
    cases=[
        Case("value", "Nq=16, Nk=32, D=16", lambda: _qkv(16, 32)),
        Case("value", "Nq=32, Nk=16, D=16", lambda: _qkv(32, 16)),
        Case("ragged", "Nq=20, Nk=35, D=16", lambda: _qkv(20, 35)),
        Case("ragged", "Nq=7, Nk=5, D=24", lambda: _qkv(7, 5, 24)),
        Case("ragged", "Nq=1, Nk=17, D=8", lambda: _qkv(1, 17, 8)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(9, 20, size=30.0)),
        Case("extreme-logits", FAR_BELOW, lambda: _below(*_qkv(9, 20))),
    ],
    rules=(Rule("own-work", lambda: _qkv(16, 16), forbidden=TORCH_MATHS | {"pad"}),),
    variants=(
        Variant(
            "keys-past-the-end",
            Text(
                "Keys past Nk count with the score 0, e^0 = 1. Their scores must be −inf.",
                "超出 Nk 的 key 以分数 0 计入，e^0 = 1。它们的分数应为 −inf。",
            ),
            lambda q, k, v, scale: _padded(q, k, v, scale, 16),
        ),
        Variant(
            "keys-by-rows",
            Text(
                "Keys are hidden by the number of queries. Which keys exist depends on Nk.",
                "遮 key 时用了 query 的个数。哪些 key 存在，取决于 Nk。",
            ),
            _by_rows,
        ),
        Variant(
            "last-keys-dropped",
            Text(
                "The last, shorter block of keys is left out.",
                "最后那个较短的 key 块漏掉了。",
            ),
            lambda q, k, v, scale: tiled(q, k, v, 16, 16, bug="tail-dropped")[0],
        ),
        Variant(
            "first-tile-of-rows",
            Text(
                "Only the first 16 rows are written: the program id does not enter.",
                "只写了前 16 行：没有用上程序实例编号。",
            ),
            lambda q, k, v, scale: _some_rows(q, k, v, scale, 16),
        ),
        Variant(
            "last-rows-missing",
            Text(
                "The last, incomplete tile of rows is not written.",
                "最后不满的那块行没有写。",
            ),
            lambda q, k, v, scale: _some_rows(q, k, v, scale, len(q) // 16 * 16),
        ),
        Variant(
            "columns-dropped",
            Text(
                "Scores are made of the first columns only, up to a power of two: BLOCK_D must be "
                "at least D.",
                "分数只用了前面若干列（2 的幂）：BLOCK_D 不能小于 D。",
            ),
            _narrow,
        ),
        Variant(
            "no-scale",
            Text("The scale is missing.", "漏了缩放。"),
            lambda q, k, v, scale: attention(q, k, v, 1.0),
        ),
    ),
    hints=(
        Text(
            "Which case fails first: rows, keys or width?",
            "先错的是哪一种：行、key，还是宽度？",
        ),
        Text(
            "Two different things go wrong past the end: a load that touches foreign memory, and a "
            "key that counts although it does not exist.",
            "越过末尾会出两种不同的错：load 碰到别人的内存；不存在的 key 也被计入。",
        ),
        Text(
            "mask_kv = (offs_n < len_k)[:, None] & (offs_d[None, :] < D), and tl.where on s",
            "mask_kv = (offs_n < len_k)[:, None] & (offs_d[None, :] < D)，再对 s 用 tl.where",
        ),
    ),
    needs_triton=True,
)


EXERCISES = (TILE, RAGGED)
