"""The formula a learner types, from tokens to a value with its unit. Never `eval`.

A recursive-descent parser over floats with caps on depth, length and exponents, so that any input
ends at once. Juxtaposition is never a product: `2 pi` is refused, `2*pi` is read.

    sum     := product (('+' | '-') product)*
    product := sign (('*' | '/' | '//') (sign | unit))*
    sign    := ('+' | '-')* power
    power   := atom ('^' sign)? unit?
    atom    := (number | name | name group | group) unit?

A unit binds to what stands right before it; `meanings` knows the other ways to mean it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..language import Text
from .tokens import Unreadable, cannot_read
from .units import FOLDED, NONE, OTHER_READING, SPELLINGS, Dimension, Unit

MAX_DEPTH, MAX_EXPONENT = 24, 1000.0


class Quantity(NamedTuple):
    """A value in base units, its dimension, and whether a unit was written."""

    value: float
    dimension: Dimension = NONE
    has_unit: bool = False


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "√": math.sqrt, "exp": math.exp, "ln": math.log, "log2": math.log2,
    "log10": math.log10, "log_e": math.log, "abs": abs, "ceil": math.ceil, "floor": math.floor,
    "int": math.trunc,
}  # fmt: skip
_CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi, "inf": math.inf, "∞": math.inf}
_MYRIADS = {"千": 1e3, "万": 1e4, "百万": 1e6, "亿": 1e8,
            "thousand": 1e3, "million": 1e6, "billion": 1e9}  # fmt: skip
_PREFIXES = ("k", "K", "M", "G", "T", "Ki", "Mi", "Gi")
TOO_LARGE = Text("too large a number", "数太大了")


def unit_of(token: str, swap: bool = False) -> Unit:
    """The unit of a token, or with `swap` the other one that people write that way."""
    if swap and token in OTHER_READING:
        return OTHER_READING[token]
    return SPELLINGS.get(token) or FOLDED[token.lower()]


def _no_sign(token: str) -> Text:
    if token in _PREFIXES:
        return Text(
            f"write the unit after “{token}” too, as 3 MiB or 3 MFLOP",
            f"“{token}” 后面的单位也请写上，例如 3 MiB 或 3 MFLOP",
        )
    return Text(f"write a sign before “{token}”, as 2*pi", f"“{token}” 前请写运算符，例如 2*pi")


class Parser:
    """Reads one list of tokens; `whole` is the entrance."""

    def __init__(
        self, tokens: list[tuple[str, str]], names: Mapping[str, float], *, swap: bool = False
    ) -> None:
        self.tokens, self.names, self.at, self.depth = tokens, names, 0, 0
        self.swap = swap
        self.raising = False  # in an exponent: a unit that follows belongs to the whole power

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def accept(self, *signs: str) -> str:
        kind, token = self.peek()
        if kind == "sign" and token in signs:
            self.at += 1
            return token
        return ""

    def whole(self) -> Quantity:
        result = self.sum()
        kind, token = self.peek()
        if kind == "end":
            return result
        if token == ",":
            raise Unreadable(Text("write 0.5 with a point, not a comma", "小数点请写成 0.5"))
        if token == ")":
            raise Unreadable(Text("a bracket too many", "多了一个括号"))
        raise Unreadable(_no_sign(token))

    def sum(self) -> Quantity:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable(Text("too many brackets", "括号层数太多"))
        left = self.product()
        while sign := self.accept("+", "-"):
            right = self.product()
            if left.dimension != right.dimension:
                raise Unreadable(Text("adds two different units", "把两种不同的单位加在了一起"))
            value = left.value + right.value if sign == "+" else left.value - right.value
            left = Quantity(value, left.dimension, left.has_unit or right.has_unit)
        self.depth -= 1
        return left

    def product(self) -> Quantity:
        left = self.signed()
        while sign := self.accept("*", "/", "//"):
            right = self.lone_unit() or self.signed()
            turn = 1 if sign == "*" else -1
            value = left.value * right.value if turn == 1 else left.value / right.value
            value = float(math.floor(value)) if sign == "//" else value
            left = Quantity(
                value,
                _plus(left.dimension, right.dimension, turn),
                left.has_unit or right.has_unit,
            )
        return left

    def lone_unit(self) -> Quantity | None:
        """The unit after a sign, as in `3 FLOP / byte`."""
        kind, token = self.peek()
        if kind != "unit" or unit_of(token).dimension == NONE:
            return None
        self.at += 1
        unit = unit_of(token, self.swap)
        return Quantity(unit.factor, unit.dimension, True)

    def signed(self) -> Quantity:
        negative = False
        while sign := self.accept("+", "-"):
            negative ^= sign == "-"
        result = self.power()
        return result._replace(value=-result.value) if negative else result

    def power(self) -> Quantity:
        base = self.atom()
        if not self.accept("^", "**"):
            return base
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable(Text("too many powers", "乘方层数太多"))
        outer, self.raising = self.raising, True
        exponent = self.signed()
        self.depth, self.raising = self.depth - 1, outer
        if exponent.dimension != NONE or base.dimension != NONE:
            raise Unreadable(Text("a power of a unit", "单位不能乘方"))
        if abs(exponent.value) > MAX_EXPONENT and math.isfinite(exponent.value):
            raise Unreadable(TOO_LARGE)
        return self.with_unit(Quantity(math.pow(base.value, exponent.value)))

    def atom(self) -> Quantity:
        kind, token = self.peek()
        self.at += 1
        if kind == "number":
            self.at -= 1
            return self.with_unit(Quantity(self.plain_number()))
        if kind == "name":
            return self.with_unit(self.named(token))
        if token == "(":
            return self.with_unit(self.closed())
        if kind == "end":
            raise Unreadable(Text("ends too early", "没有写完"))
        raise Unreadable(cannot_read(token))

    def plain_number(self) -> float:
        token = self.peek()[1]
        self.at += 1
        if token.startswith("0,"):
            raise Unreadable(Text("write 0.5 with a point, not a comma", "小数点请写成 0.5"))
        value = float(token.replace(",", "").replace("_", ""))
        if math.isinf(value):
            raise Unreadable(TOO_LARGE)
        return value

    def myriads(self) -> float:
        """The factor of 万 and the like that stands here; 1 if none does."""
        factor = _MYRIADS.get(self.peek()[1], 0.0)
        self.at += bool(factor)
        return factor or 1.0

    def closed(self) -> Quantity:
        outer, self.raising = self.raising, False
        inner = self.sum()
        self.raising = outer
        if not self.accept(")"):
            kind, token = self.peek()
            if kind in ("number", "name") or token == "(":
                raise Unreadable(_no_sign(token))
            raise Unreadable(Text("a bracket is not closed", "有括号没有合上"))
        return inner

    def named(self, name: str) -> Quantity:
        if name in self.names:
            return Quantity(float(self.names[name]))
        if name not in _FUNCTIONS and name.lower() in (*_FUNCTIONS, *_CONSTANTS):
            name = name.lower()  # Exp, LN, E
        if name in _CONSTANTS:
            return Quantity(_CONSTANTS[name])
        if name == "frac":
            over, under = self.argument(name), self.argument(name)
            return Quantity(over.value / under.value)
        if name == "cdiv":
            return self.cdiv()
        if name in _FUNCTIONS:
            return Quantity(float(_FUNCTIONS[name](self.argument(name).value)))
        if name == "log":
            raise Unreadable(Text("write ln, log2 or log10", "请写 ln、log2 或 log10"))
        raise Unreadable(cannot_read(name))

    def cdiv(self) -> Quantity:
        """`cdiv(a, b)`: how many b it takes to hold a."""
        parts = []
        for sign in "(,":
            if not self.accept(sign):
                raise Unreadable(Text("write cdiv(a, b)", "请写成 cdiv(a, b)"))
            parts.append(self.sum())
        if not self.accept(")") or any(part.dimension != NONE for part in parts):
            raise Unreadable(Text("write cdiv(a, b)", "请写成 cdiv(a, b)"))
        return Quantity(float(math.ceil(parts[0].value / parts[1].value)))

    def argument(self, name: str) -> Quantity:
        if self.accept("("):
            inner = self.closed()
        elif self.peek()[0] == "number" or self.tokens[self.at : self.at + 1] == [("sign", "-")]:
            negative = self.accept("-")
            inner = self.atom()
            inner = inner._replace(value=-inner.value) if negative else inner
        else:
            raise Unreadable(Text(f"write {name}( … )", f"请写成 {name}( … )"))
        if inner.dimension != NONE:
            raise Unreadable(Text(f"{name} of a unit", f"{name} 里不能带单位"))
        return inner

    def with_unit(self, bare: Quantity) -> Quantity:
        if self.peek()[1] in _MYRIADS:
            bare = bare._replace(value=bare.value * self.myriads())
            while self.peek()[0] == "number":  # 1亿3421万7728
                rest = self.plain_number()
                bare = bare._replace(value=bare.value + rest * self.myriads())
        kind, token = self.peek()
        if kind != "unit" or self.raising:
            return bare
        if bare.has_unit:
            raise Unreadable(Text("two units in a row", "连写了两个单位"))
        self.at += 1
        unit = unit_of(token, self.swap)
        return Quantity(bare.value * unit.factor, unit.dimension, True)


def _plus(left: Dimension, right: Dimension, turn: int) -> Dimension:
    a, b, c = (x + turn * y for x, y in zip(left, right, strict=True))
    return a, b, c
