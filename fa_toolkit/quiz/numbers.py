"""Read a number as people write it: `e^{2-4}`, `13.5%`, `2^20`, `3 MiB`, `１．５ 倍`. Never `eval`.

Every outcome, good or bad, comes back as a `Reading`; nothing a learner types raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ..language import Text, say
from .formula import TOO_LARGE, Parser, Unreadable, normalised, tokens
from .units import NONE, Dimension

MAX_CHARS = 200


class Reading(NamedTuple):
    """What was read: a value in base units with its dimension, or what could not be read.

    `has_unit` tells whether a unit (not only a bare number) was written.
    """

    value: float | None
    dimension: Dimension = NONE
    has_unit: bool = False
    problem: Text | str | None = None
    empty: bool = False


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
        parser = Parser(tokens(normalised(written)), names or {})
        value, dimension, has_unit = parser.whole()
    except Unreadable as unreadable:
        return Reading(None, problem=unreadable.problem)
    except OverflowError:
        return Reading(None, problem=TOO_LARGE)
    except (ValueError, ZeroDivisionError):
        return Reading(
            None,
            problem=Text(
                "has no value: a division by zero, or a root or logarithm outside its range",
                "没有值：除以了零，或者根号、对数超出了定义域",
            ),
        )
    if math.isnan(value):
        return Reading(None, problem=Text("has no definite value", "没有确定的值"))
    return Reading(value, dimension, has_unit)


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
