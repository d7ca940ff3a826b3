"""Exercises of chapter 04: the forward pass in tiles, and which keys a block of rows can see."""

from __future__ import annotations

import math

import torch

from ...language import Text
from ..layouts import blocks, shorter
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
from .extremes import FAR_BELOW, far_below
from .state_bugs import BLOCKS, LSE_MIXED, UPDATES, variant
from .tile_bugs import tiled

Args = tuple[torch.Tensor, torch.Tensor, torch.Tensor, int, int]
Result = tuple[torch.Tensor, torch.Tensor]


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_m: int, block_n: int
) -> Result:
    """The dull reference: the blocks change nothing."""
    s = q @ k.T * q.shape[1] ** -0.5  # [Nq, Nk]
    p = torch.softmax(s, dim=1)  # [Nq, Nk]
    return p @ v, torch.logsumexp(s, dim=1)  # [Nq, Dv], [Nq]


def _qkv(
    len_q: int, len_k: int, block_m: int, block_n: int, *, d: int = 8, size: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Args:  # fmt: skip
    q, k = size * randn(len_q, d, seed=1), size * randn(len_k, d, seed=2)
    return q.to(dtype), k.to(dtype), randn(len_k, d + 3, seed=3).to(dtype), block_m, block_n


def _below() -> Args:
    q, k, v, _, _ = _qkv(7, 10, 4, 4)
    return (*far_below(q, k), v, 4, 4)  # type: ignore[return-value]


def _strided() -> Args:
    q, k, v, _, _ = _qkv(12, 20, 4, 8)
    return q.T.contiguous().T, k.repeat(2, 1)[::2], v.T.contiguous().T, 4, 8


def _rising() -> Args:
    """Later tiles hold larger scores, so that every step must rescale."""
    q, k, v, _, _ = _qkv(8, 16, 4, 4)
    return q.abs(), k * torch.arange(1, 17)[:, None] / 4, v, 4, 4


def _budget(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: int) -> list[torch.Tensor]:
    return list(attention_budget(q, k, v))


def _variant(bug: str, en: str, zh: str) -> Variant:
    return variant(
        bug, en, zh, lambda form: lambda q, k, v, bm, bn: tiled(q, k, v, bm, bn, bug=form)
    )


FORWARD = Exercise(
    id="04.forward",
    title=Text("The forward pass in tiles", "分块的前向"),
    spec=Text(
        "One head: q [Nq, D], k [Nk, D], v [Nk, Dv]. For every block of block_m rows walk over "
        "the keys in blocks of block_n, keep m, l and acc in float32, divide once at the end. "
        "Return o in the dtype of q and lse = m + ln l in float32. With no keys at all, o = 0 and "
        "lse = −inf. Nothing of Nq × Nk elements may ever exist.",
        "一个头：q [Nq, D]，k [Nk, D]，v [Nk, Dv]。"
        "每次取 block_m 行，按 block_n 个 key 一块走完所有 key，"
        "m、l、acc 用 float32，最后只除一次。返回与 q 同类型的 o，以及 float32 的 lse = m + ln l。"
        "一个 key 都没有时 o = 0，lse = −inf。任何时候都不能出现 Nq × Nk 个元素的张量。",
    ),
    formula="acc′ = acc · e^(m − m′) + e^(S − m′) · V   O = acc / l   lse = m + ln l",
    passage=Passage(4, Text("Two loops, and that is the algorithm", "两层循环，就是整个算法")),
    then="04.square",
    entry="tiled_forward",
    layout=blocks(),
    shorter=shorter,
    widget="fa.viz.tile_player()",
    call="tiled_forward(q, k, v, block_m, block_n) -> (o, lse)",
    reference=lambda q, k, v, bm, bn: tuple(
        x.nan_to_num(0.0, neginf=-math.inf) for x in attention(q, k, v, bm, bn)
    ),
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=_budget,
    cases=[
        Case("value", "Nq=8, Nk=16, block_m=4, block_n=4", lambda: _qkv(8, 16, 4, 4)),
        Case("value", Text("rising scores, blocks 4, 4", "分数递增，块 4、4"), _rising),
        Case("value", "Nq=16, Nk=8, block_m=8, block_n=4", lambda: _qkv(16, 8, 8, 4)),
        Case("ragged", "Nq=10, Nk=13, block_m=4, block_n=8", lambda: _qkv(10, 13, 4, 8)),
        Case("ragged", "Nq=1, Nk=3, block_m=16, block_n=16", lambda: _qkv(1, 3, 16, 16)),
        Case("dead-rows", "Nk=0", lambda: _qkv(5, 0, 4, 4)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(8, 16, 4, 4, size=30.0)),
        Case("extreme-logits", FAR_BELOW, _below),
        Case("strides", Text("transposed, every second row", "转置，隔行取"), _strided),
        Case("dtype", "float16", lambda: _qkv(8, 16, 4, 4, dtype=torch.float16)),
    ],
    rules=(
        Rule("no-n-by-n", lambda: _qkv(64, 80, 8, 16, d=4), limit=64 * 80),
        Rule("own-work", lambda: _qkv(8, 12, 4, 4), forbidden=READY_MADE),
    ),
    variants=(
        *(_variant(*item) for item in (*UPDATES, *BLOCKS)),
        _variant(
            "block-maximum",
            "m is the maximum of the present block alone: keep the larger of the old and the new.",
            "m 只是当前块的最大值：应取新旧两者中较大的。",
        ),
        _variant(
            "one-maximum",
            "One maximum serves all rows of a block. Each row has its own.",
            "一块的所有行共用了一个最大值。每行各有一个。",
        ),
        _variant(
            "same-values",
            "Every block of keys meets the first rows of V: the slice of V does not move along.",
            "每一块 key 乘的都是 V 最前面的几行：V 的切片没有跟着走。",
        ),
        _variant(
            "last-block-only",
            "Only the last block of keys is in the result: add to l and acc, do not replace them.",
            "结果里只有最后一块 key：l 和 acc 要累加，不是覆盖。",
        ),
        _variant(
            "not-normalised", "acc is not divided by l at the end.", "最后没有把 acc 除以 l。"
        ),
        _variant(
            "no-scale",
            "Your result equals the one without the scale 1/√D.",
            "你的结果等于漏掉缩放 1/√D 的结果。",
        ),
        _variant(
            "scale-1-over-d", "You divide by D; the scale is 1/√D.", "你除的是 D，应除以 √D。"
        ),
        _variant(
            "tail-dropped",
            "The last, shorter block of keys is left out.",
            "最后那个较短的 key 块漏掉了。",
        ),
        _variant(
            "lse-no-max", "lse = ln l is relative to m; add m.", "ln l 是相对于 m 的，还要加上 m。"
        ),
        _variant(*LSE_MIXED),
        _variant(
            "lse-base-2",
            "lse is in base 2; it should be natural.",
            "lse 用了以 2 为底的对数，应为自然对数。",
        ),
        _variant(
            "lse-no-log",
            "lse is m + l; it should be m + ln l.",
            "lse 写成了 m + l，应为 m + ln l。",
        ),
    ),
    hints=(
        Text(
            "Try one block of keys first (block_n >= Nk). If that holds, the fault is in the step "
            "from block to block.",
            "先只用一块 key（block_n ≥ Nk）。如果对了，问题就在块与块之间。",
        ),
        Text(
            "After every block, acc and l are both sums of e^(s − m) with the same, newest m.",
            "每走完一块，acc 和 l 都是 e^(s − m) 之和，而且用的是同一个最新的 m。",
        ),
        Text(
            "alpha = (m - m_new).exp(); l = l * alpha + "
            "p.sum(1); acc = acc * alpha[:, None] + p @ v_tile",
            "alpha = (m - m_new).exp(); l = l * alpha + "
            "p.sum(1); acc = acc * alpha[:, None] + p @ v_tile",
        ),
    ),
)


def visible_stop(start_m: int, stop_m: int, len_q: int, len_k: int) -> int:
    """The dull reference."""
    last = min(stop_m, len_q) - 1  # the last row sees most
    position = last + len_k - len_q  # where it stands among the keys
    return max(0, min(len_k, position + 1))


_RANGES = (
    ("causal", 0, 4, 8, 8), ("causal", 4, 8, 8, 8), ("causal", 0, 4, 8, 12), ("causal", 0, 2, 4, 6),
    ("ragged", 8, 12, 10, 10), ("ragged", 4, 8, 5, 9), ("dead-rows", 0, 2, 8, 4),
    ("dead-rows", 2, 6, 8, 4), ("dead-rows", 0, 4, 4, 0),
)  # fmt: skip

RANGES = Exercise(
    id="04.ranges",
    title=Text("How far a block of rows can see", "一块行能看多远"),
    spec=Text(
        "Rows [start_m, stop_m) of len_q queries, causal and bottom-right: query i stands at key "
        "position i + len_k − len_q. Return stop, so that keys [0, stop) are those that at least "
        "one of the rows sees. stop_m may lie past len_q, and a block may see nothing.",
        "len_q 个 query 中的第 [start_m, stop_m) 行，右下对齐的因果掩码："
        "query i 位于 key 位置 i + len_k − len_q。"
        "返回 stop，使 key [0, stop) 恰是这些行中至少一行能看到的 key。"
        "stop_m 可能超过 len_q，也可能一个 key 都看不到。",
    ),
    formula="stop = last visible key + 1, within 0 .. len_k",
    passage=Passage(4, Text("Tiles that need not run", "不必算的块")),
    widget="fa.viz.tile_player()",
    then="04.causal",
    entry="visible_stop",
    call="visible_stop(start_m, stop_m, len_q, len_k) -> stop",
    reference=visible_stop,
    outputs=(Output("stop", "causal", None),),
    cases=[
        Case(p, f"[{a}, {b}), len_q={lq}, len_k={lk}", lambda x=(a, b, lq, lk): x)  # type: ignore[misc]
        for p, a, b, lq, lk in _RANGES
    ],
    variants=(
        Variant(
            "top-left",
            Text(
                "You align top-left: the offset len_k − len_q is missing.",
                "你用了左上对齐：漏了偏移 len_k − len_q。",
            ),
            lambda a, b, lq, lk: max(0, min(lk, min(b, lq))),
        ),
        Variant(
            "off-by-one",
            Text(
                "stop is one too small: it is exclusive, so one past the last visible key.",
                "stop 小了 1：它不含端点，应是最后一个可见 key 再加 1。",
            ),
            lambda a, b, lq, lk: max(0, visible_stop(a, b, lq, lk) - 1),
        ),
        Variant(
            "first-row",
            Text(
                "You take the first row of the block; the last row sees most.",
                "你用的是块的第一行；看得最远的是最后一行。",
            ),
            lambda a, b, lq, lk: max(0, min(lk, a + lk - lq + 1)),
        ),
        Variant(
            "rows-past-the-end",
            Text(
                "You count rows past len_q, which do not exist.", "你把超出 len_q 的行也算进去了。"
            ),
            lambda a, b, lq, lk: max(0, b + lk - lq),
        ),
        Variant(
            "negative",
            Text(
                "A block that sees nothing must give 0, not a negative number.",
                "什么都看不到的块应返回 0，而不是负数。",
            ),
            lambda a, b, lq, lk: min(lk, min(b, lq) + lk - lq),
        ),
    ),
    hints=(
        Text(
            "Draw len_q = 2, len_k = 4. Where does row 0 stand?",
            "画出 len_q = 2、len_k = 4 的情形：第 0 行在哪里？",
        ),
        Text(
            "Only the last row of the block that exists matters.",
            "只有块中实际存在的最后一行起作用。",
        ),
        Text(
            "last = min(stop_m, len_q) - 1 + len_k - len_q",
            "last = min(stop_m, len_q) - 1 + len_k - len_q",
        ),
    ),
)

EXERCISES = (FORWARD, RANGES)
