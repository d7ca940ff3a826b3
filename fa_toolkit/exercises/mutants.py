"""The solution of an exercise with one edit: which there are, and each as a function.

Edited kernels run in the interpreter, which checks addresses, so no edit can do harm.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..language import Text
from . import cells
from .mutations import Mutation, mutations
from .spec import Exercise


@lru_cache(maxsize=64)
def edits_of(exercise_id: str) -> tuple[Mutation, ...]:
    """Every edit of the lines that a learner writes; of all lines where a fault is to be found."""
    source = cells.solved(exercise_id)
    lines = {n for a, b in cells.solution_lines(exercise_id) for n in range(a, b + 1)}
    if ".fix_" in exercise_id:
        lines = set(range(1, source.count("\n") + 2))
    found = mutations(source, lines)
    for other in others(exercise_id):
        found += mutations(other, range(1, other.count("\n") + 2))
    return tuple(found)


def others(exercise_id: str) -> list[str]:
    """Right answers written in another way: their mistakes are other ones."""
    chapter, name = exercise_id.split(".")
    folder = Path(__file__).with_name("solutions") / "other"
    files = sorted(folder.glob(f"c{chapter}_{name}*.py"))
    return [file.read_text().split("# cell\n", 1)[1].strip() for file in files]


def made(exercise: Exercise, mutation: Mutation) -> Callable[..., Any]:
    """The function that an edited cell defines.

    Raises:
        Exception: whatever the edited cell raises where it is defined.
    """
    around = getattr(cells.solution_of(exercise.id, exercise.entry), "__globals__", {})
    file = f"<{exercise.id}: {abs(hash(mutation.source))}>"
    linecache.cache[file] = (len(mutation.source), None, mutation.source.splitlines(True), file)
    names = {k: v for k, v in around.items() if k in ("torch", "tl", "triton", "math")}
    names["__name__"] = file
    exec(compile(mutation.source, file, "exec"), names)  # our own text, with one edit of ours
    found: Callable[..., Any] = names[exercise.entry]
    return found


def can_run(exercise: Exercise) -> bool:
    """Whether edited kernels can be interpreted here; where kernels are compiled they are not."""
    if not exercise.needs_triton:
        return True
    from .. import kernels

    return kernels.mode() == "interpreter"


def message_of(sentence: Text | str) -> str:
    """What was raised, without the line where."""
    text = sentence.en if isinstance(sentence, Text) else sentence
    for mark in ("”, raised ", "”: "):
        if mark in text:
            return text.split(mark, 1)[1]
    return text


def subject_of(message: str) -> str:
    """What a message is about, without its numbers: a tensor and what was done to it."""
    return re.sub(r"-?\d+", "#", message).split(" at offset ")[0]
