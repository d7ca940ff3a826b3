"""Causes that the failing properties alone suggest. Data only."""

from __future__ import annotations

from ..language import Text

#: What it usually is when cases of these properties alone are wrong.
CAUSES: tuple[tuple[frozenset[str], str, Text], ...] = (
    (
        frozenset({"ragged"}),
        "last-partial-block",
        Text(
            "Only lengths that no block divides fail: the last, partial block is left out, or what "
            "lies past its end is counted.",
            "只有长度不是块大小整数倍时才错：最后那个不满的块被漏掉了，或者它后面的位置被算了进来。",
        ),
    ),
    (
        frozenset({"strides", "sum-gradient", "leading"}),
        "strides-assumed",
        Text(
            "Only inputs that are not contiguous fail: strides are assumed instead of asked for.",
            "只有内存不连续的输入才错：步长是想当然的，没有去问张量。",
        ),
    ),
    (
        frozenset({"dtype"}),
        "wrong-dtype",
        Text(
            "Only half precision fails: a result or an accumulator has the wrong type.",
            "只有半精度时才错：结果或累加器的类型不对。",
        ),
    ),
    (
        frozenset({"more-keys", "more-queries"}),
        "alignment",
        Text(
            "Only Nq ≠ Nk fails: query i stands at key position i + Nk − Nq, not at i.",
            "只有 Nq ≠ Nk 时才错：query i 位于 key 位置 i + Nk − Nq，而不是 i。",
        ),
    ),
    (
        frozenset({"heads"}),
        "head-mapping",
        Text(
            "Only several heads fail: which key head a query head reads is wrong.",
            "只有多个头时才错：query 头读的 key 头不对。",
        ),
    ),
    (
        frozenset({"dead-rows"}),
        "dead-rows",
        Text(
            "Only rows without any key fail: there m stays −inf and l stays 0. The result is o = 0, "
            "lse = −inf.",
            "只有看不到任何 key 的行出错：那里 m 一直是 −inf，l 一直是 0。结果应是 o = 0、lse = −inf。",
        ),
    ),
    (
        frozenset({"extreme-logits"}),
        "extreme-logits",
        Text(
            "Only very large or very small scores fail: the maximum is not subtracted, or a finite "
            "number stands where −inf should.",
            "只有极大或极小的分数出错：没有减去最大值，或者该用 −inf 的地方用了有限的数。",
        ),
    ),
)
