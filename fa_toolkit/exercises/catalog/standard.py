"""Exercises of chapter 02: the bytes of three phases, and attention in a few lines of torch."""

from __future__ import annotations

import torch

from ...language import Text
from ..spec import (
    Case,
    Exercise,
    Output,
    Passage,
    Rule,
    Variant,
    attention_budget,
    randn,
    visible,
)
from .attention_bugs import attention, more, strict, top_left, wrong


def standard_bytes(n: int, d: int, itemsize: int) -> tuple[int, int, int]:
    """The dull reference."""
    scores = (2 * n * d + n * n) * itemsize  # reads Q, K; writes S
    softmax = 2 * n * n * itemsize  # reads S; writes P
    return scores, softmax, (n * n + 2 * n * d) * itemsize  # reads P, V; writes O


TRAFFIC = Exercise(
    id="02.traffic",
    title=Text("The bytes of three phases", "三个阶段的字节数"),
    spec=Text(
        "One head, N queries and keys of width d. Each phase is one kernel: it reads its operands "
        "from HBM once and writes its result once. Return the bytes moved by the scores, softmax "
        "and output phases.",
        "一个头，N 个 query 和 key，宽度 d。每个阶段是一个 kernel：操作数从 HBM 读一次，结果写一次。"
        "返回分数、softmax、输出三个阶段各搬运多少字节。",
    ),
    formula="S = Q·Kᵀ   P = softmax(S)   O = P·V",
    passage=Passage(2, Text("Three phases, and their bill", "三个阶段，各记一笔账")),
    then="02.lean",
    entry="standard_bytes",
    call="standard_bytes(n, d, itemsize) -> (scores, softmax, output)",
    reference=standard_bytes,
    outputs=tuple(Output(name, "bytes", None) for name in ("scores", "softmax", "output")),
    cases=[
        Case("value", f"N={n}, d={d}, itemsize={e}", lambda a=(n, d, e): a)  # type: ignore[misc]
        for n, d, e in ((8, 4, 2), (1024, 64, 2), (4096, 128, 4))
    ],
    variants=(
        Variant(
            "no-writes",
            Text(
                "You count what is read; what is written crosses the boundary too.",
                "只数了读，写回 HBM 也要算。",
            ),
            lambda n, d, e: (2 * n * d * e, n * n * e, (n * n + n * d) * e),
        ),
        Variant(
            "no-itemsize",
            Text("You count elements, not bytes.", "你数的是元素个数，不是字节数。"),
            lambda n, d, e: standard_bytes(n, d, 1),
        ),
        Variant(
            "fused",
            Text(
                "You keep S and P on the chip. Here every phase is its own kernel, and its result "
                "goes to HBM.",
                "你让 S 和 P 留在片上了。这里每个阶段都是单独的 kernel，结果要写回 HBM。",
            ),
            lambda n, d, e: (2 * n * d * e, 0, 2 * n * d * e),
        ),
    ),
    hints=(
        Text("Write for each phase: reads ..., writes ...", "给每个阶段写下：读什么，写什么。"),
        Text(
            "S and P are N × N; each is written once and read once.",
            "S 和 P 都是 N × N，各写一次、读一次。",
        ),
        Text("scores = (2·n·d + n·n)·itemsize", "scores = (2·n·d + n·n)·itemsize"),
    ),
)


def _qkv(
    len_q: int, len_k: int, d: int, *, causal: bool = False, dtype: torch.dtype = torch.float32,
    size: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]:  # fmt: skip
    q, k = size * randn(2, len_q, d, seed=1), size * randn(2, len_k, d, seed=2)
    return q.to(dtype), k.to(dtype), randn(2, len_k, d + 3, seed=3).to(dtype), causal


def _strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]:
    q, k, v, causal = _qkv(6, 9, 8, causal=True)
    return q.mT.contiguous().mT, k.repeat(1, 2, 1)[:, ::2], v.mT.contiguous().mT, causal


def _budget(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> list[torch.Tensor]:
    return [attention_budget(q, k, v, causal=causal, scores_in=q.dtype)[0]]


ATTENTION = Exercise(
    id="02.attention",
    title=Text("Attention in a few lines", "几行写出注意力"),
    spec=Text(
        "q [..., Nq, D], k [..., Nk, D], v [..., Nk, Dv]. With causal, query i stands at key "
        "position i + Nk − Nq and sees the keys up to it: the last query sees the last key. "
        "A row that sees no key is 0. Softmax from torch is allowed, attention is not.",
        "q [..., Nq, D]，k [..., Nk, D]，v [..., Nk, Dv]。"
        "causal 时，query i 位于 key 位置 i + Nk − Nq，"
        "能看到它及之前的 key：最后一个 query 看得到最后一个 key。看不到任何 key 的行为 0。"
        "可以用 torch 的 softmax，不能用现成的注意力。",
    ),
    formula="O = softmax(Q·Kᵀ / √D + mask) · V",
    passage=Passage(2, Text("The mask", "掩码")),
    entry="attention",
    call="attention(q, k, v, causal) -> o",
    reference=attention,
    outputs=(Output("o"),),
    allowed=_budget,
    cases=[
        Case("value", "Nq=Nk=8", lambda: _qkv(8, 8, 4)),
        Case("value", "Nq=5, Nk=7", lambda: _qkv(5, 7, 4)),
        Case("causal", "Nq=Nk=6", lambda: _qkv(6, 6, 4, causal=True)),
        Case("causal", "Nq=4, Nk=9", lambda: _qkv(4, 9, 4, causal=True)),
        Case("dead-rows", "Nq=9, Nk=4", lambda: _qkv(9, 4, 4, causal=True)),
        Case("extreme-logits", "q, k × 40", lambda: _qkv(5, 7, 8, size=40.0)),
        Case("strides", Text("transposed, every second row", "转置，隔行取"), _strided),
        Case("dtype", "float16", lambda: _qkv(5, 7, 8, dtype=torch.float16)),
        Case("dtype", "float64", lambda: _qkv(5, 7, 8, dtype=torch.float64)),
    ],
    rules=(
        Rule(
            "own-work",
            lambda: _qkv(5, 7, 4, causal=True),
            forbidden=frozenset({"scaled_dot_product_attention"}),
        ),
    ),
    variants=(
        Variant(
            "no-scale",
            Text(
                "Your result equals the one without the scale 1/√D.",
                "你的结果等于漏掉缩放 1/√D 的结果。",
            ),
            lambda q, k, v, c: wrong(q, k, v, ~visible(q.shape[-2], k.shape[-2]) & c, scale=1.0),
        ),
        Variant(
            "scale-1-over-d",
            Text("You divide by D; the scale is 1/√D.", "你除的是 D，应除以 √D。"),
            lambda q, k, v, c: wrong(
                q, k, v, ~visible(q.shape[-2], k.shape[-2]) & c, scale=1 / q.shape[-1]
            ),
        ),
        Variant(
            "no-causal",
            Text("Your result equals the one without a mask.", "你的结果等于没有加掩码的结果。"),
            lambda q, k, v, c: wrong(q, k, v, None),
        ),
        Variant(
            "top-left",
            Text(
                "Your mask is aligned top-left: query i sees keys 0..i. The last query should see "
                "the last key.",
                "你的掩码是左上对齐：query i 看 key 0..i。应当让最后一个 query 看到最后一个 key。",
            ),
            top_left,
        ),
        Variant(
            "strict",
            Text(
                "Your mask hides the query's own position too.",
                "你的掩码把 query 自己的位置也遮住了。",
            ),
            strict,
        ),
        *more(),
        Variant(
            "softmax-over-queries",
            Text(
                "Softmax runs over the queries; each row of S is what it normalises.",
                "softmax 沿 query 方向做了，应沿每一行做。",
            ),
            lambda q, k, v, c: wrong(
                q, k, v, ~visible(q.shape[-2], k.shape[-2]) if c else None, dim=-2
            ),
        ),
        Variant(
            "dead-rows-nan",
            Text(
                "A row without keys is −inf everywhere, and softmax makes NaN of it. Give such "
                "rows weight 0.",
                "看不到 key 的行全是 −inf，softmax 会得到 NaN。让这些行的权重为 0。",
            ),
            lambda q, k, v, c: wrong(q, k, v, ~visible(q.shape[-2], k.shape[-2]) if c else None),
        ),
    ),
    hints=(
        Text(
            "Take it without the mask first: two products and a softmax.",
            "先不管掩码：两次乘法，一次 softmax。",
        ),
        Text(
            "Masked scores are −inf before softmax. Position of query i: i + Nk − Nq.",
            "被遮住的分数在 softmax 之前置为 −inf。query i 的位置是 i + Nk − Nq。",
        ),
        Text(
            "hidden = torch.arange(Nq)[:, None] + Nk - Nq < torch.arange(Nk), and after softmax "
            "p.masked_fill(hidden, 0.0).",
            "hidden = torch.arange(Nq)[:, None] + Nk - Nq < torch.arange(Nk)，"
            "softmax 之后再 p.masked_fill(hidden, 0.0)。",
        ),
    ),
)

EXERCISES = (TRAFFIC, ATTENTION)
