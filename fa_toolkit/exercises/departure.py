"""Find the first tile in which an answer departs from the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..language import Text
from ..problem import AttentionProblem, TileShape
from .calling import Outcome
from .compare import budgets, close, parts, truth_of
from .diagnose import Attempt
from .report import Departure
from .spec import Exercise

Call = Callable[[Any, int, int | None], Outcome]
#: Tiles of keys that are tried one after another.
_MOST_TRIES = 8
_OF_SCORES, _OF_KEYS = {"s", "p"}, {"dk", "dv"}


def find_departure(exercise: Exercise, attempts: Sequence[Attempt], call: Call) -> Departure | None:
    """The first wrong tile of the first wrong case; None if the exercise has no tiles."""
    if exercise.layout is None:
        return None
    for attempt in attempts:
        args = attempt.make()
        wrong = _wrong(exercise, args, attempt.value)
        for index, output in enumerate(exercise.outputs):
            if wrong is None or wrong[index] is None or not bool(wrong[index].any()):
                continue
            problem, tile = exercise.layout(*args)
            found = _place(output.name, wrong[index], problem, tile)
            if found is None:
                continue
            place, rows, keys = found
            if keys is None and exercise.shorter is not None and not problem.causal:
                keys = _by_trying(exercise, attempt.index, index, problem, tile, rows, call)
            label = exercise.cases[attempt.index].label
            return Departure(output.name, label, place, problem, tile, rows, keys)
    return None


def _wrong(exercise: Exercise, args: tuple[Any, ...], value: Any) -> list[Any] | None:
    """For each output which elements are wrong; None for an output that is no such tensor."""
    got = parts(exercise, value)
    if isinstance(got, Text):
        return None
    truth = truth_of(exercise, args)
    found: list[Any] = []
    for g, t, a in zip(got, truth, budgets(exercise, args, truth), strict=True):
        fits = isinstance(g, torch.Tensor) and isinstance(t, torch.Tensor) and g.shape == t.shape
        allowed = torch.as_tensor(a, dtype=torch.float64)
        found.append(~close(g.detach().double(), t.double(), allowed) if fits else None)
    return found


def _place(
    name: str, wrong: torch.Tensor, problem: AttentionProblem, tile: TileShape
) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int] | None] | None:
    """Index of the first wrong element, the rows of its tile, and the keys where it tells."""
    first = int(wrong.flatten().int().argmax())
    place = tuple(int(i) for i in np.unravel_index(first, tuple(wrong.shape)))
    if name in _OF_KEYS and wrong.dim() > 1:
        return place, (0, problem.len_q), _tile_of(place[-2], tile.block_n, problem.len_k)
    axis = -2 if wrong.dim() > 1 and wrong.shape[-2] == problem.len_q else -1
    if wrong.dim() == 0 or wrong.shape[axis] != problem.len_q:
        return None
    rows = _tile_of(place[axis], tile.block_m, problem.len_q)
    keys = _tile_of(place[-1], tile.block_n, problem.len_k) if name in _OF_SCORES else None
    return place, rows, keys


def _tile_of(at: int, size: int, length: int) -> tuple[int, int]:
    start = at - at % size
    return start, min(start + size, length)


def _by_trying(
    exercise: Exercise,
    case: int,
    output: int,
    problem: AttentionProblem,
    tile: TileShape,
    rows: tuple[int, int],
    call: Call,
) -> tuple[int, int] | None:
    """The first tile of keys with which the rows go wrong: keys are added tile by tile."""
    assert exercise.shorter is not None
    for start in range(0, min(problem.len_k, _MOST_TRIES * tile.block_n), tile.block_n):
        keys = min(start + tile.block_n, problem.len_k)
        found = call("case", case, keys)
        if found.kind != "ok":
            return None
        args = exercise.shorter(exercise.cases[case].make(), keys)
        wrong = _wrong(exercise, args, found.value)
        if wrong is None or wrong[output] is None:
            return None
        mask = wrong[output]
        axis = -2 if mask.dim() > 1 and mask.shape[-2] == problem.len_q else -1
        if bool(mask.narrow(axis, rows[0], rows[1] - rows[0]).any()):
            return start, keys
    return None
