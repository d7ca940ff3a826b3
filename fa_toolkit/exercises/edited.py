"""Name a mistake by making it: the solution with one edit that gives exactly the learner's results.

The table of `fingerprints` says which edits may; the edit is made and compared in full.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..language import Text
from .calling import Local, Outcome
from .fingerprints import RAISED, labels_of, print_of, print_of_value, says_nothing, suspects
from .mutants import can_run, made, message_of, subject_of
from .mutations import Mutation
from .spec import Exercise

#: Suspects that are tried, seconds for all of them and for one call.
_MOST, _SECONDS, _CALL = 8, 6.0, 10.0
#: Properties whose cases one mistake often meets together with another.
SIDE = frozenset({"dead-rows", "extreme-logits", "dtype"})
#: Edits that are told, where nothing tells them apart.
_TOLD = 2


@dataclass(frozen=True)
class Failure:
    """A call that returned nothing: the number of its case, and why."""

    index: int
    sentence: Text | str


@dataclass(frozen=True)
class Answer:
    """What a learner's function did in each case.

    Args:
        values: number of the case, and what was returned.
        failures: the cases in which it failed.
        wrong: numbers of the cases in which the value is wrong.
        same: whether what an edit returned is the learner's result in the case with this number.
        strict: whether an edit has to fail with the very same words.
    """

    values: tuple[tuple[int, Any], ...]
    failures: tuple[Failure, ...]
    wrong: frozenset[int]
    same: Callable[[int, Any], bool]
    strict: bool = True

    def without(self, cases: set[int]) -> Answer:
        """The same, these cases left out."""
        values = tuple(v for v in self.values if v[0] not in cases)
        failures = tuple(f for f in self.failures if f.index not in cases)
        return replace(self, values=values, failures=failures, strict=False)

    @property
    def is_wrong(self) -> bool:
        """Whether anything is."""
        return bool(self.failures) or any(i in self.wrong for i, _ in self.values)

    def prints(self, exercise: Exercise) -> list[tuple[int, str]]:
        """Every case in a few digits."""
        found = [(index, print_of_value(exercise, value)) for index, value in self.values]
        for failure in self.failures:
            outcome = Outcome("error", sentence=failure.sentence)
            found.append((failure.index, print_of(exercise, outcome) if self.strict else RAISED))
        return found


def edits_of_answer(exercise: Exercise, answer: Answer) -> list[Mutation]:
    """The likeliest edits that do what the learner's function does: two at most.

    If none does all of it, then one that fails in the same cases, and last one that gives the same
    in all but the cases where one mistake often meets another.
    """
    side = {i for i, case in enumerate(exercise.cases) if case.property in SIDE}
    for tried in (answer, replace(answer, strict=False), answer.without(side)):
        if tried.is_wrong and (tried is answer or answer.failures or tried.values != answer.values):
            found = _explaining(exercise, tried)
            if found:
                return found
    return []


def _explaining(exercise: Exercise, answer: Answer) -> list[Mutation]:
    prints = answer.prints(exercise)
    labels = labels_of(exercise)
    found = suspects(exercise.id, [(labels[index], p) for index, p in prints])
    if all(says_nothing(p) for _, p in prints) and len(found) > _TOLD:
        return []  # numbers that came out as NaN whatever was done to them
    if not can_run(exercise):  # kernels are compiled here: the digits have to do
        return found[:_TOLD] if not answer.failures and len(prints) > 2 else []
    until, kept = time.process_time() + _SECONDS, dict[Text, Mutation]()
    for mutation in found[:_MOST]:
        if time.process_time() > until or len(kept) == _TOLD:
            break
        if mutation.text not in kept and _gives(exercise, mutation, answer):
            kept[mutation.text] = mutation
    return list(kept.values())


def told(found: Sequence[Mutation]) -> Text:
    """The sentence about edits that give one and the same result."""
    head, *others = (m.text for m in found)
    if not others:
        return head
    return Text(f"{head.en} Or, with the same outcome: {others[0].en}",
                f"{head.zh}也可能是（结果相同）：{others[0].zh}")  # fmt: skip


def _gives(exercise: Exercise, mutation: Mutation, answer: Answer) -> bool:
    local = Local(exercise, made(exercise, mutation))
    for failure in answer.failures:
        outcome = local.call("case", failure.index, _CALL)
        if outcome.kind != "error":
            return False
        mine, theirs = message_of(outcome.sentence), message_of(failure.sentence)
        if (mine != theirs) if answer.strict else (subject_of(mine) != subject_of(theirs)):
            return False
    for index, _ in sorted(answer.values, key=lambda item: item[0] not in answer.wrong):
        outcome = local.call("case", index, _CALL)
        if outcome.kind != "ok" or not answer.same(index, outcome.value):
            return False
    return True
