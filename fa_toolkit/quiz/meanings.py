"""Every quantity that one formula may mean. Who writes `1/12 FLOP/B` means the unit of the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..language import Text
from .formula import TOO_LARGE, Parser, Quantity, unit_of
from .tokens import Unreadable
from .units import NONE, OTHER_READING

_NO_VALUE = Text(
    "has no value: a division by zero, or a root or logarithm outside its range",
    "没有值：除以了零，或者根号、对数超出了定义域",
)


def alternatives(tokens: list[tuple[str, str]], names: Mapping[str, float]) -> list[Quantity]:
    """Every quantity the tokens may mean, the likeliest first.

    A unit at the very end belongs to its number or to the whole; FLOPS is a rate, but many write
    it for a count, and TFLOPs for a rate.

    Raises:
        Unreadable: if there is none.
    """
    found: list[Quantity] = []
    problem: Unreadable | None = None
    swaps = (False, True) if any(token in OTHER_READING for _, token in tokens) else (False,)
    for swap in swaps:
        for read in (_as_written, _unit_of_the_whole):
            try:
                quantity = read(tokens, names, swap)
                if quantity is not None and math.isnan(quantity.value):
                    raise Unreadable(Text("has no definite value", "没有确定的值"))
            except Unreadable as unreadable:
                problem = problem or unreadable
            except OverflowError:
                problem = problem or Unreadable(TOO_LARGE)
            except (ValueError, ZeroDivisionError):
                problem = problem or Unreadable(_NO_VALUE)
            else:
                found += [quantity] if quantity is not None and quantity not in found else []
    if not found:
        raise problem or Unreadable(Text("nothing written", "还没有写"))
    return found


def _as_written(tokens: list[tuple[str, str]], names: Mapping[str, float], swap: bool) -> Quantity:
    return Parser(tokens, names, swap=swap).whole()


def _unit_of_the_whole(
    tokens: list[tuple[str, str]], names: Mapping[str, float], swap: bool
) -> Quantity | None:
    """The formula times its last and only unit; None if it has no such unit."""
    units = [token for kind, token in tokens if kind == "unit"]
    if len(units) != 1 or tokens[-1][0] != "unit" or len(tokens) < 3:
        return None
    unit = unit_of(units[0], swap)
    sums = any(token in ("+", "-") for _, token in tokens)
    if unit.dimension == NONE and sums:  # in `1 - 5%` the sign is the number's own
        return None
    bare = Parser(tokens[:-1], names, swap=swap).whole()
    return Quantity(bare.value * unit.factor, unit.dimension, True)
