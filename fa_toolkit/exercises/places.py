"""Symptoms that say where one wrong tensor is wrong: its tail, rows without keys, some of its rows."""

from __future__ import annotations

import math

import torch

from ..language import Text
from .factors import WrongTensor
from .report import Diagnosis

_TAIL = Text(
    "The last, partial tile, page or split is left out: how many there are is the length divided by "
    "the size, rounded up.",
    "最后那个不满的块、页或段漏掉了：个数是长度除以大小，向上取整。",
)


def tail(one: WrongTensor) -> Diagnosis | None:
    """Right up to a place along one axis, and from there never written."""
    empty = one.got.isnan() | (one.got == 0)
    for axis in range(one.want.dim()):
        others = [i for i in range(one.want.dim()) if i != axis]
        off, void = one.off, empty
        if others:
            off, void = off.sum(others).bool(), void.all(others[0], keepdim=True)
            for other in others[1:]:
                void = void.all(other, keepdim=True)
            void = void.flatten()
        first = int(off.int().argmax())
        if first > 0 and bool(off[first:].all()) and bool(void[first:].all()):
            return _left_out(one.name, first, one.want.shape[axis])
    return None


def cut_short(name: str, got: torch.Tensor, want: torch.Tensor) -> Diagnosis | None:
    """Fewer elements along one axis than there should be, and those are right."""
    if got.dim() != want.dim():
        return None
    axes = [i for i in range(got.dim()) if got.shape[i] != want.shape[i]]
    if len(axes) != 1 or got.shape[axes[0]] > want.shape[axes[0]]:
        return None
    count = got.shape[axes[0]]
    if not torch.allclose(got, want.narrow(axes[0], 0, count), 1e-3, 1e-5, equal_nan=True):
        return None
    return _left_out(name, count, want.shape[axes[0]])


def _left_out(name: str, count: int, whole: int) -> Diagnosis:
    return Diagnosis(
        "tail-not-written",
        Text(
            f"{name} is right in its first {count} of {whole}, and what follows is missing. {_TAIL.en}",
            f"{name} 的 {whole} 项里前 {count} 项是对的，后面的缺了。{_TAIL.zh}",
        ),
    )


def without_keys(one: WrongTensor) -> Diagnosis | None:
    """Wrong only where nothing was seen, with a finite number."""
    low = one.want == -math.inf
    none = one.want == 0
    if one.want.dim() >= 2:
        none = none.all(-1, keepdim=True).expand_as(none)
    if not bool(one.got[one.off].isfinite().all()):
        return None
    number = float(one.got[one.off].flatten()[0])
    if bool(low[one.off].all()):
        return Diagnosis(
            "guard-too-many",
            Text(
                f"{one.name} is {number:.4g} where nothing was seen and should be −inf: a number that "
                "stands in for −inf in an exponent or a division was kept.",
                f"什么都没看到的地方 {one.name} 是 {number:.4g}，应为 −inf："
                "指数或除法里代替 −inf 的那个数被留下了。",
            ),
        )
    if bool(none[one.off].all()) and not bool(none.all()):
        return Diagnosis(
            "hidden-counted",
            Text(
                f"{one.name} is not 0 where nothing was seen: hidden keys are counted there, as e^0. "
                "Either −inf − (−inf) became 0, or a finite number stands where −inf should.",
                f"什么都没看到的地方 {one.name} 不是 0：遮住的 key 在那里按 e^0 算了进来。"
                "要么 −inf − (−inf) 成了 0，要么该用 −inf 的地方用了有限的数。",
            ),
        )
    return None


def empty_rows(one: WrongTensor) -> Diagnosis | None:
    """Rows that are 0 and should not be."""
    if one.want.dim() < 2 or one.name not in ("o", "O"):
        return None
    empty = (one.got == 0).all(-1) & (one.want != 0).any(-1)
    count = int(empty.sum())
    if count == 0 or bool((one.off.any(-1) & ~empty).any()):
        return None
    return Diagnosis(
        "rows-see-nothing",
        Text(
            f"{count} rows of {one.name} are 0 although they see keys: the mask or the bound of the "
            "loop hides every key from them. Check the offset Nk − Nq and its sign.",
            f"{one.name} 有 {count} 行本来看得到 key，结果却是 0：掩码或循环上界把所有 key 都遮住了。"
            "检查偏移 Nk − Nq 和它的符号。",
        ),
    )


def some_rows(one: WrongTensor) -> Diagnosis | None:
    """Rows before a certain one are right, those from it on are wrong, or the other way round."""
    if one.want.dim() < 2 or one.want.shape[-2] < 4:
        return None
    rows = one.off.any(-1).reshape(-1, one.want.shape[-2]).any(0)
    count, first = int(rows.sum()), int(rows.int().argmax())
    if count == len(rows) or not bool(rows[first : first + count].all()):
        return None
    if first == 0:
        return Diagnosis(
            "first-block",
            Text(
                f"Only the first {count} rows of {one.name} are wrong.",
                f"{one.name} 只有前 {count} 行是错的。",
            ),
        )
    if first + count == len(rows):
        return Diagnosis(
            "last-rows",
            Text(
                f"{one.name} is right up to row {first - 1} and wrong from row {first} on.",
                f"{one.name} 到第 {first - 1} 行为止是对的，从第 {first} 行起是错的。",
            ),
        )
    return None
