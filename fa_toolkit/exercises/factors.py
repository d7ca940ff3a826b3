"""Symptoms that are factors and offsets: what one wrong tensor is, times or plus, of the right one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from ..language import Text
from .compare import plain
from .report import Diagnosis

LOG2_E = 1 / math.log(2)


@dataclass(frozen=True)
class WrongTensor:
    """One wrong tensor beside the right one, both in float64."""

    name: str
    got: torch.Tensor
    want: torch.Tensor
    off: torch.Tensor  # which elements are wrong
    dtype: torch.dtype
    sizes: dict[str, int]  # lengths of the arguments' axes, for naming a factor


def _ratio(one: WrongTensor) -> torch.Tensor:
    """got / want where that says something, NaN elsewhere."""
    useful = one.want.isfinite() & one.got.isfinite() & (one.want.abs() > 1e-6)
    return torch.where(useful, one.got / one.want, math.nan)


def common_factor(one: WrongTensor) -> Diagnosis | None:
    ratio = _ratio(one)
    ratio = ratio[~ratio.isnan()]
    right = one.want[one.want.isfinite() & (one.want.abs() > 1e-6)]
    one_row = one.want.dim() >= 2 and one.want.shape[-2] == 1  # a factor of its own, or of all?
    if (
        one_row
        or ratio.numel() < 3
        or float(right.max() - right.min()) <= 0.1 * float(right.abs().max())
    ):
        return None  # numbers that are all nearly equal have a steady ratio whatever went wrong
    factor = float(ratio.median())
    if float(ratio.max() - ratio.min()) > 1e-3 * float(ratio.abs().max()) or abs(factor) < 1e-12:
        return None
    if one.name == "lse" and math.isclose(factor, LOG2_E, rel_tol=1e-3):
        return Diagnosis(
            "lse-base-2",
            Text(
                "lse is in base 2; it should be natural: multiply by ln 2.",
                "lse 用了以 2 为底的对数；应为自然对数，乘上 ln 2。",
            ),
        )
    return _of_factor(one.name, factor, one.sizes)


def _of_factor(name: str, factor: float, sizes: dict[str, int]) -> Diagnosis | None:
    if abs(factor - 1) < 5e-3:  # that much is rounding to a coarser type
        return None
    known, zh = named_factor(factor, sizes)
    return Diagnosis(
        "factor",
        Text(
            f"Every element of {name} is {factor:.4g} times what it should be.{known}",
            f"{name} 的每个元素都是正确值的 {factor:.4g} 倍。{zh}",
        ),
    )


def named_factor(factor: float, sizes: dict[str, int]) -> tuple[str, str]:
    """What the factor is in terms of the problem, as a sentence that follows."""
    known = {"log2 e": LOG2_E, "ln 2": math.log(2)}
    for name, size in sizes.items():
        known |= {
            f"√{name}": size**0.5,
            f"1/√{name}": size**-0.5,
            name: size,
            f"1/{name}": 1 / size,
        }
    for name, value in known.items():
        if value != 1 and math.isclose(factor, value, rel_tol=1e-3):
            if name in ("log2 e", "ln 2"):
                return (
                    f" That is {name}: e^x and 2^x, or their logarithms, are mixed.",
                    f"这就是 {name}：e^x 与 2^x（或它们的对数）混用了。",
                )
            return (
                f" That is {name}: look where the scale enters.",
                f"这就是 {name}：看看缩放用在哪里。",
            )
    return "", ""


def number_factor(name: str, got: Any, want: Any) -> Diagnosis | None:
    """A number that is a multiple of the right one, or a count that is off by some."""
    got = plain(got)[0]
    if not all(isinstance(x, (int, float)) and x and math.isfinite(x) for x in (got, want)):
        return None
    whole = isinstance(got, int) and isinstance(want, int)
    if whole and got % want and want % got:
        more, many = got > want, abs(got - want)
        return Diagnosis(
            "count-off",
            Text(
                f"{name} is {got}, it should be {want}: {many} too {'many' if more else 'few'}.",
                f"{name} 是 {got}，应为 {want}：{'多' if more else '少'}了 {many}。",
            ),
        )
    return _of_factor(name, got / want, {})


def scaled_again(one: WrongTensor) -> Diagnosis | None:
    """Blocks of rows that are off by c, c², c³ …: a factor met what was finished already."""
    if one.want.dim() != 2 or one.want.shape[0] < 4:
        return None
    ratio = _ratio(one)
    rows = ratio.nanmedian(-1).values
    spread = (ratio - rows[:, None]).nan_to_num(0.0).abs().amax(-1)
    if (
        bool(rows.isnan().any())
        or bool((spread > 1e-2 * rows.abs()).any())
        or bool((rows <= 0).any())
    ):
        return None
    steps = rows[:-1].log() - rows[1:].log()
    moved = steps[steps.abs() > 5e-3]
    ends = min(float((rows[0] - 1).abs()), float((rows[-1] - 1).abs()))
    if not 0 < moved.numel() < len(rows) // 2 or ends > 5e-3:
        return None
    if float(moved.max() - moved.min()) > 1e-2 * float(moved.abs().max()):
        return None
    factor = math.exp(abs(float(moved[0]))) ** (1 if bool(rows.max() > 1 + 5e-3) else -1)
    known, zh = named_factor(factor, one.sizes)
    return Diagnosis(
        "scaled-again",
        Text(
            f"Blocks of rows of {one.name} differ by the factor {factor:.4g} from one to the next.{known} "
            "A factor that belongs to one tile multiplies the whole of it in every round.",
            f"{one.name} 相邻的行块之间差 {factor:.4g} 倍。{zh}"
            f"本该只乘一块的因子，每一轮都把整个 {one.name} 乘了一遍。",
        ),
    )


def offset(one: WrongTensor) -> Diagnosis | None:
    """lse that is off by the same amount everywhere."""
    both = one.want.isfinite() & one.got.isfinite()
    difference = (one.got - one.want)[both]
    if one.name != "lse" or difference.numel() < 3:
        return None
    amount = float(difference.median())
    if abs(amount) < 1e-4 or float((difference - amount).abs().max()) > 1e-3 * abs(amount):
        return None
    return Diagnosis(
        "offset",
        Text(
            f"Every lse is off by {amount:.4g}: l is {math.exp(min(amount, 700)):.4g} times what it "
            "should be.",
            f"每个 lse 都差 {amount:.4g}：l 是正确值的 {math.exp(min(amount, 700)):.4g} 倍。",
        ),
    )


#: Outputs that a sum over keys divides at the end.
_DIVIDED = {"o", "O", "acc", "value", "out"}


def row_factor(one: WrongTensor) -> Diagnosis | None:
    if one.want.dim() < 2 or one.want.shape[-1] < 3 or one.name not in _DIVIDED:
        return None
    if bool((one.off & ~one.got.isfinite()).any()):
        return None  # something else happened there
    ratio = _ratio(one)
    known = ~ratio.isnan()
    rows = known.sum(-1) >= 3
    if not bool(rows.any()):
        return None
    filled = torch.where(known, ratio, ratio.nanmedian(-1, keepdim=True).values)[rows]
    spread = filled.amax(-1) - filled.amin(-1)
    if bool((spread > 1e-2 * filled.abs().amax(-1)).any()):
        return None
    per_row = filled.median(-1).values
    if bool((per_row.abs() < 1e-6).any()) or not bool(((per_row - 1).abs() > 5e-3).any()):
        return None  # rows of zeros have lost more than a division; so little is rounding
    more = bool((per_row <= 1 + 1e-6).all())
    less = bool((per_row >= 1 - 1e-6).all())
    en = " l is too large: something is counted that should not be." if more else ""
    zh = " l 偏大：算进了不该算的。" if more else ""
    if less and not more:
        en, zh = " l is too small: something is missing in it.", " l 偏小：里面少了东西。"
    return Diagnosis(
        "row-factor",
        Text(
            f"Every row of {one.name} is right up to a factor of its own: the sum over V is right, "
            f"the division is not.{en}",
            f"{one.name} 的每一行只差一个倍数：对 V 的加权和是对的，错在除法。{zh}",
        ),
    )
