"""Causes that the cases and outputs that fail suggest by themselves, without a look at the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch

from ..language import Text
from .report import Diagnosis
from .spec import leaves


class Judged(Protocol):
    """One result: its property, its arguments, whether it is wrong, and in which outputs."""

    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def wrong(self) -> bool: ...
    @property
    def outputs(self) -> Sequence[str]: ...
    @property  # last, as it hides the decorator's name
    def property(self) -> str: ...


def causes(judged: Sequence[Judged], outputs: Sequence[str]) -> Iterator[Diagnosis]:
    """What the failing cases have in common that the right ones lack."""
    wrong = {x.property for x in judged if x.wrong}
    right = {x.property for x in judged} - wrong
    for names, kind, text in CAUSES:
        if wrong and wrong <= names and right - names:
            yield Diagnosis(kind, text)
    by_kind = {kind: text for _, kind, text in CAUSES}
    if {"causal", "more-keys", "more-queries"} & (wrong | right):
        if _parted(judged, lambda n, nk: n != nk):
            yield Diagnosis("top-left", by_kind["top-left"])
        sizes = (8, 16, 32, 64)
        if any(_parted(judged, lambda n, nk, b=b: bool(n % b or nk % b)) for b in sizes):
            yield Diagnosis("last-partial-block", by_kind["last-partial-block"])
    faulty = {name for x in judged if x.wrong for name in x.outputs}
    if faulty and len(faulty) < len(outputs):
        yield _only([n for n in outputs if n in faulty], [n for n in outputs if n not in faulty])


def _parted(judged: Sequence[Judged], is_odd: Any) -> bool:
    """Whether the sizes of the arguments part the wrong results from the right ones."""
    seen = [(x.wrong, size) for x in judged if (size := _lengths(x.args)) is not None]
    wrong = [is_odd(*size) for bad, size in seen if bad]
    right = [is_odd(*size) for bad, size in seen if not bad]
    return len(wrong) > 1 and all(wrong) and len(right) > 1 and not any(right)


def _lengths(args: tuple[Any, ...]) -> tuple[int, int] | None:
    """Rows of the first two matrices: queries and keys."""
    tensors = [x for x in leaves(args) if isinstance(x, torch.Tensor) and x.dim() >= 2]
    return (tensors[0].shape[-2], tensors[1].shape[-2]) if len(tensors) > 1 else None


def _only(faulty: list[str], others: list[str]) -> Diagnosis:
    bad, good = ", ".join(faulty), ", ".join(others)
    return Diagnosis(
        "only-" + "-".join(faulty),
        Text(
            f"Wrong: {bad} alone. Right everywhere: {good}. Look at the lines that {bad} alone "
            "depends on.",
            f"只有 {bad} 是错的，{good} 处处正确：看看只有 {bad} 用到的那几行。",
        ),
    )


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
        "top-left",
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
