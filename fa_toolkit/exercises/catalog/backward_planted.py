"""The planted bugs of `07.full`, with the sentences that name them. Data only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...language import Text
from ..slips import Slip, variants
from ..spec import Variant
from .backward_bugs import Wrong
from .slip_backward import BACKWARD as OF_BACKWARD
from .slip_forward import FORWARD as OF_FORWARD

#: Tile sizes that people take; a bug in the order of tiles shows differently with each.
_BLOCKS = (16, 32, 64, 128, 8, 24, 48, 4, 40)


def _bug(name: str, en: str, zh: str, *, forms: int = 1) -> Variant:
    """A bug that does not depend on the tiles."""
    ways = tuple(Wrong(name, form=form) for form in range(forms))
    return Variant(name, Text(en, zh), ways[0], ways[1:])


def _tiled(name: str, en: str, zh: str, *, forms: int = 1) -> Variant:
    """A bug whose outcome depends on the learner's tiles."""
    ways = tuple(Wrong(name, block, form) for form in range(forms) for block in _BLOCKS)
    return Variant(name, Text(en, zh), ways[0], ways[1:], sized=_of_tile)


def _of_tile(variant: Variant, block_m: int, block_n: int) -> list[Callable[..., Any]]:
    """The size that was seen; and those that people take, for a way without tiles."""
    ways = [x for x in (variant.fn, *variant.also) if isinstance(x, Wrong)]
    seen = dict.fromkeys(replace(x, block=block_m, block_n=block_n) for x in ways)
    return [*seen, *(ways if block_m > max(_BLOCKS) else ())]


_FORWARD = (
    _bug("no-scale", "The scale 1/√D is missing, forward and backward.",
         "前向和反向都漏了 1/√D。"),
    _bug("scale-1-over-d", "You scale by 1/D. It is 1/√D.", "你用了 1/D，应是 1/√D。"),
    _tiled("acc-not-rescaled", "acc is not multiplied by e^(m − m_new) when the maximum grows.",
           "最大值变大时，acc 没有乘 e^(m − m_new)。"),
    _tiled("l-not-rescaled", "l is not multiplied by e^(m − m_new) when the maximum grows.",
           "最大值变大时，l 没有乘 e^(m − m_new)。"),
    _tiled("nothing-rescaled", "Neither l nor acc is rescaled when the maximum grows.",
           "最大值变大时，l 和 acc 都没有修正。"),
    _tiled("normalised-each-step", "acc is divided by l after every tile. Once, at the end, is right.",
           "每个块之后都除以 l。只应在最后除一次。", forms=2),
    _tiled("last-tile-alone", "What came before the last tile is multiplied by 0: m is never set to "
           "its new value.", "最后一块之前的结果都乘了 0：m 没有换成新值。", forms=2),
    _tiled("o-overwritten", "acc keeps only the last tile of keys: it must be added to.",
           "acc 只留下了最后一块 key 的结果，应当累加。", forms=2),
    _bug("not-normalised", "O is acc without the division by l.", "O 是没有除以 l 的 acc。"),
    _bug("no-maximum", "No maximum is subtracted, so large scores overflow.",
         "没有减去最大值，分数一大就溢出。"),
    _bug("lse-no-maximum", "lse is ln l alone. The maximum belongs to it: m + ln l.",
         "lse 只有 ln l，少了最大值：应是 m + ln l。"),
    _bug("lse-base-2", "lse is in base 2. It is to be a natural logarithm.",
         "lse 用了以 2 为底的对数，应为自然对数。"),
    _bug("lse-no-log", "lse is m + l. The logarithm of l is missing.", "lse 是 m + l，l 没有取对数。"),
    _bug("lse-is-m", "lse is the maximum m alone; ln l is missing.", "lse 只是最大值 m，少了 ln l。"),
    _bug("lse-sign", "The sign of m in lse is wrong: m + ln l.", "lse 里 m 的符号反了：应是 m + ln l。"),
    _tiled("tail-keys-dropped", "The last keys, those that fill no whole tile, are left out.",
           "最后凑不满一块的 key 被漏掉了。", forms=2),
    _tiled("tail-queries-dropped", "The last queries, those that fill no whole tile, are left out.",
           "最后凑不满一块的 query 被漏掉了。", forms=2),
    _bug("first-head", "Every head reads the keys and values of the first one.",
         "每个头读的都是第一个头的 K 和 V。"),
)  # fmt: skip

_MASK = (
    _bug("causal-ignored", "The causal mask is not applied.", "没有加因果掩码。"),
    _bug("top-left", "The mask is aligned top-left: Nk − Nq is missing.",
         "掩码用了左上对齐：漏了 Nk − Nq。", forms=2),
    _bug("offset-sign", "The offset of the mask has the wrong sign: query i stands at i + Nk − Nq.",
         "掩码偏移的符号反了：query i 位于 i + Nk − Nq。", forms=2),
    _bug("own-key-hidden", "A query does not see its own key: ≥, not >.",
         "query 看不到自己位置上的 key：应是 ≥，不是 >。", forms=2),
    _bug("one-key-too-many", "A query sees one key past its own.", "query 多看了自己后面的一个 key。",
         forms=2),
    _bug("mask-after-sum", "The mask comes after l was summed, so hidden keys count in l.",
         "掩码加得太晚，l 里已经算进了被遮住的 key。"),
    _bug("finite-mask", "Hidden scores hold a large negative number. A row without keys then "
         "averages V. They must hold −inf.",
         "被遮住的分数用了很大的负数，没有 key 的行就成了 V 的平均。应为 −inf。", forms=8),
    _bug("dead-rows-nan", "A row without keys divides 0 by 0, or takes −inf from −inf.",
         "没有 key 的行算了 0 除以 0，或 −inf 减 −inf。", forms=6),
    _bug("lse-dead-zero", "lse of a row without keys is −inf, not 0.",
         "没有 key 的行，lse 是 −inf，不是 0。"),
    _tiled("diagonal-tile-skipped", "The causal loop stops one tile early: the tile on the diagonal "
           "is skipped.", "因果循环早停了一块：对角线上的块被跳过了。", forms=2),
)  # fmt: skip

_BACKWARD = (
    _bug("recompute-no-scale", "Backward rebuilds the scores without the scale.",
         "反向重算分数时漏了缩放。"),
    _bug("p-not-normalised", "Backward rebuilds e^(s − m). With lse in place of m it is P.",
         "反向算的是 e^(s − m)。把 m 换成 lse 才是 P。"),
    _bug("backward-exp2", "Backward takes 2^(s − lse) although s and lse are in natural units.",
         "反向用了 2^(s − lse)，而 s 和 lse 都是自然单位。"),
    _bug("backward-no-mask", "Backward rebuilds P without the causal mask.",
         "反向重算 P 时没有加因果掩码。"),
    _bug("backward-top-left", "Backward aligns the mask top-left; forward does it right.",
         "反向的掩码用了左上对齐，前向是对的。"),
    _bug("no-delta", "Delta is missing: dS = P · (dP − Delta).", "漏了 Delta：dS = P · (dP − Delta)。"),
    _bug("delta-outside", "Delta is subtracted from P · dP. The brackets are missing: "
         "P · (dP − Delta).", "Delta 是从 P · dP 里减去的，少了括号：P · (dP − Delta)。", forms=2),
    _tiled("delta-per-tile", "Σ P · dP is taken within a tile. It belongs to the whole row, and is "
           "rowsum(dO · O).", "Σ P · dP 只在块内求了和。它属于整行，等于 rowsum(dO · O)。"),
    _bug("delta-sign", "Delta is added. It is subtracted: dS = P · (dP − Delta).",
         "Delta 应当减去，你加上了：dS = P · (dP − Delta)。"),
    _bug("delta-mean", "Delta is the mean of dO · O over a row. It is the sum.",
         "Delta 取了一行 dO · O 的平均，应为和。"),
    _bug("delta-of-o", "Delta is rowsum(O · O). One factor is dO.",
         "Delta 算成了 rowsum(O · O)，其中一个应是 dO。"),
    _bug("delta-of-do", "Delta is rowsum(dO · dO). One factor is O.",
         "Delta 算成了 rowsum(dO · dO)，其中一个应是 O。"),
    _bug("delta-of-acc", "Delta is taken with acc, before the division by l.",
         "Delta 用了还没除以 l 的 acc。"),
    _bug("ds-without-p", "dS lacks the factor P: dS = P · (dP − Delta).",
         "dS 漏了因子 P：dS = P · (dP − Delta)。"),
    _bug("jacobian-diagonal", "Softmax is differentiated as if each entry stood alone, "
         "P · (1 − P). The entries of a row depend on each other.",
         "你把 softmax 的每个元素单独求导，成了 P · (1 − P)。同一行的元素互相影响。"),
    _bug("dq-not-scaled", "dQ lacks the scale.", "dQ 漏了缩放。"),
    _bug("dk-not-scaled", "dK lacks the scale.", "dK 漏了缩放。"),
    _bug("gradients-not-scaled", "dQ and dK lack the scale.", "dQ 和 dK 都漏了缩放。"),
    _bug("dq-scaled-twice", "dQ is scaled by 1/D, which is 1/√D twice. It enters once.",
         "dQ 乘的是 1/D，等于乘了两次 1/√D。只该乘一次。"),
    _bug("dk-scaled-twice", "dK is scaled by 1/D, which is 1/√D twice. Does the Q it meets have the "
         "scale already?", "dK 乘的是 1/D，等于乘了两次 1/√D。它用的 Q 是不是已经带着缩放了？"),
    _bug("dv-from-ds", "dV is dSᵀ dO. It is Pᵀ dO.", "dV 算成了 dSᵀ dO，应为 Pᵀ dO。"),
    _bug("dv-unmasked", "dV gathers from P before the mask.", "dV 用的是没有加掩码的 P。"),
    _tiled("p-not-transposed", "dV takes P of a tile without transposing it.",
           "dV 用的是没有转置的 P 块。", forms=2),
    _tiled("ds-not-transposed", "dK takes dS of a tile without transposing it.",
           "dK 用的是没有转置的 dS 块。", forms=2),
    _bug("dv-scaled", "dV is multiplied by the scale. V never met it.",
         "dV 乘了缩放，而 V 与缩放无关。"),
    _bug("do-as-ones", "dO is taken as all ones: right for .sum() only.",
         "把 dO 当成了全 1，只对 .sum() 成立。"),
    _tiled("dq-overwritten", "dQ keeps only the last tile of keys: it must be added to.",
           "dQ 只留下了最后一块 key 的结果，应当累加。", forms=2),
    _tiled("dk-overwritten", "dK keeps only the last tile of queries: it must be added to.",
           "dK 只留下了最后一块 query 的结果，应当累加。"),
    _tiled("dv-overwritten", "dV keeps only the last tile of queries: it must be added to.",
           "dV 只留下了最后一块 query 的结果，应当累加。"),
    _tiled("dkdv-overwritten", "dK and dV keep only the last tile of queries.",
           "dK 和 dV 都只留下了最后一块 query 的结果。"),
    _tiled("backward-tail-keys", "Backward leaves out the last keys, those that fill no whole tile.",
           "反向漏掉了最后凑不满一块的 key。"),
    _tiled("backward-tail-queries", "Backward leaves out the last queries, those that fill no whole "
           "tile.", "反向漏掉了最后凑不满一块的 query。"),
    _tiled("backward-first-tile-skipped", "Backward leaves out tiles on the diagonal: its loop over "
           "queries starts too late, or its loop over keys stops at the first row of the block.",
           "反向漏掉了对角线上的块：query 循环开始得太晚，或者 key 循环停在了这块的第一行。"),
)  # fmt: skip

#: those of few forms first: a diagnosis has a limited time
_MODELLED = sorted((*_FORWARD, *_MASK, *_BACKWARD), key=lambda variant: len(variant.also))
_WRITTEN = variants(
    ("full_shared", "full_heads", "full_two_loops"), OF_FORWARD | OF_BACKWARD, sized=True
)


def _joined(modelled: Variant, written: Variant | None) -> Variant:
    """Both ways of making one mistake."""
    if written is None:
        return modelled
    ways = (*modelled.also, written.fn, *written.also)

    def sized(variant: Variant, block_m: int, block_n: int) -> list[Callable[..., Any]]:
        old = modelled.sized
        ours = [modelled.fn, *modelled.also] if old is None else old(modelled, block_m, block_n)
        slips = (x for x in ways if isinstance(x, Slip))
        return [*ours, *(x.of_tile(block_m, block_n) for x in slips)]

    return replace(modelled, also=ways, sized=sized)


_BY_NAME = {v.id: v for v in _WRITTEN}
_NAMES = {v.id for v in _MODELLED}
PLANTED = (
    *(_joined(v, _BY_NAME.get(v.id)) for v in _MODELLED),
    *(v for v in _WRITTEN if v.id not in _NAMES),
)
