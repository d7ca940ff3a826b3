"""Name the mistake: compare a wrong answer with planted variants, then look for symptoms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from ..language import Text
from .compare import budgets, close, parts, plain, truth_of, wrong_dtype
from .edited import SIDE, Answer, Failure, edits_of_answer, told
from .outside import outside
from .report import Diagnosis
from .spec import Exercise, Variant, leaves
from .symptoms import Seen, symptoms

#: Mistakes that a report names; seconds of this process spent on finding one that explains
#: everything, and then on those that explain a part.
_MOST, _SECONDS, _PARTLY = 3, 20.0, 4.0
#: Elements of all tensors of a case from which it is large.
_LARGE = 20_000
#: Scores that a tile has at least.
_SMALL = 16


@dataclass(frozen=True)
class Attempt:
    """One call that returned: its case, the property it tested, its arguments, its result."""

    index: int
    property: str
    make: Callable[[], tuple[Any, ...]]
    value: Any


def diagnose(
    exercise: Exercise,
    attempts: Sequence[Attempt],
    failures: Sequence[Failure] = (),
    tiles: Sequence[tuple[int, int]] = (),
) -> tuple[Diagnosis, ...]:
    """Named mistakes for these attempts, likeliest first; `tiles` are the sizes that were seen.

    A variant explains an answer if it gives the learner's results on every attempt, right and wrong
    ones, and is wrong on at least one. If none does, an edit of the solution is looked for that
    does; then the plain cases alone decide; then a variant that explains most of what is wrong and
    contradicts nothing that is right; then symptoms.
    """
    known = [x for x in (_known(exercise, attempt) for attempt in attempts) if x is not None]
    if not known and not failures:
        return ()
    weighed = _weigh(exercise, known, tiles)
    explaining = [w for w in weighed if w.explains(known)]
    if len(explaining) > 1:  # what is as near as rounding leaves out what is only near
        far = [_distance(exercise, w.fn, known) for w in explaining]
        explaining = [w for w, d in zip(explaining, far, strict=True) if d <= max(1.0, min(far))]
    named = [w.variant for w in explaining]
    edited = None
    if len(known) == len(attempts) and (failures or not named):
        edited = _edited(exercise, attempts, known, failures)
    if edited is not None:
        return (edited, *(Diagnosis(v.id, v.text, _passage(exercise, v)) for v in named[:1]))
    beyond = outside(exercise, failures)
    if beyond is not None:
        return (beyond, *(Diagnosis(v.id, v.text, _passage(exercise, v)) for v in named[:1]))
    side = [x for x in known if x.property not in SIDE]
    named = named or [w.variant for w in weighed if w.explains(side)]
    if not named:
        near = sorted((w for w in weighed if w.share(known) >= 0.5), key=lambda w: -w.share(known))
        named = [w.variant for w in near]
    found = [Diagnosis(v.id, v.text, _passage(exercise, v)) for v in dict.fromkeys(named[:_MOST])]
    if not found or not explaining:
        seen = [
            Seen(x.property, x.args, x.got, x.truth, x.allowed, bool(x.faulty), x.faulty)
            for x in known
        ]
        found += symptoms(exercise, seen)
    once = {item.id: item for item in reversed(found)}
    return tuple(item for item in found if once[item.id] is item)[:_MOST]


def _edited(
    exercise: Exercise,
    attempts: Sequence[Attempt],
    known: Sequence[_Known],
    failures: Sequence[Failure],
) -> Diagnosis | None:
    """The edit of the solution that gives the learner's results."""
    of_case = {a.index: x for a, x in zip(attempts, known, strict=True)}

    def same(index: int, value: Any) -> bool:
        made, x = parts(exercise, value), of_case[index]
        if isinstance(made, Text):
            return False
        return all(_same(g, w, a) for g, w, a in zip(x.got, made, x.allowed, strict=True))

    values = tuple((a.index, a.value) for a in attempts)
    wrong = frozenset(index for index, x in of_case.items() if x.wrong)
    found = edits_of_answer(exercise, Answer(values, tuple(failures), wrong, same))
    if not found:
        return None
    passage = exercise.passage
    at = None if passage is None else (passage.chapter, passage.section)
    return Diagnosis(f"edit-{found[0].kind}", told(found), at)


def _passage(exercise: Exercise, variant: Variant) -> tuple[int, Text] | None:
    found = variant.passage or exercise.passage
    return None if found is None else (found.chapter, found.section)


@dataclass(frozen=True)
class _Known:
    """An attempt with what it is held against, worked out once for all variants."""

    property: str
    make: Callable[[], tuple[Any, ...]]
    args: tuple[Any, ...]
    got: list[Any]
    truth: list[Any]
    allowed: list[Any]
    faulty: tuple[str, ...]  # names of the outputs that are wrong
    wrong: bool  # whether any is


def _known(exercise: Exercise, attempt: Attempt) -> _Known | None:
    """None if the result has not even the right structure: then no variant can explain it."""
    got = parts(exercise, attempt.value)
    if isinstance(got, Text):
        return None
    args = attempt.make()
    truth = truth_of(exercise, args)
    allowed = budgets(exercise, args, truth)
    faulty = tuple(
        o.name
        for o, g, t, a in zip(exercise.outputs, got, truth, allowed, strict=True)
        if not (_same(g, t, a, slack=1) or (o.at_most and _less(g, t)))
        or (attempt.property == "dtype" and wrong_dtype(o.name, o.dtype, g, args) is not None)
    )
    return _Known(attempt.property, attempt.make, args, got, truth, allowed, faulty, bool(faulty))


def _less(got: Any, target: Any) -> bool:
    return isinstance(got, (int, float)) and bool(got <= target)


@dataclass
class _Weighed:
    """One form of a variant, and how it compares with the learner's results, case by case."""

    variant: Variant
    fn: Callable[..., Any]
    same: dict[int, bool] = field(default_factory=dict)  # by id of the attempt
    wrong: dict[int, bool] = field(default_factory=dict)

    def explains(self, known: Sequence[_Known]) -> bool:
        """The learner's results are this variant's, and it is wrong where they are."""
        all_same = all(self.same.get(id(x), False) for x in known)
        return bool(known) and all_same and any(x.wrong and self.wrong[id(x)] for x in known)

    def share(self, known: Sequence[_Known]) -> float:
        """Of the wrong results the share that it explains; 0 if it contradicts a right one."""
        if any(not x.wrong and self.wrong.get(id(x), False) for x in known):
            return 0.0
        wrong = [x for x in known if x.wrong]
        hit = [x for x in wrong if self.same.get(id(x), False) and self.wrong.get(id(x), False)]
        return len(hit) / len(wrong) if wrong else 0.0


def _weigh(
    exercise: Exercise, known: Sequence[_Known], tiles: Sequence[tuple[int, int]]
) -> list[_Weighed]:
    """Every form of every variant against the results; the rest is left out when time is up.

    Most variants do not survive one wrong result. Only if none explains all of them is it asked
    how many each explains.
    """
    until = time.process_time() + _SECONDS
    forms = [_Weighed(v, fn) for v in exercise.variants for fn in _forms(v, tiles)]
    strict = _compared(exercise, forms, known, until, 0.0)
    if any(weighed.explains(known) for weighed in strict):
        return strict
    until = min(until, time.process_time() + _PARTLY)
    strict.sort(key=lambda w: -sum(w.same.values()))  # those that have something in common first
    return _compared(exercise, strict, known, until, 0.5)


def _compared(
    exercise: Exercise,
    forms: Sequence[_Weighed],
    known: Sequence[_Known],
    until: float,
    missed: float,
) -> list[_Weighed]:
    """The forms one by one; one that misses more than this share of the wrong results is dropped,
    and where none may be missed, one that contradicts a right result too. Large cases come last."""

    def turn(x: _Known) -> tuple[bool, bool, bool, int]:
        size = _size(x.args)
        return size > _LARGE, not x.wrong, x.property in SIDE, size

    order = sorted(known, key=turn)
    found: list[_Weighed] = []
    wrong = sum(x.wrong for x in known)
    for weighed in forms:
        misses = 0
        for tried, x in enumerate(order, start=1):
            if time.process_time() > until:
                return found
            if id(x) not in weighed.same:
                weighed.same[id(x)], weighed.wrong[id(x)] = _compare(exercise, weighed.fn, x)
            misses += (x.wrong or not missed) and not weighed.same[id(x)]
            if misses > missed * max(2, min(tried, wrong)):
                break
        found.append(weighed)
    return found


def _size(args: tuple[Any, ...]) -> int:
    return sum(x.numel() for x in leaves(args) if isinstance(x, torch.Tensor))


def _forms(variant: Variant, tiles: Sequence[tuple[int, int]]) -> list[Callable[..., Any]]:
    """What a variant may return: for the tiles that were seen, if it depends on them."""
    if variant.sized is None or not tiles:
        return [variant.fn, *variant.also]
    return [fn for tile in tiles for fn in variant.sized(variant, *tile)]


def whole_tiles(seen: Sequence[tuple[int, int]], args: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The sizes without those of the last, partial tiles; three at most: forward, dQ, dK and dV."""
    sizes = [x.shape[-2] for x in leaves(args) if isinstance(x, torch.Tensor) and x.dim() >= 2]
    if len(sizes) < 2:
        return list(seen[:1])
    found: list[tuple[int, int]] = []
    for rows, cols in seen:
        if (rows >= sizes[0] and cols >= sizes[1]) or rows * cols < _SMALL:
            continue  # all at once, so that a tile may be larger still; or no tile at all
        tails = any(
            rows in (m, sizes[0] % m) and cols in (n, sizes[1] % n)
            for m, n in (*found, *((n, m) for m, n in found))
        )
        if not tails:
            found.append((rows, cols))
    return found[:3]


#: Relative difference of two wrong results that may be rounding.
_SLIGHT = 2e-6
_CRASHED: Any = object()


@lru_cache(maxsize=4096)
def _value(adapt: Callable[..., Any], fn: Callable[..., Any], make: Callable[..., Any]) -> Any:
    """What a variant returns on a case, the same for every answer it is held against."""
    try:
        return adapt(fn)(*make())
    except Exception:  # the bug crashes here, so the learner's answer is not this bug's
        return _CRASHED


def _compare(exercise: Exercise, fn: Callable[..., Any], known: _Known) -> tuple[bool, bool]:
    """Whether a variant gives the learner's result, and whether it is wrong."""
    value = _value(exercise.adapt, fn, known.make)
    made = _CRASHED if value is _CRASHED else parts(exercise, value)
    if made is _CRASHED or isinstance(made, Text):
        return False, True
    rows = list(zip(exercise.outputs, known.got, made, known.truth, known.allowed, strict=True))
    same = all(_same(g, w, a) for _, g, w, _, a in rows)
    wrong = not all(_same(w, t, a, slack=1) for _, _, w, t, a in rows)
    if known.property == "dtype":
        # a variant that computes in float64 models values and says nothing of types
        typed = [(o, g, w) for o, g, w, _, _ in rows if _dtype(w) != torch.float64]
        same = same and all(_dtype(g) == _dtype(w) for _, g, w in typed)
        wrong = wrong or any(wrong_dtype(o.name, o.dtype, w, known.args) for o, _, w in typed)
    return same, wrong


def _dtype(value: Any) -> torch.dtype | None:
    return value.dtype if isinstance(value, torch.Tensor) else None


def _budget(allowed: Any, like: torch.Tensor) -> torch.Tensor:
    """The allowed error for a result of this shape; the largest one where the shape is wrong."""
    budget = torch.as_tensor(allowed, dtype=torch.float64).cpu()
    if budget.dim() and budget.shape != like.shape:
        return budget.max() if budget.numel() else budget.sum()
    return budget


def _rounding(like: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
    """What rounding may do to wrong results: their sums have terms as large as the largest result,
    and each is stored once in the type of `like`."""
    size = torch.stack([x.abs().nan_to_num(0.0, 0.0) for x in values]).amax(0)
    if not size.numel():
        return size
    step = torch.finfo(like.dtype).eps if like.is_floating_point() else 0.0
    return _SLIGHT * size.max() + max(_SLIGHT, 2 * step) * size


def _distance(exercise: Exercise, fn: Callable[..., Any], known: Sequence[_Known]) -> float:
    """How far a variant is from the results it explains, in units of what rounding may do."""
    far = 0.0
    for x in known:
        made = parts(exercise, _value(exercise.adapt, fn, x.make))
        for g, w, a in zip(x.got, made, x.allowed, strict=True):
            if not (isinstance(g, torch.Tensor) and isinstance(w, torch.Tensor)):
                continue
            mine, theirs = g.detach().double().cpu(), w.detach().double().cpu()
            budget = _budget(a, mine) + _rounding(g, mine, theirs)
            off = ((mine - theirs).abs() / budget).nan_to_num(0.0, 0.0)
            far = max(far, float(off.max()) if off.numel() else 0.0)
    return far


def _same(left: Any, right: Any, allowed: Any, slack: float = 3) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if left.shape != right.shape:
            return False
        mine, theirs = left.detach().double().cpu(), right.detach().double().cpu()
        budget = slack * _budget(allowed, mine)
        if slack > 1:  # of two wrong results: what should be 0 has a budget of 0
            budget = budget + _rounding(left, mine, theirs)
        return bool(close(mine, theirs, budget).all())
    left, right = plain(left)[0], plain(right)[0]
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) <= 1e-9 * max(abs(left), abs(right)) or left == right
    return type(left) is type(right) and bool(left == right)
