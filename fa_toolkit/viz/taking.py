"""What the functions of `viz` take: one reader for each kind of argument. Draws nothing.

    @takes(n=whole, predict=yes_or_no)
    def memory_ladder(gpu="a100-40", *, n=4096, predict=True): ...

A reader gets the name and the value and returns what the function will see, or refuses in one
sentence. None passes where it is the default.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from .. import hardware
from ..errors import ArgumentError
from ..hardware import GPU
from ..language import Text
from ..problem import AttentionProblem, TileShape, yes_or_no

__all__ = [
    "are", "card", "function", "has", "is_a", "mapping", "number", "pair", "problem", "takes", "tile", "whole",
    "wholes", "words", "yes_or_no",
]  # fmt: skip

Reader = Callable[[str, Any], Any]
P = ParamSpec("P")
R = TypeVar("R")


def takes(**readers: Reader) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Read these arguments before the function sees them."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(fn)
        optional = {name for name in readers if signature.parameters[name].default is None}

        @functools.wraps(fn)
        def called(*args: P.args, **keywords: P.kwargs) -> R:
            bound = signature.bind(*args, **keywords)
            for name, reader in readers.items():
                if name in bound.arguments:
                    value = bound.arguments[name]
                    if not (value is None and name in optional):
                        bound.arguments[name] = reader(name, value)
            return fn(*bound.args, **bound.kwargs)

        return called

    return decorate


def _refuse(name: str, expected: Text | str, value: object) -> ArgumentError:
    return ArgumentError(name, expected=expected, got=" ".join(repr(value).split())[:60])


def is_a(*kinds: type) -> Reader:
    """A value of one of these classes."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, kinds):
            raise _refuse(name, " | ".join(kind.__name__ for kind in kinds), value)
        return value

    return read


problem, tile = is_a(AttentionProblem), is_a(TileShape)


def card(name: str, value: Any) -> GPU:
    """The record of a GPU, or its name."""
    return value if isinstance(value, GPU) else hardware.gpu(value)


def whole(name: str, value: Any) -> int:
    """A whole number of any type; True is none."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise _refuse(name, Text("a whole number", "整数"), value)


def wholes(name: str, value: Any) -> tuple[int, ...]:
    """Several whole numbers; one stands for itself alone."""
    one = not isinstance(value, Sequence) or isinstance(value, (str, bytes))
    return tuple(whole(name, each) for each in ((value,) if one else value))


def pair(name: str, value: Any) -> tuple[int, int]:
    """Two whole numbers."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise _refuse(name, Text("two whole numbers", "两个整数"), value)
    return whole(name, value[0]), whole(name, value[1])


def has(*attributes: str, of: Text) -> Reader:
    """Something with these attributes, whatever its class."""

    def read(name: str, value: Any) -> Any:
        if not all(hasattr(value, attribute) for attribute in attributes):
            raise _refuse(name, of, value)
        return value

    return read


def are(*attributes: str, of: Text) -> Reader:
    """A sequence of things with these attributes."""
    one = has(*attributes, of=of)

    def read(name: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise _refuse(name, of, value)
        return tuple(one(name, each) for each in value)

    return read


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """Names and what belongs to them."""
    if not isinstance(value, Mapping):
        raise _refuse(name, Text("a dict", " dict"), value)
    return value


def function(name: str, value: Any) -> Callable[..., Any]:
    """Something to call."""
    if not callable(value):
        raise _refuse(name, Text("a function", "函数"), value)
    found: Callable[..., Any] = value
    return found


def number(name: str, value: Any) -> float:
    """A number that is neither infinite nor NaN; True is none."""
    if not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise _refuse(name, Text("a finite number", "有限的数"), value)


def words(name: str, value: Any) -> str | Callable[[], str]:
    """A text, or a function that gives one."""
    if not isinstance(value, str) and not callable(value):
        expected = Text("a text, or a function that gives one", "一段文字，或给出文字的函数")
        raise _refuse(name, expected, value)
    found: str | Callable[[], str] = value
    return found
