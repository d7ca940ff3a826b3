"""Chapter 04, a fault to mend: the value that stands for a hidden score."""

from __future__ import annotations

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule, Variant, attention_budget
from .mend_tiles import inputs
from .tiles import attention

Tensor = torch.Tensor


def padded(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, block: int) -> Tensor:
    """The dull reference: attention to the keys that are kept."""
    if not bool(keep.any()):
        return q.new_zeros(len(q), v.shape[1])
    return attention(q, k[keep], v[keep], block, block)[0]


def _masked_with(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, value: float) -> Tensor:
    s = torch.where(keep, q @ k.T * q.shape[1] ** -0.5, value)
    m = s.amax(1, keepdim=True)
    p = (s - m).exp()
    return p @ v / p.sum(1, keepdim=True)


def _kept(
    *holes: int, size: float = 1.0, low: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    q, k, v = inputs(4, 12, size=size)
    if low:  # every score near −30 000: lower than what some use for "never"
        q, k = q.abs() + 100, -k.abs() - 100
    keep = torch.ones(12, dtype=torch.bool)
    keep[list(holes)] = False
    return q, k, v, keep, 4


def _keep_budget(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, block: int) -> list[Tensor]:
    return [attention_budget(q, k[keep], v[keep])[0]]


FIX_MASK_VALUE = Exercise(
    id="04.fix_mask_value",
    title=Text("Mend: a mask that is not low enough", "改错：不够低的掩码"),
    spec=Text(
        "Given: attention with padding, keep [Nk] says which keys exist. Hidden scores become −10 000. "
        "That is right until real scores are lower still, and a batch entry without any key "
        "should give 0. Find the line and mend it.",
        "给出带填充的注意力，keep [Nk] 说明哪些 key 存在。被遮住的分数写成 −10 000。"
        "真实的分数更低时就错了；一个 key 都没有时应得 0。找出这一行并改好。",
    ),
    formula="s[i, j] = −inf where key j does not exist",
    passage=Passage(4, Text("Tiles that need not run", "不必算的块")),
    then="04.lean",
    entry="padded_forward",
    call="padded_forward(q, k, v, keep, block) -> o",
    reference=padded,
    outputs=(Output("o"),),
    allowed=_keep_budget,
    cases=[
        Case("value", Text("two keys hidden", "遮住两个 key"), lambda: _kept(3, 7)),
        Case("value", Text("nothing hidden", "一个也不遮"), _kept),
        Case("ragged", Text("the tail hidden", "遮住末尾"), lambda: _kept(9, 10, 11)),
        Case(
            "extreme-logits",
            Text("scores near −30 000", "分数在 −30 000 附近"),
            lambda: _kept(3, 7, low=True),
        ),
        Case("dead-rows", Text("first block hidden", "遮住第一块"), lambda: _kept(0, 1, 2, 3)),
        Case("dead-rows", Text("all hidden", "全部遮住"), lambda: _kept(*range(12))),
    ],
    rules=(Rule("own-work", lambda: _kept(3), forbidden=READY_MADE),),
    variants=(
        Variant(
            "finite-mask",
            Text(
                "−10 000 is a score like any other: where real scores are lower, the hidden keys "
                "win. −inf loses to everything.",
                "−10 000 也是一个分数：真实的分数更低时，被遮住的 key 反而赢了。−inf 输给所有数。",
            ),
            lambda q, k, v, keep, b: _masked_with(q, k, v, keep, -1e4),
        ),
        Variant(
            "lower-finite-mask",
            Text(
                "A lower number moves the trouble, it does not end it: with every key hidden, all "
                "weights are equal instead of 0.",
                "换一个更低的数只是把麻烦挪走：所有 key 都遮住时，各权重相等，而不是 0。",
            ),
            lambda q, k, v, keep, b: _masked_with(q, k, v, keep, -1e9),
            (lambda q, k, v, keep, b: _masked_with(q, k, v, keep, torch.finfo(q.dtype).min),),
        ),
        Variant(
            "inverted",
            Text(
                "The mask is the wrong way round: keep says which keys stay.",
                "掩码反了：keep 是要留下的 key。",
            ),
            lambda q, k, v, keep, b: padded(q, k, v, ~keep, b),
        ),
        Variant(
            "values-only",
            Text(
                "Only V is masked: the hidden keys still take part in the denominator.",
                "只遮了 V：被遮住的 key 还在分母里。",
            ),
            lambda q, k, v, keep, b: attention(q, k, v * keep[:, None], b, b)[0],
        ),
        Variant(
            "masked-to-zero",
            Text("Hidden scores are 0, and e^0 counts.", "被遮住的分数是 0，而 e^0 会计入。"),
            lambda q, k, v, keep, b: _masked_with(q, k, v, keep, 0.0),
        ),
    ),
    hints=(
        Text(
            "Compare a score of −30 000 with the value that stands for “never”.",
            "拿 −30 000 这个分数，和代表“永不”的那个数比一比。",
        ),
        Text(
            "Only −inf is below every score, and e^−inf is exactly 0.",
            "只有 −inf 低于所有分数，而且 e^−inf 恰好是 0。",
        ),
        Text(
            "s = torch.where(keep[j : j + block], s, -torch.inf)",
            "s = torch.where(keep[j : j + block], s, -torch.inf)",
        ),
    ),
)

EXERCISES = (FIX_MASK_VALUE,)
