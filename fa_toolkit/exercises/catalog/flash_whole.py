"""The last exercise of chapter 06: the whole forward kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..layouts import fixed
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
    visible,
)
from .causal_bugs import MASKS, STEPS, causal_tiles
from .devices import here
from .extremes import FAR_BELOW, HIDDEN_ABOVE, far_below, rising
from .state_bugs import LSE_MIXED, variant
from .tile_bugs import tiled

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]


def _shared(q: Tensor, x: Tensor) -> Tensor:
    return x.repeat_interleave(q.shape[1] // x.shape[1], 1)


def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Pair:
    """The dull reference; a row without keys is 0, its lse −inf."""
    hidden = ~visible(q.shape[2], k.shape[2]).to(q.device) & causal  # [Nq, Nk]
    s = q @ _shared(q, k).mT * q.shape[3] ** -0.5  # [B, Hq, Nq, Nk]
    s = s.masked_fill(hidden, -torch.inf)
    p = torch.softmax(s, -1).masked_fill(hidden, 0.0)
    return p @ _shared(q, v), torch.logsumexp(s, -1)


def _one_head(q: Tensor, k: Tensor, v: Tensor, causal: bool, bug: str) -> Pair:
    if not causal:
        return tiled(q, k, v, 16, 16, bug=bug)
    return causal_tiles(q, k, v, 16, 16, bug)[:2]


def _key_head(h: int, heads_q: int, heads_kv: int, bug: str) -> int:
    return {"modulo": h % heads_kv, "first-head": 0}.get(bug, h // (heads_q // heads_kv))


def _whole(q: Tensor, k: Tensor, v: Tensor, causal: bool, bug: str) -> Pair:
    """Head by head, with one planted bug."""
    if bug == "mask-always":
        causal = True
    if bug == "mask-never":
        causal = False
    if bug == "strides-assumed":
        q, k, v = (
            torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), 0) for x in (q, k, v)
        )
    if bug == "v-by-strides-of-k":
        v = v.as_strided(v.shape, (*v.stride()[:2], *k.stride()[2:]), v.storage_offset())
    o, lse = (
        torch.zeros(q.shape, dtype=torch.float64),
        torch.zeros(q.shape[:3], dtype=torch.float64),
    )
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            kv = 0 if bug == "first-batch" else b
            head = _key_head(h, q.shape[1], k.shape[1], bug)
            o[b, h], lse[b, h] = _one_head(q[b, h], k[kv, head], v[kv, head], causal, bug)
    if bug == "last-rows-missing":
        o[:, :, q.shape[2] // 16 * 16 :] = math.nan
        lse[:, :, q.shape[2] // 16 * 16 :] = math.nan
    return o, lse


#: Bugs of the mask that a kernel's where does not have.
_NOT_HERE = {"denominator-unmasked", "masked-to-zero"}
_MASKS = [item for item in MASKS if item[0] not in _NOT_HERE]


def _variant(bug: str, en: str, zh: str) -> Variant:
    return variant(bug, en, zh, lambda form: lambda q, k, v, causal: _whole(q, k, v, causal, form))


def _qkv(
    len_q: int, len_k: int, *, heads: tuple[int, int] = (1, 1), batch: int = 1, d: int = 16,
    causal: bool = False, size: float = 1.0, dtype: torch.dtype = torch.float32,
) -> tuple[Any, ...]:  # fmt: skip
    q = size * randn(batch, heads[0], len_q, d, seed=131)
    k = size * randn(batch, heads[1], len_k, d, seed=132)
    v = randn(batch, heads[1], len_k, d, seed=133)
    return (*here(*(x.to(dtype) for x in (q, k, v))), causal)


def _swapped() -> tuple[Any, ...]:
    """Heads and tokens swapped, as a projection leaves them."""
    q, k, v = (randn(1, n, 2, 16, seed=134 + n).transpose(1, 2) for n in (18, 20, 21))
    return (*here(q, k, v[:, :, :20]), True)


def _mixed() -> tuple[Any, ...]:
    """q by columns, k cut out of more heads, v with heads and tokens swapped."""
    q, k = randn(2, 4, 16, 18, seed=138).mT, randn(2, 3, 20, 16, seed=139)[:, 1:]
    v = randn(2, 20, 2, 16, seed=140).transpose(1, 2)
    return (*here(q, k, v), False)


def _extreme(make: Callable[..., Any], *, causal: bool) -> tuple[Any, ...]:
    q, k, v, _ = _qkv(18, 20)
    return (*make(q, k), v, causal)


def _budget(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> list[Tensor]:
    return list(attention_budget(q, _shared(q, k), _shared(q, v), causal=causal))


FORWARD = Exercise(
    id="06.forward",
    title=Text("The whole forward kernel", "完整的前向 kernel"),
    spec=Text(
        "q [B, Hq, Nq, D], k and v [B, Hkv, Nk, D], any strides, any lengths and widths, Hq a "
        "multiple of Hkv; causal is bottom-right. One program owns 16 rows of one head. Write o "
        "like q and lse in natural units; rows without keys get 0 and −inf. The launcher is given.",
        "q [B, Hq, Nq, D]，k 和 v [B, Hkv, Nk, D]，步长、长度、宽度都任意，Hq 是 Hkv 的整数倍；"
        "因果掩码右下对齐。一个程序实例负责一个头的 16 行。写出与 q 同类型的 o 和自然对数的 lse；"
        "没有 key 的行是 0 和 −inf。启动函数已给出。",
    ),
    formula="O = softmax(Q·Kᵀ / √D + mask) · V   lse = m + ln l",
    passage=Passage(6, Text("Read it again", "再读一遍")),
    then="06.lean",
    entry="my_flash",
    layout=fixed(16, 16),
    widget="fa.course.kernel_view()",
    call="my_flash(q, k, v, causal) -> (o, lse)",
    reference=attention,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=_budget,
    cases=[
        Case("value", "Nq=16, Nk=48", lambda: _qkv(16, 48)),
        Case("value", "Nq=32, Nk=16", lambda: _qkv(32, 16)),
        Case("ragged", "Nq=20, Nk=35, D=24", lambda: _qkv(20, 35, d=24)),
        Case("causal", "Nq=Nk=32", lambda: _qkv(32, 32, causal=True)),
        Case("causal", "Nq=19, Nk=50", lambda: _qkv(19, 50, causal=True)),
        Case("dead-rows", "Nq=40, Nk=17", lambda: _qkv(40, 17, causal=True)),
        Case("heads", "B=2, Hq=4, Hkv=2", lambda: _qkv(7, 9, heads=(4, 2), batch=2)),
        Case("extreme-logits", "q, k × 30", lambda: _qkv(16, 32, size=30.0)),
        Case("extreme-logits", FAR_BELOW, lambda: _extreme(far_below, causal=False)),
        Case("extreme-logits", HIDDEN_ABOVE, lambda: _extreme(rising, causal=True)),
        Case("strides", Text("heads and tokens swapped", "头与 token 两轴对换"), _swapped),
        Case(
            "strides", Text("each tensor laid out its own way", "每个张量各有各的存放方式"), _mixed
        ),
        Case("dtype", "float16", lambda: _qkv(16, 20, dtype=torch.float16)),
    ],
    rules=(Rule("own-work", lambda: _qkv(16, 16), forbidden=TORCH_MATHS),),
    variants=(
        *(_variant(*item) for item in (*_MASKS, *STEPS, LSE_MIXED)),
        _variant(
            "mask-always", "The mask acts without causal as well.", "causal 为假时掩码也起作用了。"
        ),
        _variant(
            "top-left",
            "The mask is aligned top-left: row i stands at key position i + len_k − len_q.",
            "掩码是左上对齐：第 i 行位于 key 位置 i + len_k − len_q。",
        ),
        _variant(
            "stop-top-left",
            "The mask is right, the bound of the loop forgets len_k − len_q.",
            "掩码对了，循环上界忘了 len_k − len_q。",
        ),
        _variant(
            "inf-minus-inf",
            "A row that has seen nothing subtracts −inf from −inf. Subtract 0 there.",
            "什么都没看到的行用 −inf 减 −inf。那里改为减 0。",
        ),
        _variant(
            "zero-over-zero",
            "A row without keys divides 0 by 0 at the end.",
            "没有 key 的行最后算了 0 / 0。",
        ),
        _variant(
            "modulo",
            "You take h % Hkv. Neighbouring query heads share a key head: h // GROUP.",
            "你用的是 h % Hkv。相邻的 query 头共用 key 头：h // GROUP。",
        ),
        _variant(
            "first-head",
            "Every query head reads key head 0.",
            "所有 query 头都读了第 0 个 key 头。",
        ),
        _variant(
            "first-batch",
            "Every batch reads the keys of batch 0.",
            "每个 batch 都读了第 0 个 batch 的 key。",
        ),
        _variant(
            "strides-assumed",
            "The inputs are read as if they were contiguous; use their strides.",
            "输入当成连续的来读了；要用它们的步长。",
        ),
        _variant(
            "v-by-strides-of-k",
            "v is read with the strides of k. They may differ: use its own.",
            "读 v 用了 k 的步长。两者可以不同，要用 v 自己的。",
        ),
        _variant(
            "last-rows-missing",
            "The last, incomplete tile of rows is not written.",
            "最后不满的那块行没有写。",
        ),
        _variant(
            "lse-no-max", "lse = ln l is relative to m; add m.", "ln l 是相对于 m 的，还要加上 m。"
        ),
        _variant(
            "lse-base-2",
            "lse is in base 2; it should be natural.",
            "lse 用了以 2 为底的对数，应为自然对数。",
        ),
    ),
    hints=(
        Text(
            "Fill it in the order of the chapter: pointers of the head, q, the loop, scores, mask, "
            "update, store. Which property fails first?",
            "按本章的顺序来填：本头的指针、q、循环、分数、掩码、更新、写回。最先失败的是哪项性质？",
        ),
        Text(
            "Each earlier exercise is one piece: 06.gqa the pointers, 06.ragged the masks, "
            "06.causal bound and mask, 06.loop the update, 06.lse the end.",
            "前面每道题都是其中一块：06.gqa 是指针，06.ragged 是读写掩码，"
            "06.causal 是上界和掩码，06.loop 是更新，06.lse 是结尾。",
        ),
        Text(
            'pivot = tl.where(m_new == -float("inf"), 0.0, m_new) in both exponents; '
            "seen = tl.where(l_i == 0.0, 1.0, l_i) in the division and the logarithm",
            'pivot = tl.where(m_new == -float("inf"), 0.0, m_new)，两个指数都用；'
            "seen = tl.where(l_i == 0.0, 1.0, l_i)，除法和对数都用",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (FORWARD,)
