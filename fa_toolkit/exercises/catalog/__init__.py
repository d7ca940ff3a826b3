"""The exercises, one module a chapter. Data only; `exercises.get` finds one by its id."""

from __future__ import annotations

from ..spec import Exercise
from . import (
    backward_full,
    backward_kernels,
    backward_rows,
    backward_tiles,
    causal_tiles,
    first,
    flash_finish,
    flash_programs,
    flash_steps,
    flash_tile,
    flash_whole,
    inference,
    lean,
    lean_kernels,
    lean_tiles,
    memory,
    mend_basics,
    mend_kernels,
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
    triton_strides,
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
    triton_strides,
    mend_basics,
    flash_tile,
    flash_steps,
    flash_programs,
    flash_finish,
    flash_whole,
    mend_kernels,
    lean_kernels,
    backward_rows,
    backward_tiles,
    backward_kernels,
    backward_full,
    inference,
    pages,
    splits,
)

EXERCISES: dict[str, Exercise] = {
    exercise.id: exercise for module in _CHAPTERS for exercise in module.EXERCISES
}
