"""The exercises, one module a chapter. Data only; `exercises.get` finds one by its id."""

from __future__ import annotations

from ..spec import Exercise
from . import (
    backward_full,
    causal_tiles,
    first,
    flash_programs,
    flash_tile,
    inference,
    lean,
    lean_tiles,
    memory,
    mend_mask,
    mend_softmax,
    mend_tiles,
    merge,
    pages,
    rows,
    softmax,
    splits,
    standard,
    tiles,
    triton_basics,
)

_CHAPTERS = (
    first,
    memory,
    standard,
    lean,
    softmax,
    rows,
    merge,
    mend_softmax,
    tiles,
    causal_tiles,
    mend_tiles,
    mend_mask,
    lean_tiles,
    triton_basics,
    flash_tile,
    flash_programs,
    backward_full,
    inference,
    pages,
    splits,
)

EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise for module in _CHAPTERS for exercise in module.EXERCISES
}
