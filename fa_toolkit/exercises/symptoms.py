"""Name a mistake nobody planted, by what it did to the numbers: factors, places, NaN, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import torch

from ..language import Text
from .causes import causes
from .compare import close
from .factors import WrongTensor, common_factor, number_factor, offset, row_factor, scaled_again
from .places import cut_short, empty_rows, some_rows, tail, without_keys
from .report import Diagnosis
from .spec import Exercise, leaves


@dataclass(frozen=True)
class Seen:
    """One result beside the truth: arguments, one item per output, and whether it is wrong."""

    property: str
    args: tuple[Any, ...]
    got: list[Any]
    truth: list[Any]
    allowed: list[Any]
    wrong: bool
    outputs: tuple[str, ...] = ()  # names of those that are wrong


def symptoms(exercise: Exercise, seen: Sequence[Seen]) -> list[Diagnosis]:
    """What the wrong numbers have in common, likeliest cause first."""
    found: list[Diagnosis] = []
    for item in seen:
        if not item.wrong:
            continue
        for output, g, t, a in zip(
            exercise.outputs, item.got, item.truth, item.allowed, strict=True
        ):
            found += _of_output(output.name, g, t, a, item.args)
    if not _all_zero(exercise, seen):
        found = [d for d in found if d.id != "all-zero"]
    found += causes(seen, [output.name for output in exercise.outputs])
    counts = {d.id: sum(e.id == d.id for e in found) for d in found}
    first = {d.id: d for d in reversed(found)}
    last = len(_RANK)
    order = sorted(first, key=lambda x: (_RANK.index(x) if x in _RANK else last, -counts[x]))
    return [first[name] for name in order]


def _all_zero(exercise: Exercise, seen: Sequence[Seen]) -> bool:
    """Whether some output is 0 in every case in which it should not be."""
    for index in range(len(exercise.outputs)):
        pairs = [(x.got[index], x.truth[index]) for x in seen]
        full = [g for g, t in pairs if isinstance(t, torch.Tensor) and bool(t.any())]
        if full and not any(isinstance(g, torch.Tensor) and bool(g.any()) for g in full):
            return True
    return False


#: What says most comes first.
_RANK = [
    "transposed", "factor", "lse-base-2", "offset", "scaled-again", "rows-see-nothing",
    "tail-not-written", "row-factor", "head-mapping", "dead-rows-nan", "dtype-rounding", "diagonal",
    "overflow", "all-zero", "nan", "last-partial-block", "strides-assumed", "wrong-dtype", "top-left",
    "guard-too-many", "hidden-counted", "count-off", "first-block", "last-rows", "dead-rows",
    "extreme-logits",
]  # fmt: skip


def _of_output(name: str, got: Any, want: Any, allowed: Any, args: Any) -> list[Diagnosis]:
    if not (isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor)):
        number = number_factor(name, got, want)
        return [number] if number else []
    dtype = got.dtype
    got, want = got.detach().double().cpu(), want.double().cpu()
    if got.shape != want.shape:
        if got.dim() >= 2 and got.mT.shape == want.shape:
            return [_transposed(name)]
        short = cut_short(name, got, want)
        return [short] if short else []
    off = ~close(got, want, torch.as_tensor(allowed, dtype=torch.float64).cpu())
    if not bool(off.any()):
        return []
    one = WrongTensor(name, got, want, off, dtype, _sizes(args))
    return [found for look in _LOOKS if (found := look(one)) is not None]


def _sizes(args: Any) -> dict[str, int]:
    tensors = [x for x in leaves(args) if isinstance(x, torch.Tensor) and x.dim() >= 2]
    if not tensors:
        return {}
    sizes = {"D": tensors[0].shape[-1], "N": tensors[0].shape[-2]}
    if len(tensors) > 1:
        sizes["Nk"] = tensors[1].shape[-2]
    return sizes


def _transposed(name: str) -> Diagnosis:
    return Diagnosis("transposed", Text(f"{name} came out transposed.", f"{name} 的行和列反了。"))


def _turned(one: WrongTensor) -> Diagnosis | None:
    square = one.want.dim() >= 2 and one.want.shape[-1] == one.want.shape[-2] > 1
    return _transposed(one.name) if square and _alike(one.got.mT, one.want) else None


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal but for rounding, infinities included."""
    finite = right[right.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    return bool(close(left, right, torch.tensor(1e-3 * max(scale, 1e-30))).all())


def _nan(one: WrongTensor) -> Diagnosis | None:
    nan = one.got.isnan() & ~one.want.isnan()
    if not bool(nan.any()):
        return None
    dead = ~one.want.isfinite() | (one.want == 0)
    if one.want.dim() >= 2:
        dead = dead.all(-1, keepdim=True).expand_as(one.want)
    if bool(dead.any()) and bool((nan == dead).all()):
        return Diagnosis(
            "dead-rows-nan",
            Text(
                f"{one.name} is NaN exactly in the rows that see no key: −inf − (−inf), or 0 / 0.",
                f"{one.name} 恰好在看不到 key 的行上是 NaN：−inf − (−inf)，或 0 / 0。",
            ),
        )
    return Diagnosis(
        "nan",
        Text(
            f"{one.name} holds NaN: look for −inf − (−inf), 0 / 0, or elements never written.",
            f"{one.name} 里有 NaN：找找 −inf − (−inf)、0 / 0，或者没有写到的元素。",
        ),
    )


def _overflow(one: WrongTensor) -> Diagnosis | None:
    if not bool((one.got.isinf() & one.want.isfinite()).any()):
        return None
    return Diagnosis(
        "overflow",
        Text(
            f"{one.name} is infinite where it should not be: e^s overflows unless the maximum of "
            "the row is subtracted first, or a row divides by 0.",
            f"{one.name} 不该是无穷的地方成了无穷：没有先减去行最大值，e^s 就会溢出；或者某一行除以了 0。",
        ),
    )


def _zero(one: WrongTensor) -> Diagnosis | None:
    if bool(one.got.any()) or not bool(one.want.any()) or one.want.numel() < 2:
        return None
    return Diagnosis(
        "all-zero",
        Text(
            f"{one.name} is 0 everywhere: it was made and never written.",
            f"{one.name} 全是 0：建好之后没有写入。",
        ),
    )


def _heads(one: WrongTensor) -> Diagnosis | None:
    """Slices along the heads (or batches) that hold each other's results."""
    for axis in range(one.want.dim() - 2):
        count = one.want.shape[axis]
        if not 2 <= count <= 8:
            continue
        got, want = one.got.unbind(axis), one.want.unbind(axis)
        wrong = [i for i in range(count) if not _alike(got[i], want[i])]
        if wrong and all(any(_alike(got[i], w) for w in want) for i in wrong):
            pairs = [(i, j) for i, j in permutations(range(count), 2) if _alike(got[i], want[j])]
            here, there = next((i, j) for i, j in pairs if i in wrong)
            return Diagnosis(
                "head-mapping",
                Text(
                    f"Index {here} of axis {axis} of {one.name} holds what index {there} should: "
                    "heads or batches are mapped wrongly.",
                    f"{one.name} 第 {axis} 维的第 {here} 个装着第 {there} 个该有的结果："
                    "头或 batch 的对应关系错了。",
                ),
            )
    return None


def _diagonal(one: WrongTensor) -> Diagnosis | None:
    """Which scores are −inf: compare with the mask moved by a few columns."""
    if one.want.dim() < 2 or not bool((one.want == -math.inf).any()):
        return None
    hidden, mine = one.want == -math.inf, one.got == -math.inf
    if bool((hidden == mine).all()):
        return None
    for shift in (1, -1, 2, -2):
        moved = torch.roll(hidden, shift, -1)
        inner = slice(abs(shift), hidden.shape[-1] - abs(shift))
        if bool((moved[..., inner] == mine[..., inner]).all()) and bool(moved[..., inner].any()):
            en = f"{abs(shift)} column{'s' if abs(shift) > 1 else ''} too far to the "
            en += "right" if shift > 0 else "left"
            zh = f"偏{'右' if shift > 0 else '左'} {abs(shift)} 列"
            return Diagnosis(
                "diagonal",
                Text(f"The mask of {one.name} lies {en}.", f"{one.name} 的掩码{zh}。"),
            )
    return None


def _rounding(one: WrongTensor) -> Diagnosis | None:
    finite = one.want.isfinite() & one.got.isfinite()
    if not bool((finite | ~one.off).all()) or one.want.numel() < 2:
        return None
    scale = float(one.want[finite].abs().max())
    worst = float((one.got - one.want)[finite].abs().max())
    halves = one.dtype in (torch.float32, torch.float64) and scale > 0
    if not halves or not 1e-8 < worst / scale < 4e-3:
        return None
    kind = "float16"
    for name in ("bfloat16", "float16", "float32"):
        dtype = getattr(torch, name)
        if dtype != one.dtype and bool(
            (one.got[finite].to(dtype).double() == one.got[finite]).all()
        ):
            kind = name
    return Diagnosis(
        "dtype-rounding",
        Text(
            f"{one.name} is off by {worst / scale:.0e} of its size: no wrong formula, but rounding to "
            f"a coarser type on the way, such as {kind}, or TF32 in a product.",
            f"{one.name} 的相对误差约 {worst / scale:.0e}：公式没错，中途舍入到了更粗的类型，"
            f"例如 {kind}，或乘积用了 TF32。",
        ),
    )


_LOOKS: tuple[Callable[[WrongTensor], Diagnosis | None], ...] = (
    _turned, _zero, empty_rows, common_factor, offset, scaled_again, row_factor, _heads, _diagonal, _nan, _overflow,
    _rounding, tail, without_keys, some_rows,
)  # fmt: skip
