"""The capstone of chapter 07: attention and its gradients in tiles, in one function."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule
from .backward_planted import PLANTED
from .backward_truth import (
    Tensors,
    behind_rows,
    far_below,
    gradient_budget,
    gradients,
    inputs,
    repeated,
    strided,
)


def _with(causal: bool, make: Callable[[], Tensors]) -> Callable[[], tuple[object, ...]]:
    return lambda: (*make(), causal)


def _summed() -> Tensors:
    """dO as autograd hands it on from .sum(): one 1, with stride 0."""
    q, k, v, do = inputs(24, 40, 2)
    return q, k, v, torch.ones(()).expand(do.shape)


_HALF, _BRAIN = torch.float16, torch.bfloat16
_CASES = [
    Case("value", "24 × 24", _with(False, lambda: inputs(24, 24))),
    Case("value", Text("144 × 144, rising scores", "144 × 144，分数递增"),
         _with(False, lambda: inputs(144, 144, rising=True))),
    Case("causal", "24 × 24", _with(True, lambda: inputs(24, 24))),
    Case("causal", "2 × 128 × 128", _with(True, lambda: inputs(128, 128, 2))),
    Case("ragged", "2 × 45 × 77", _with(False, lambda: inputs(45, 77, 2))),
    Case("ragged", Text("2 × 140 × 140, causal", "2 × 140 × 140，因果"),
         _with(True, lambda: inputs(140, 140, 2))),
    Case("ragged", "1 × 3", _with(False, lambda: inputs(1, 3))),
    Case("more-keys", "20 × 140", _with(False, lambda: inputs(20, 140))),
    Case("more-keys", Text("20 × 140, causal", "20 × 140，因果"), _with(True, lambda: inputs(20, 140))),
    Case("more-queries", "140 × 20", _with(False, lambda: inputs(140, 20))),
    Case("leading", Text("no leading dimension", "没有前导维度"), _with(True, lambda: inputs(30, 34, d=16))),
    Case("leading", "2 × 3, Dv = 5", _with(True, lambda: inputs(30, 34, 2, 3, d_v=5))),
    Case("sum-gradient", "2 × 24 × 40", _with(False, _summed)),
    Case("sum-gradient", Text("2 × 24 × 40, causal", "2 × 24 × 40，因果"), _with(True, _summed)),
    Case("strides", Text("every kind", "各种步长"), _with(True, lambda: strided(36, 52))),
    Case("strides", Text("2 × 3 heads behind the rows", "2 × 3，头排在行之后"),
         _with(True, lambda: behind_rows(20, 26, 2, 3))),
    Case("extreme-logits", Text("24 × 24, causal, hidden scores far above the visible ones",
                                "24 × 24，因果，被遮住的分数远高于看得到的"),
         _with(True, lambda: inputs(24, 24, size=20.0, rising=True))),
    Case("extreme-logits", "q, k × 30", _with(False, lambda: inputs(40, 40, size=30.0))),
    Case("extreme-logits", Text("144 × 144, later scores larger by hundreds", "144 × 144，后面的分数大几百"),
         _with(False, lambda: inputs(144, 144, size=10.0, rising=True))),
    Case("extreme-logits", Text("40 × 40, every score below −100", "40 × 40，每个分数都低于 −100"),
         _with(False, lambda: far_below(40, 40))),
    Case("dead-rows", Text("40 × 24, causal", "40 × 24，因果"), _with(True, lambda: inputs(40, 24, 2))),
    Case("dead-rows", Text("140 × 20, causal", "140 × 20，因果"), _with(True, lambda: inputs(140, 20))),
    Case("dtype", "float16", _with(True, lambda: inputs(40, 72, dtype=_HALF))),
    Case("dtype", "bfloat16", _with(False, lambda: inputs(40, 72, dtype=_BRAIN))),
    Case("dtype", Text("float16, 16 × 8192: long sums", "float16，16 × 8192：很长的和"),
         _with(False, lambda: repeated(16, 8192))),
    Case("dtype", Text("float16, 3072 × 16: long sums", "float16，3072 × 16：很长的和"),
         _with(False, lambda: repeated(3072, 16))),
]  # fmt: skip

FULL = Exercise(
    id="07.full",
    title=Text("The whole algorithm, forward and backward", "完整的算法：前向与反向"),
    spec=Text(
        "q [..., Nq, D], k [..., Nk, D], v [..., Nk, Dv], do [..., Nq, Dv], with any leading "
        "dimensions and any strides. Return o, lse and the gradients of sum(o · do) by q, k and v. "
        "Work in tiles: no tensor of Nq × Nk, no autograd, no softmax call. The causal mask is "
        "bottom-right. A row without keys has o = 0, lse = −inf and gives no gradient. o, dq, dk "
        "and dv have the dtype of q; lse is float32, and so is what you sum in.",
        "q [..., Nq, D]，k [..., Nk, D]，v [..., Nk, Dv]，do [..., Nq, Dv]，前导维度和步长任意。"
        "返回 o、lse，以及 sum(o · do) 对 q、k、v 的梯度。"
        "分块计算：不出现 Nq × Nk 的张量，不用自动求导，不调用 softmax。因果掩码右下对齐。"
        "没有 key 的行 o = 0，lse = −inf，不产生梯度。"
        "o、dq、dk、dv 与 q 同类型；lse 为 float32，累加也用 float32。",
    ),
    formula=(
        "P = e^(S − lse)   Delta = rowsum(dO · O)   dS = P · (dO·Vᵀ − Delta)   "
        "dV = Pᵀ·dO   dQ = dS·K/√D   dK = dSᵀ·Q/√D"
    ),
    entry="attention_in_tiles",
    call="attention_in_tiles(q, k, v, do, causal) -> (o, lse, dq, dk, dv)",
    reference=gradients,
    outputs=(
        Output("o"),
        Output("lse", "lse", "float32"),
        Output("dq", "gradients"),
        Output("dk", "gradients"),
        Output("dv", "gradients"),
    ),
    allowed=gradient_budget,
    time_factor=3.0,  # 3,072 rows one by one are right too
    cases=_CASES,
    rules=(
        Rule("no-n-by-n", _with(False, lambda: inputs(144, 144)), limit=144 * 144),
        Rule(
            "own-work",
            _with(True, lambda: inputs(32, 32)),
            # lse of two tiles may be added by logaddexp: it does not do the softmax
            forbidden=(READY_MADE - {"logaddexp"}) | {"grad", "backward", "vjp", "jacobian"},
        ),
    ),
    variants=PLANTED,
    passage=Passage(7, Text("The whole algorithm", "完整的算法")),
    hints=(
        Text(
            "Take o and lse first: they are chapter 04 with a mask. When they hold, look at which of "
            "dv, dk, dq fails: dv needs P alone, dk and dq need dS.",
            "先看 o 和 lse，那是第 04 章加上掩码。它们对了，再看 dv、dk、dq 哪个错："
            "dv 只用到 P，dk 和 dq 用到 dS。",
        ),
        Text(
            "Backward has no running maximum: lse is final, so each tile of P is right at once. The "
            "ds of every row sum to 0; print that sum for your tiles.",
            "反向没有当前最大值：lse 已是最终值，每块 P 一算就对。每一行的 ds 加起来是 0，"
            "把你各块的这个和打印出来看看。",
        ),
        Text(
            "p = (s - lse).exp() where visible; ds = p * (do @ v.mT - delta); dv += p.mT @ do; "
            "dk += scale * ds.mT @ q; dq += scale * ds @ k",
            "可见处 p = (s - lse).exp()；ds = p * (do @ v.mT - delta)；dv += p.mT @ do；"
            "dk += scale * ds.mT @ q；dq += scale * ds @ k",
        ),
    ),
)

EXERCISES = (FULL,)
