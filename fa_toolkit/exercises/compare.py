"""Compare one result with the truth: structure, shape, infinities, then every element's budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ..language import Text
from .spec import Exercise, as_float64, leaves
from .values import OddTensor, odd_kind

#: Rounding of an exercise that states no budget of its own, in units of eps times magnitude.
_EPS_UNITS = 16


def truth_of(exercise: Exercise, args: tuple[Any, ...]) -> list[Any]:
    """The float64 results of the reference, one per output."""
    found = exercise.reference(*as_float64(args))
    return list(found) if len(exercise.outputs) > 1 else [found]


def budgets(exercise: Exercise, args: tuple[Any, ...], truth: list[Any]) -> list[Any]:
    """Largest allowed error of each output, elementwise."""
    if exercise.allowed is not None:
        return list(exercise.allowed(*args))
    tensors = [x for x in leaves(args) if isinstance(x, torch.Tensor) and x.is_floating_point()]
    eps = max((torch.finfo(x.dtype).eps for x in tensors), default=1e-12)
    return [_EPS_UNITS * eps * _magnitude(item) for item in truth]


def _magnitude(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        finite = torch.where(value.isfinite(), value.abs(), torch.zeros_like(value))
        return finite.clamp(min=1e-3)
    return abs(value) if isinstance(value, (int, float)) else 0.0


def parts(exercise: Exercise, value: Any) -> list[Any] | Text:
    """What the learner returned, one item per output, or a sentence if the structure is wrong."""
    names = ", ".join(output.name for output in exercise.outputs)
    if value is None:
        return Text(
            f"It returned None. Is a return missing? It should return {names}.",
            f"返回了 None。是不是漏了 return？应返回 {names}。",
        )
    count = len(exercise.outputs)
    if count == 1:
        return _odd_tensor(exercise, [value]) or [value]
    if not isinstance(value, (tuple, list)) or len(value) != count:
        got = type(value).__name__
        got += f" ({len(value)})" if isinstance(value, (tuple, list)) else ""
        return Text(
            f"It should return {count} things, {names}; it returned {got}.",
            f"应返回 {count} 个值 {names}，实际返回 {got}。",
        )
    return _odd_tensor(exercise, value) or list(value)


def _odd_tensor(exercise: Exercise, values: Sequence[Any]) -> Text | None:
    """A sentence if a tensor holds no real numbers that could be compared."""
    for output, value in zip(exercise.outputs, values, strict=True):
        kind = value.kind if isinstance(value, OddTensor) else ""
        if isinstance(value, torch.Tensor):
            kind = odd_kind(value)
        if kind:
            return Text(
                f"{output.name} should be an ordinary tensor of real numbers, it is {kind}.",
                f"{output.name} 应为普通的实数张量，实际是 {kind} 张量。",
            )
    return None


def wrong_dtype(name: str, rule: str | None, got: Any, args: tuple[Any, ...]) -> Text | None:
    """A sentence if a result has another dtype than its rule asks for; `spec.Output` has the rule."""
    if rule is None or not isinstance(got, torch.Tensor):
        return None
    first = next(x for x in leaves(args) if isinstance(x, torch.Tensor))
    want = torch.float32 if rule == "float32" else first.dtype
    if got.dtype == want:
        return None
    return Text(f"{name} is {got.dtype}, expected {want}.", f"{name} 是 {got.dtype}，应为 {want}。")


def plain(value: Any) -> tuple[Any, float]:
    """A number of any type as Python's own, and the relative rounding of its type."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        eps = torch.finfo(value.dtype).eps if value.is_floating_point() else 0.0
        return value.detach().item(), eps
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):  # of NumPy
        kind = value.dtype.kind
        return value.item(), float(np.finfo(value.dtype).eps) if kind == "f" else 0.0
    if isinstance(value, (Fraction, Decimal)):
        return float(value), 0.0
    return value, 0.0


def mismatch(name: str, got: Any, want: Any, allowed: Any, base: Any = None) -> Text | None:
    """One sentence that says how `got` differs from `want`, or None if it does not.

    Args:
        base: what plain torch gives in the same precision; its error is named beside.
    """
    if isinstance(want, torch.Tensor):
        budget = torch.as_tensor(allowed, dtype=torch.float64).cpu()
        return _tensor_mismatch(name, got, want.cpu(), budget, base)
    got, eps = plain(got)
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        tolerance = max(1e-9, _EPS_UNITS * eps)
        same = math.isclose(got, want, rel_tol=tolerance, abs_tol=float(allowed))
        shown, right = f"{got:.6g}", f"{want:.6g}"
    else:
        same, shown, right = type(got) is type(want) and got == want, repr(got)[:60], repr(want)
    if same:
        return None
    return Text(f"{name} is {shown}, expected {right}.", f"{name} 是 {shown}，应为 {right}。")


def _tensor_mismatch(
    name: str, got: Any, want: torch.Tensor, allowed: torch.Tensor, base: Any
) -> Text | None:
    if not isinstance(got, torch.Tensor):
        number, _ = plain(got)
        if want.numel() == 1 and isinstance(number, (int, float)):
            got = number
            got = torch.tensor(got, dtype=torch.float64).reshape(want.shape)
        else:
            return Text(
                f"{name} should be a tensor, it is {type(got).__name__}.",
                f"{name} 应为张量，实际是 {type(got).__name__}。",
            )
    if got.shape != want.shape:
        return Text(
            f"{name} has shape {list(got.shape)}, expected {list(want.shape)}.",
            f"{name} 的形状是 {list(got.shape)}，应为 {list(want.shape)}。",
        )
    got = got.detach().to(torch.float64).cpu()
    wrong = ~close(got, want, allowed)
    if not bool(wrong.any()):
        return None
    fits = isinstance(base, torch.Tensor) and base.shape == want.shape
    plain_torch = base.detach().double().cpu() if fits else None
    return _worst(name, got, want, wrong, allowed.expand_as(want), plain_torch)


def close(got: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Elementwise: equal infinities, both NaN, or finite and within the budget."""
    finite = got.isfinite() & want.isfinite()
    near = finite & ((got - want).abs() <= allowed)
    return near | (~finite & (got == want)) | (got.isnan() & want.isnan())


def _worst(
    name: str,
    got: torch.Tensor,
    want: torch.Tensor,
    wrong: torch.Tensor,
    allowed: torch.Tensor,
    base: torch.Tensor | None,
) -> Text:
    """The first non-finite surprise, else the element furthest outside its budget."""
    broken = wrong & ~(got.isfinite() & want.isfinite())
    excess = torch.where(wrong, ((got - want).abs() / allowed).nan_to_num(0.0), 0.0)
    flat = int(broken.flatten().int().argmax()) if bool(broken.any()) else int(excess.argmax())
    place = [int(i) for i in np.unravel_index(flat, tuple(want.shape))]
    where = f"{name}{place}" if place else name
    seen, right = float(got.flatten()[flat]), float(want.flatten()[flat])
    count = int(wrong.sum())
    of_en = f" {count} of {want.numel()} elements are wrong." if want.numel() > 1 else ""
    of_zh = f"共 {want.numel()} 个元素，错了 {count} 个。" if want.numel() > 1 else ""
    if bool(broken.any()):
        return Text(
            f"{where} is {seen:.4g}, expected {right:.4g}.{of_en}",
            f"{where} 是 {seen:.4g}，应为 {right:.4g}。{of_zh}",
        )
    error, limit = abs(seen - right), float(allowed.flatten()[flat])
    beside_en = beside_zh = ""
    if base is not None and math.isfinite(float(base.flatten()[flat])):
        beside = abs(float(base.flatten()[flat]) - right)
        beside_en = f"; plain torch is off by {beside:.1e} there"
        beside_zh = f"，普通 torch 在这里差 {beside:.1e}"
    return Text(
        f"{where} is {seen:.6g}, expected {right:.6g}: off by {error:.1e}, rounding explains "
        f"{limit:.1e}{beside_en}.{of_en}",
        f"{where} 是 {seen:.6g}，应为 {right:.6g}："
        f"相差 {error:.1e}，舍入误差至多 {limit:.1e}{beside_zh}。{of_zh}",
    )
