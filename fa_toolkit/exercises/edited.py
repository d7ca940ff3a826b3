"""Name a mistake by making it: the solution with one edit that gives exactly the learner's results.

The table of `fingerprints` says which edits may; the edit is made and compared in full.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..language import Text
from .calling import Local, Outcome
from .fingerprints import print_of, print_of_value, says_nothing, suspects
from .mutants import can_run, made, message_of
from .mutations import Mutation
from .spec import Exercise

#: Suspects that are tried, seconds for all of them and for one call.
_MOST, _SECONDS, _CALL = 8, 6.0, 2.0
#: Edits that are told, where nothing tells them apart.
_TOLD = 2


@dataclass(frozen=True)
class Failure:
    """A call that returned nothing: the number of its case, and why."""

    index: int
    sentence: Text | str


#: Whether what an edit returned is the learner's result in the case with this number.
Same = Callable[[int, Any], bool]


def edits_of_answer(
    exercise: Exercise, values: Sequence[tuple[int, Any]], failures: Sequence[Failure], same: Same
) -> list[Mutation]:
    """The likeliest edits that give these results, and these failures: two at most.

    Args:
        values: number of the case, and what the learner returned.
    """
    prints = [(index, print_of_value(exercise, value)) for index, value in values]
    prints += [
        (f.index, print_of(exercise, Outcome("error", sentence=f.sentence))) for f in failures
    ]
    found = suspects(exercise.id, prints)
    if all(says_nothing(p) for _, p in prints) and len(found) > _TOLD:
        return []  # numbers that came out as NaN whatever was done to them
    if not can_run(exercise):  # kernels are compiled here: the digits have to do
        return found[:_TOLD] if not failures and len(prints) > 2 else []
    until, kept = time.monotonic() + _SECONDS, dict[Text, Mutation]()
    for mutation in found[:_MOST]:
        if time.monotonic() > until or len(kept) == _TOLD:
            break
        if mutation.text not in kept and _gives(exercise, mutation, values, failures, same):
            kept[mutation.text] = mutation
    return list(kept.values())


def told(found: Sequence[Mutation]) -> Text:
    """The sentence about edits that give one and the same result."""
    head, *others = (m.text for m in found)
    if not others:
        return head
    return Text(f"{head.en} Or, with the same outcome: {others[0].en}",
                f"{head.zh}也可能是（结果相同）：{others[0].zh}")  # fmt: skip


def _gives(
    exercise: Exercise,
    mutation: Mutation,
    values: Sequence[tuple[int, Any]],
    failures: Sequence[Failure],
    same: Same,
) -> bool:
    local = Local(exercise, made(exercise, mutation))
    for index, _ in values:
        outcome = local.call("case", index, _CALL)
        if outcome.kind != "ok" or not same(index, outcome.value):
            return False
    for failure in failures:
        outcome = local.call("case", failure.index, _CALL)
        if outcome.kind != "error":
            return False
        if message_of(outcome.sentence) != message_of(failure.sentence):
            return False
    return True
