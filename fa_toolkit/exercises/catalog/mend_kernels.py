"""Chapter 06, faults to mend: the diagonal of the last queries, and two bases of one logarithm."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from typing import Any

import torch

from ...language import Text
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
from .causal_bugs import causal_tiles
from .causal_tiles import attention as causal_attention
from .devices import here
from .flash_tile import one_tile

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]
_INF = math.inf


def _late(len_q: int, len_k: int) -> tuple[Any, ...]:
    q, k = randn(len_q, 16, seed=121), randn(len_k, 16, seed=122)
    return (*here(q, k, randn(len_k, 16, seed=123)), 0.25)


def _late_variant(bug: str, en: str, zh: str) -> Variant:
    # the width of these heads is 16, so the scale of the tiles is the 0.25 of the cases
    return Variant(bug, Text(en, zh), lambda q, k, v, scale: causal_tiles(q, k, v, 16, 16, bug)[0])


FIX_DIAGONAL = Exercise(
    id="06.fix_diagonal",
    title=Text("Mend: the last queries of a text", "改错：一段文本的最后几个 query"),
    spec=Text(
        "Given: causal attention of the last Nq queries of a text of Nk tokens, as in chunked "
        "prefill with a cache. With Nq = Nk it is right. With a cache every query sees far too "
        "little. The last query should see the last key. There are two places.",
        "给出一段 Nk 个 token 的文本中最后 Nq 个 query 的因果注意力，带缓存分段预填充时就是这样。"
        "Nq = Nk 时它对；有缓存时每个 query 看到的都太少。最后一个 query 应看得到最后一个 key。要改两处。",
    ),
    formula="row i sees key j  ⇔  j ≤ i + Nk − Nq",
    passage=Passage(6, Text("mask: stop early", "mask：早些停下")),
    widget="fa.viz.tile_player()",
    then="06.forward",
    entry="late_queries",
    call="late_queries(q, k, v, scale) -> o [Nq, D]",
    reference=lambda q, k, v, scale: causal_attention(q, k, v)[0],
    outputs=(Output("o"),),
    allowed=lambda q, k, v, scale: [attention_budget(q, k, v, causal=True)[0]],
    cases=[
        Case("value", "Nq=Nk=32", lambda: _late(32, 32)),
        Case("causal", "Nq=16, Nk=48", lambda: _late(16, 48)),
        Case("causal", "Nq=1, Nk=40", lambda: _late(1, 40)),
        Case("ragged", "Nq=19, Nk=37", lambda: _late(19, 37)),
    ],
    rules=(Rule("own-work", lambda: _late(16, 16), forbidden=TORCH_MATHS),),
    variants=(
        _late_variant(
            "top-left",
            "Mask and bound are aligned top-left: row 0 stands at key 0. It stands at key Nk − Nq.",
            "掩码和循环上界都是左上对齐：第 0 行站在 key 0。它应站在 key Nk − Nq。",
        ),
        _late_variant(
            "stop-top-left",
            "The mask is mended, the bound of the loop is not: later keys are never visited.",
            "掩码改好了，循环上界还没改：后面的 key 走不到。",
        ),
        _late_variant(
            "future-seen",
            "Every row sees one key too many.",
            "每一行多看了一个 key。",
        ),
        _late_variant(
            "own-key-hidden",
            "A query's own position is hidden.",
            "query 自己的位置被遮住了。",
        ),
        _late_variant(
            "no-mask",
            "Now nothing is masked at all.",
            "现在完全没有掩码了。",
        ),
    ),
    hints=(
        Text(
            "Nq = 1, Nk = 40: which keys should the one query see, and which does it see?",
            "Nq = 1、Nk = 40：这个 query 应该看到哪些 key，现在看到了哪些？",
        ),
        Text(
            "Query i stands at key position i + Nk − Nq, in the mask and in the bound.",
            "query i 位于 key 位置 i + Nk − Nq，掩码和循环上界都要用它。",
        ),
        Text(
            "diagonal = len_k - len_q; stop = tl.program_id(0) * 16 + 16 + diagonal; cols <= offs_m + "
            "diagonal",
            "diagonal = len_k - len_q; stop = tl.program_id(0) * 16 + 16 + diagonal; cols <= offs_m + "
            "diagonal",
        ),
    ),
    needs_triton=True,
)


def _mixed(q: Tensor, k: Tensor, v: Tensor, scale: float, bug: str) -> Pair:
    """Steps of 16 keys in base 2, with one place in the wrong base."""
    x, ln2 = q.double(), math.log(2)
    m, l = x.new_full([len(q)], -_INF), x.new_zeros(len(q))
    acc = x.new_zeros(len(q), v.shape[1])
    for j in range(0, len(k), 16):
        s = x @ k[j : j + 16].double().T * (scale if bug == "scores-natural" else scale / ln2)
        new = torch.maximum(m, s.amax(1))
        alpha = (m - new).exp() if bug in ("alpha-natural", "given") else (m - new).exp2()
        p = (s - new[:, None]).exp() if bug == "p-natural" else (s - new[:, None]).exp2()
        l, acc, m = l * alpha + p.sum(1), acc * alpha[:, None] + p @ v[j : j + 16].double(), new
    lse = {
        "given": m + l.log(),
        "m-in-base-2": m + l.log(),
        "lse-base-2": m + l.log2(),
        "l-in-base-2": m * ln2 + l.log2(),
        "both-converted": (m + l.log()) * ln2,
    }
    return acc / l[:, None], lse.get(bug, m * ln2 + l.log())


def _tile(len_k: int, size: float = 1.0) -> tuple[Any, ...]:
    q, k = size * randn(16, 16, seed=124), size * randn(len_k, 16, seed=125)
    return (*here(q, k, randn(len_k, 16, seed=126)), 0.25)


def _mixed_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), lambda q, k, v, scale: _mixed(q, k, v, scale, bug))


FIX_BASE = Exercise(
    id="06.fix_base",
    title=Text("Mend: two bases in one kernel", "改错：一个 kernel 里的两种底"),
    spec=Text(
        "Given: attention of 16 queries with scores in base-2 units, as GPUs prefer. For at most 16 "
        "keys o is right; lse never is. Someone mixed e and 2. There are two places.",
        "给出 16 个 query 的注意力，分数以 2 为底，GPU 喜欢这样。key 不超过 16 个时 o 是对的，"
        "lse 总是错。有人把 e 和 2 混用了。要改两处。",
    ),
    formula="p = 2^(s − m)   alpha = 2^(m − m′)   lse = m · ln 2 + ln l",
    passage=Passage(6, Text("update", "update")),
    then="06.forward",
    entry="base2_attention",
    call="base2_attention(q, k, v, scale) -> (o, lse)",
    reference=one_tile,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=lambda q, k, v, scale: attention_budget(q, k, v, scale=scale),
    cases=[
        Case("value", "Nk=16", lambda: _tile(16)),
        Case("value", "Nk=48", lambda: _tile(48)),
        Case("ragged", "Nk=21", lambda: _tile(21)),
        Case("extreme-logits", "q, k × 30", lambda: _tile(32, size=30.0)),
    ],
    rules=(Rule("own-work", lambda: _tile(16), forbidden=TORCH_MATHS),),
    variants=(
        _mixed_variant(
            "given",
            "alpha is a power of e where p is a power of 2, and m goes into lse in base-2 units.",
            "alpha 用了 e 的幂，而 p 是 2 的幂；m 还以 2 为底就进了 lse。",
        ),
        _mixed_variant(
            "alpha-natural",
            "lse is mended. alpha is still a power of e: l and acc of earlier blocks shrink too much.",
            "lse 改好了。alpha 还是 e 的幂：前面各块的 l 和 acc 缩得太多。",
        ),
        _mixed_variant(
            "m-in-base-2",
            "o is mended. m still goes into lse in base-2 units: multiply it by ln 2.",
            "o 改好了。m 还以 2 为底就进了 lse：要乘 ln 2。",
        ),
        _mixed_variant(
            "l-in-base-2",
            "o is mended, m is converted. l needs the natural logarithm: ln l, not log2 l.",
            "o 改好了，m 也换算了。l 要取自然对数：ln l，不是 log2 l。",
        ),
        _mixed_variant(
            "both-converted",
            "o is mended. ln l is multiplied by ln 2 as well; only m counts in powers of 2.",
            "o 改好了。ln l 也乘了 ln 2；只有 m 以 2 为底。",
        ),
        _mixed_variant(
            "lse-base-2",
            "o is right, and lse is the logarithm to base 2. It should be natural.",
            "o 对了，lse 是以 2 为底的对数，应为自然对数。",
        ),
        _mixed_variant(
            "p-natural",
            "p is a power of e now, of scores in base-2 units.",
            "p 成了 e 的幂，而分数以 2 为底。",
        ),
        _mixed_variant(
            "scores-natural",
            "The factor log2(e) was taken out of the scores, and everything else is still a power "
            "of 2.",
            "分数里的 log2(e) 去掉了，其余却还是 2 的幂。",
        ),
    ),
    hints=(
        Text(
            "Nk = 16 is one step. What does the second step use that the first does not?",
            "Nk = 16 只有一步。第二步用到了第一步没用的什么？",
        ),
        Text(
            "Every exponential of a difference of scores has the base of the scores; only what "
            "leaves the kernel is natural.",
            "凡是分数之差的指数，底都与分数一致；只有离开 kernel 的量才用自然对数。",
        ),
        Text(
            "alpha = tl.exp2(m_i - m_new); lse = m_i * 0.6931471805599453 + tl.log(l_i)",
            "alpha = tl.exp2(m_i - m_new); lse = m_i * 0.6931471805599453 + tl.log(l_i)",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (FIX_DIAGONAL, FIX_BASE)
