"""Name the mistake: compare a wrong answer with planted variants, then look for symptoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..language import Text
from .compare import budgets, close, parts, plain, truth_of
from .report import Diagnosis
from .spec import Exercise

#: Cases on which one mistake often meets another; left out if no variant explains everything.
_SIDE = {"dead-rows", "extreme-logits", "dtype"}


@dataclass(frozen=True)
class Attempt:
    """One call that returned: its case, the property it tested, its arguments, its result."""

    index: int
    property: str
    make: Callable[[], tuple[Any, ...]]
    value: Any


def diagnose(exercise: Exercise, attempts: Sequence[Attempt]) -> tuple[Diagnosis, ...]:
    """Named mistakes for these attempts, likeliest first.

    A variant is named if it gives the learner's results on every attempt, right and wrong ones,
    and is wrong on at least one. If none does, the plain cases alone decide, and then symptoms of
    single outputs.
    """
    for kept in (attempts, [x for x in attempts if x.property not in _SIDE]):
        known = _known(exercise, kept)
        if known is None:
            continue
        named = [
            Diagnosis(variant.id, variant.text)
            for variant in exercise.variants
            if any(
                _explains(exercise, exercise.adapt(fn), known) for fn in (variant.fn, *variant.also)
            )
        ]
        if named:
            return tuple(named)
    return _symptoms(exercise, attempts)


@dataclass(frozen=True)
class _Known:
    """An attempt with what it is held against, worked out once for all variants."""

    make: Callable[[], tuple[Any, ...]]
    got: list[Any]
    truth: list[Any]
    allowed: list[Any]

    @property
    def right(self) -> bool:
        """Whether the result is the truth, as far as a variant is compared with it."""
        return all(_same(*each) for each in zip(self.got, self.truth, self.allowed, strict=True))


def _known(exercise: Exercise, attempts: Sequence[Attempt]) -> list[_Known] | None:
    """Wrong results first: most variants do not survive one. None if a structure is wrong."""
    found: list[_Known] = []
    for attempt in attempts:
        got = parts(exercise, attempt.value)
        if isinstance(got, Text):
            return None
        args = attempt.make()
        truth = truth_of(exercise, args)
        found.append(_Known(attempt.make, got, truth, budgets(exercise, args, truth)))
    return sorted(found, key=lambda known: known.right)


def _explains(exercise: Exercise, fn: Callable[..., Any], attempts: Sequence[_Known]) -> bool:
    differs = False
    for known in attempts:
        try:
            wrong = parts(exercise, fn(*known.make()))
        except Exception:  # the bug crashes here, so the learner's answer is not this bug's
            return False
        if isinstance(wrong, Text):
            return False
        pairs = list(zip(known.got, wrong, known.truth, known.allowed, strict=True))
        if not all(_same(g, w, a) for g, w, _, a in pairs):
            return False
        differs = differs or not all(_same(w, t, a) for _, w, t, a in pairs)
    return differs


def _same(left: Any, right: Any, allowed: Any) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if left.shape != right.shape:
            return False
        budget = 3 * torch.as_tensor(allowed, dtype=torch.float64)
        if budget.dim() and budget.shape != left.shape:  # both are of the same wrong shape
            budget = budget.max() if budget.numel() else budget.sum()
        return bool(close(left.detach().double(), right.detach().double(), budget).all())
    left, right = plain(left)[0], plain(right)[0]
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    return type(left) is type(right) and bool(left == right)


def _symptoms(exercise: Exercise, attempts: Sequence[Attempt]) -> tuple[Diagnosis, ...]:
    for attempt in attempts:
        args, got = attempt.make(), parts(exercise, attempt.value)
        if isinstance(got, Text):
            continue
        truth = truth_of(exercise, args)
        for output, g, t, a in zip(
            exercise.outputs, got, truth, budgets(exercise, args, truth), strict=True
        ):
            found = _symptom(output.name, g, t, a)
            if found is not None:
                return (found,)
    return ()


def _symptom(name: str, got: Any, want: Any, allowed: Any) -> Diagnosis | None:
    if not (isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor)):
        return _factor(name, got, want)
    if got.shape != want.shape:
        if got.dim() == 2 and got.T.shape == want.shape:
            return Diagnosis(
                "transposed", Text(f"{name} came out transposed.", f"{name} 的行和列反了。")
            )
        return None
    got, want = got.detach().double(), want.double()
    if bool(got.isnan().any()) and not bool(want.isnan().any()):
        return Diagnosis(
            "nan",
            Text(
                f"{name} holds NaN: look for −inf − (−inf), 0 / 0, or elements never written.",
                f"{name} 里有 NaN：找找 −inf − (−inf)、0 / 0，或者没有写到的元素。",
            ),
        )
    finite = want.isfinite() & (want.abs() > 1e-6)
    if not bool(finite.any()) or bool(close(got, want, torch.as_tensor(allowed)).all()):
        return None
    ratio = got[finite] / want[finite]
    steady = float(ratio.max() - ratio.min()) <= 1e-3 * float(ratio.abs().max())
    # numbers that are all nearly equal have a steady ratio whatever went wrong
    right = want[finite]
    steady = steady and float(right.max() - right.min()) > 0.1 * float(right.abs().max())
    return _factor(name, float(ratio.median()), 1.0) if steady and ratio.numel() > 2 else None


def _factor(name: str, got: Any, want: Any) -> Diagnosis | None:
    got = plain(got)[0]
    if not all(isinstance(x, (int, float)) and x for x in (got, want)):
        return None
    factor = got / want
    if abs(factor - 1) < 1e-6:
        return None
    return Diagnosis(
        "factor",
        Text(
            f"Every element of {name} is {factor:.4g} times what it should be.",
            f"{name} 的每个元素都是正确值的 {factor:.4g} 倍。",
        ),
    )
