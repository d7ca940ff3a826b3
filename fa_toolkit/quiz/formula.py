"""The formula a learner types, from characters to a value with its unit. Never `eval`.

A recursive-descent parser over floats with caps on depth, length and exponents, so that any input
ends at once. Juxtaposition is never a product: `2 pi` is refused, `2*pi` is read.

    sum     := product (('+' | '-') product)*
    product := sign (('*' | '/') sign)*
    sign    := ('+' | '-')* power
    power   := atom ('^' sign)? unit?
    atom    := (number | name | name group | group) unit?
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..language import Text
from .units import NONE, SPELLINGS, Dimension, Unit

MAX_DEPTH, MAX_TOKENS, MAX_EXPONENT = 24, 80, 1000.0


class Unreadable(Exception):  # noqa: N818  (a finding on its way to a reading)
    """What cannot be read, as a sentence."""

    def __init__(self, problem: Text | str) -> None:
        super().__init__()
        self.problem = problem


class Quantity(NamedTuple):
    """A value in base units, its dimension, and whether a unit was written."""

    value: float
    dimension: Dimension = NONE
    has_unit: bool = False


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "√": math.sqrt, "exp": math.exp, "ln": math.log, "log2": math.log2,
    "log10": math.log10, "abs": abs,
}  # fmt: skip
_CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi, "inf": math.inf, "∞": math.inf}
_MYRIADS = {"千": 1e3, "万": 1e4, "亿": 1e8}
_SAME = str.maketrans(
    {
        "−": "-", "–": "-", "—": "-", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/",
        "⁄": "/", "。": ".", "[": "(", "]": ")", "{": "(", "}": ")", "\u00a0": " ",
    }
)  # fmt: skip
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾", "0123456789+-()")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾]+")
_TEX = {r"\frac": "frac", r"\sqrt": "√", r"\times": "*", r"\cdot": "*", r"\%": "%", r"\pi": "π",
        r"\exp": "exp", r"\ln": "ln", r"\infty": "∞", r"\left": "", r"\right": ""}  # fmt: skip
_ABOUT = re.compile(r"^\s*(?:≈|~|=|≃|∼|大约|约|about\b|approx\.?)\s*")
_UNIT_NAMES = "|".join(re.escape(name) for name in sorted(SPELLINGS, key=len, reverse=True))
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number>(?:\d+(?:[,_]\d{{3}})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<unit>(?:{_UNIT_NAMES})(?![A-Za-z0-9]))
      | (?P<name>[A-Za-zπ][A-Za-z_π]*\d*|[√∞千万亿])
      | (?P<sign>\*\*|[-+*/^()×,])
    )""",
    re.VERBOSE,
)


TOO_LARGE = Text("too large a number", "数太大了")


def normalised(written: str) -> str:
    """One spelling for every sign: full-width, superscript, Chinese and TeX forms become ASCII."""
    text = _RAISED_RUN.sub(lambda run: f"^({run[0].translate(_RAISED)})", written)
    text = text.translate(_SAME)
    for char in text:  # ½ and the like would become 1/2 and join the digit before them
        if unicodedata.category(char) == "No" and not char.isdigit():
            raise Unreadable(
                Text(f"write {char} with a slash, as 1/2", f"{char} 请用斜杠写，例如 1/2")
            )
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    for tex, plain in _TEX.items():
        text = text.replace(tex, f" {plain} " if plain else "")
    text = text.replace("负无穷", "-inf").replace("无穷大", "inf").replace("无穷", "inf")
    return _ABOUT.sub("", text).strip()


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, token) in order; kinds are number, unit, name and sign."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].strip()
            if not rest:
                break
            raise Unreadable(_cannot_read(rest))
        kind = str(match.lastgroup)
        token = match[kind]
        if kind == "unit" and token == "×" and text[match.end() :].strip():
            kind = "sign"  # between two numbers it multiplies, at the end it means "times"
        found.append((kind, "*" if kind == "sign" and token == "×" else token))
        at = match.end()
        if len(found) > MAX_TOKENS:
            raise Unreadable(Text("too long a formula", "算式太长"))
    return found


def _cannot_read(rest: str) -> Text:
    part = rest[:12] + ("…" if len(rest) > 12 else "")
    return Text(f"cannot read “{part}” as a number", f"“{part}” 读不成数")


class Parser:
    """Reads one list of tokens; `whole` is the entrance."""

    def __init__(self, tokens: list[tuple[str, str]], names: Mapping[str, float]) -> None:
        self.tokens, self.names, self.at, self.depth = tokens, names, 0, 0
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
        raise Unreadable(
            Text(f"write a sign before “{token}”, as 2*pi", f"“{token}” 前请写运算符，例如 2*pi")
        )

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
        while sign := self.accept("*", "/"):
            right = self.signed()
            turn = 1 if sign == "*" else -1
            value = left.value * right.value if turn == 1 else left.value / right.value
            left = Quantity(
                value,
                _plus(left.dimension, right.dimension, turn),
                left.has_unit or right.has_unit,
            )
        return left

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
            if token.startswith("0,"):
                raise Unreadable(Text("write 0.5 with a point, not a comma", "小数点请写成 0.5"))
            value = float(token.replace(",", "").replace("_", ""))
            if math.isinf(value):
                raise Unreadable(TOO_LARGE)
            return self.with_unit(Quantity(value))
        if kind == "name":
            return self.with_unit(self.named(token))
        if token == "(":
            return self.with_unit(self.closed())
        if kind == "end":
            raise Unreadable(Text("ends too early", "没有写完"))
        raise Unreadable(_cannot_read(token))

    def closed(self) -> Quantity:
        outer, self.raising = self.raising, False
        inner = self.sum()
        self.raising = outer
        if not self.accept(")"):
            raise Unreadable(Text("a bracket is not closed", "有括号没有合上"))
        return inner

    def named(self, name: str) -> Quantity:
        if name in self.names:
            return Quantity(float(self.names[name]))
        if name in _CONSTANTS:
            return Quantity(_CONSTANTS[name])
        if name == "frac":
            over, under = self.argument(name), self.argument(name)
            return Quantity(over.value / under.value)
        if name in _FUNCTIONS:
            return Quantity(float(_FUNCTIONS[name](self.argument(name).value)))
        if name == "log":
            raise Unreadable(Text("write ln, log2 or log10", "请写 ln、log2 或 log10"))
        raise Unreadable(_cannot_read(name))

    def argument(self, name: str) -> Quantity:
        if self.accept("("):
            inner = self.closed()
        elif name == "√" and self.peek()[0] == "number":
            inner = self.atom()
        else:
            raise Unreadable(Text(f"write {name}( … )", f"请写成 {name}( … )"))
        if inner.dimension != NONE:
            raise Unreadable(Text(f"{name} of a unit", f"{name} 里不能带单位"))
        return inner

    def with_unit(self, bare: Quantity) -> Quantity:
        if self.peek()[1] in _MYRIADS:
            bare = bare._replace(value=bare.value * _MYRIADS[self.peek()[1]])
            self.at += 1
        kind, token = self.peek()
        if kind != "unit" or self.raising:
            return bare
        if bare.has_unit:
            raise Unreadable(Text("two units in a row", "连写了两个单位"))
        self.at += 1
        unit: Unit = SPELLINGS[token]
        return Quantity(bare.value * unit.factor, unit.dimension, True)


def _plus(left: Dimension, right: Dimension, turn: int) -> Dimension:
    a, b, c = (x + turn * y for x, y in zip(left, right, strict=True))
    return a, b, c
