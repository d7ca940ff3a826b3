"""Call one function on the cases of one exercise, in this process, and see how it went.

`Runner` is what the checker talks to; `Local` is the plain one, which protects this process from
nothing but exceptions and loops in Python. `child.Child` runs a `Local` in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch

from ..language import Text
from .guard import Kind, call
from .spec import Exercise, leaves
from .watch import PoisonedEmpty, Seen, watching

What = Literal["case", "rule"]


@dataclass(frozen=True)
class Outcome:
    """What came of one call.

    Args:
        kind: "ok", "stub", "error", "stopped" (out of time), "crashed" (took its process along).
        value: what was returned.
        sentence: why nothing was.
        after: the arguments after the call, flat.
        seen: what was watched during the call of a rule.
        used: seconds of processor time that the function took.
    """

    kind: Kind
    value: Any = None
    sentence: Text | str = ""
    after: list[Any] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    used: float = 0.0


class Runner(Protocol):
    """Calls the learner's function."""

    def call(self, what: What, index: int, seconds: float, keys: int | None = None) -> Outcome:
        """The case or rule with this number, with only the first `keys` keys if that is given."""

    def close(self) -> str:
        """End, and return what was printed meanwhile."""


class Local:
    """Calls the function here."""

    def __init__(self, exercise: Exercise, fn: Callable[..., Any]) -> None:
        self.exercise, self.fn = exercise, exercise.adapt(fn)

    def call(self, what: What, index: int, seconds: float, keys: int | None = None) -> Outcome:
        """Make the arguments, call, keep the arguments as they are afterwards."""
        if what == "rule":
            return self._rule(index, seconds)
        args = self.exercise.cases[index].make()
        if keys is not None and self.exercise.shorter is not None:
            args = self.exercise.shorter(args, keys)
        guard: AbstractContextManager[Any] = nullcontext()
        if self.exercise.needs_triton:
            guard = PoisonedEmpty()  # type: ignore[no-untyped-call]
        with guard, _defaults_kept():
            found = call(self.fn, args, seconds=seconds)
        return Outcome(found.kind, found.value, found.sentence, leaves(args), used=found.used)

    def _rule(self, index: int, seconds: float) -> Outcome:
        rule = self.exercise.rules[index]
        args = rule.make()
        with watching() as seen, _defaults_kept():
            found = call(self.fn, args, seconds=seconds)
        return Outcome(found.kind, None, found.sentence, seen=seen, used=found.used)

    def close(self) -> str:
        """Nothing to end; what was printed went where this process prints."""
        return ""


@contextmanager
def _defaults_kept() -> Iterator[None]:
    """What a call sets for all of torch ends with it: the next arguments are made the same way."""
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None)


def on_cpu(values: list[Any]) -> list[Any]:
    """The same values, tensors on the CPU."""
    return [x.detach().cpu() if isinstance(x, torch.Tensor) else x for x in values]
