"""Read a number as people write it: `e^{2-4}`, `13.5%`, `2^20`, `3 MiB`, `１．５ 倍`. Never `eval`.

Every outcome, good or bad, comes back as a `Reading`; nothing a learner types raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..language import Text, say
from .formula import TOO_LARGE, Quantity
from .meanings import alternatives
from .spelling import one_spelling, sides
from .tokens import Unreadable, tokens
from .units import NONE, Dimension

MAX_CHARS = 200


class Reading(NamedTuple):
    """What was read: a value in base units with its dimension, or what could not be read.

    `has_unit` tells whether a unit (not only a bare number) was written. `others` are further
    quantities that the same writing may mean: the unit of `1/12 FLOP/B` is the whole's.
    """

    value: float | None
    dimension: Dimension = NONE
    has_unit: bool = False
    problem: Text | str | None = None
    empty: bool = False
    others: tuple[Quantity, ...] = ()

    @property
    def meanings(self) -> list[tuple[float, Dimension]]:
        """Every value with its dimension that the writing may mean, the likeliest first."""
        likeliest = [] if self.value is None else [(self.value, self.dimension)]
        return [*likeliest, *((other.value, other.dimension) for other in self.others)]


def read_number(written: object, names: Mapping[str, float] | None = None) -> Reading:
    """Read `written`; `names` are values a formula may use (authors' keys only).

    Example:
        >>> round(read_number("e^{2-4}").value, 4), read_number("3 MiB").value
        (0.1353, 3145728.0)
        >>> read_number("__import__('os')").value is None
        True
    """
    if isinstance(written, bool) or not isinstance(written, (str, int, float)):
        return Reading(None, problem=Text("not a number", "不是一个数"), empty=written is None)
    if not isinstance(written, str):
        return _plain(written)
    if len(written) > MAX_CHARS:
        return Reading(
            None,
            problem=Text(
                f"longer than {MAX_CHARS} characters, so it was not read",
                f"超过 {MAX_CHARS} 个字符，没有读下去",
            ),
        )
    if not written.strip():
        return Reading(None, empty=True, problem=Text("nothing written", "还没有写"))
    try:
        return _agreed([*_sides_of(one_spelling(written), names or {})])
    except Unreadable as unreadable:
        return Reading(None, problem=unreadable.problem)


def _sides_of(text: str, names: Mapping[str, float]) -> Iterator[Reading | Unreadable]:
    """What each side of `4*64/8 = 32` says, or why it cannot be read."""
    for side in sides(text):
        try:
            first, *others = alternatives(tokens(side), names)
        except Unreadable as unreadable:
            yield unreadable
        else:
            yield Reading(*first, others=tuple(others))


def _agreed(found: list[Reading | Unreadable]) -> Reading:
    """The first side that can be read; the last, where only some carry a unit.

    Raises:
        Unreadable: if no side can be read, or two say different things.
    """
    good = [side for side in found if isinstance(side, Reading)]
    if not good:
        raise next(
            (side for side in found if isinstance(side, Unreadable)),
            Unreadable(Text("nothing written", "还没有写")),
        )
    for one, other in pairwise(good):
        alike = any(
            a[1] == b[1] and math.isclose(a[0], b[0], rel_tol=0.1)
            for a in one.meanings
            for b in other.meanings
        )
        if one.has_unit == other.has_unit and not alike:
            raise Unreadable(Text("the sides of “=” differ", "等号两边不相等"))
    return good[0] if len({side.has_unit for side in good}) == 1 else good[-1]


def _plain(number: int | float) -> Reading:
    try:
        value = float(number)
    except OverflowError:
        return Reading(None, problem=TOO_LARGE)
    if math.isnan(value):
        return Reading(None, problem=Text("not a number", "不是一个数"))
    return Reading(value)


def show(value: float) -> str:
    """A number for people: 4 digits, whole numbers up to 10 digits in full, grouped by comma."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e10:
        return f"{int(value):,}".replace("-", "−")
    text = f"{value:.4g}"
    mantissa, mark, exponent = text.partition("e")
    text = f"{mantissa} × 10^{int(exponent)}" if mark else mantissa
    return text.replace("-", "−")


def spoken(problem: Text | str | None) -> str:
    """The problem of a reading in the language in force."""
    return "" if problem is None else say(problem)
