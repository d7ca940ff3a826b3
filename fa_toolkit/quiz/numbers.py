"""Read a number as people write it: `e^{2-4}`, `13.5%`, `2^20`, `3 MiB`, `１．５ 倍`. Never `eval`.

A recursive-descent parser over floats. Length, depth and exponents are capped, so any input ends at
once, and every outcome, good or bad, comes back as a `Reading`. Juxtaposition is never a product:
`2 pi` is refused, `2*pi` is read.

    sum     := product (('+' | '-') product)*
    product := sign (('*' | '/') sign)*
    sign    := ('+' | '-')* power
    power   := atom ('^' sign)?
    atom    := (number | name | name group | group) unit?
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from ..language import Text, say
from .units import NONE, SPELLINGS, Dimension, Unit

MAX_CHARS, MAX_DEPTH, MAX_TOKENS, MAX_EXPONENT = 200, 24, 80, 1000.0


class Reading(NamedTuple):
    """What was read: a value in base units with its dimension, or what could not be read.

    `has_unit` tells whether a unit (not only a bare number) was written.
    """

    value: float | None
    dimension: Dimension = NONE
    has_unit: bool = False
    problem: Text | str | None = None
    empty: bool = False


class _Unreadable(Exception):
    def __init__(self, problem: Text | str) -> None:
        super().__init__()
        self.problem = problem


class _Quantity(NamedTuple):
    value: float
    dimension: Dimension = NONE
    has_unit: bool = False


_FUNCTIONS = {
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
        parser = _Parser(_tokens(_normalised(written)), names or {})
        value, dimension, has_unit = parser.whole()
    except _Unreadable as unreadable:
        return Reading(None, problem=unreadable.problem)
    except OverflowError:
        return Reading(None, problem=_TOO_LARGE)
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


_TOO_LARGE = Text("too large a number", "数太大了")


def _plain(number: int | float) -> Reading:
    try:
        value = float(number)
    except OverflowError:
        return Reading(None, problem=_TOO_LARGE)
    if math.isnan(value):
        return Reading(None, problem=Text("not a number", "不是一个数"))
    return Reading(value)


def _normalised(written: str) -> str:
    text = _RAISED_RUN.sub(lambda run: f"^({run[0].translate(_RAISED)})", written)
    text = text.translate(_SAME)
    for char in text:  # ½ and the like would become 1/2 and join the digit before them
        if unicodedata.category(char) == "No" and not char.isdigit():
            raise _Unreadable(
                Text(f"write {char} with a slash, as 1/2", f"{char} 请用斜杠写，例如 1/2")
            )
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    for tex, plain in _TEX.items():
        text = text.replace(tex, f" {plain} " if plain else "")
    text = text.replace("负无穷", "-inf").replace("无穷大", "inf").replace("无穷", "inf")
    return _ABOUT.sub("", text).strip()


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].strip()
            if not rest:
                break
            raise _Unreadable(_cannot_read(rest))
        kind = str(match.lastgroup)
        token = match[kind]
        if kind == "unit" and token == "×" and text[match.end() :].strip():
            kind = "sign"  # between two numbers it multiplies, at the end it means "times"
        found.append((kind, "*" if kind == "sign" and token == "×" else token))
        at = match.end()
        if len(found) > MAX_TOKENS:
            raise _Unreadable(Text("too long a formula", "算式太长"))
    return found


def _cannot_read(rest: str) -> Text:
    part = rest[:12] + ("…" if len(rest) > 12 else "")
    return Text(f"cannot read “{part}” as a number", f"“{part}” 读不成数")


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], names: Mapping[str, float]) -> None:
        self.tokens, self.names, self.at, self.depth = tokens, names, 0, 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def accept(self, *signs: str) -> str:
        kind, token = self.peek()
        if kind == "sign" and token in signs:
            self.at += 1
            return token
        return ""

    def whole(self) -> _Quantity:
        result = self.sum()
        kind, token = self.peek()
        if kind == "end":
            return result
        if token == ",":
            raise _Unreadable(Text("write 0.5 with a point, not a comma", "小数点请写成 0.5"))
        if token == ")":
            raise _Unreadable(Text("a bracket too many", "多了一个括号"))
        raise _Unreadable(
            Text(f"write a sign before “{token}”, as 2*pi", f"“{token}” 前请写运算符，例如 2*pi")
        )

    def sum(self) -> _Quantity:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unreadable(Text("too many brackets", "括号层数太多"))
        left = self.product()
        while sign := self.accept("+", "-"):
            right = self.product()
            if left.dimension != right.dimension:
                raise _Unreadable(
                    Text("adds two different units", "把两种不同的单位加在了一起")
                )
            value = left.value + right.value if sign == "+" else left.value - right.value
            left = _Quantity(value, left.dimension, left.has_unit or right.has_unit)
        self.depth -= 1
        return left

    def product(self) -> _Quantity:
        left = self.signed()
        while sign := self.accept("*", "/"):
            right = self.signed()
            turn = 1 if sign == "*" else -1
            value = left.value * right.value if turn == 1 else left.value / right.value
            left = _Quantity(
                value,
                _plus(left.dimension, right.dimension, turn),
                left.has_unit or right.has_unit,
            )
        return left

    def signed(self) -> _Quantity:
        negative = False
        while sign := self.accept("+", "-"):
            negative ^= sign == "-"
        result = self.power()
        return result._replace(value=-result.value) if negative else result

    def power(self) -> _Quantity:
        base = self.atom()
        if not self.accept("^", "**"):
            return base
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unreadable(Text("too many powers", "乘方层数太多"))
        exponent = self.signed()
        self.depth -= 1
        if exponent.dimension != NONE or base.dimension != NONE:
            raise _Unreadable(Text("a power of a unit", "单位不能乘方"))
        if abs(exponent.value) > MAX_EXPONENT and math.isfinite(exponent.value):
            raise _Unreadable(_TOO_LARGE)
        return self.with_unit(_Quantity(math.pow(base.value, exponent.value)))

    def atom(self) -> _Quantity:
        kind, token = self.peek()
        self.at += 1
        if kind == "number":
            if token.startswith("0,"):
                raise _Unreadable(Text("write 0.5 with a point, not a comma", "小数点请写成 0.5"))
            value = float(token.replace(",", "").replace("_", ""))
            if math.isinf(value):
                raise _Unreadable(_TOO_LARGE)
            return self.with_unit(_Quantity(value))
        if kind == "name":
            return self.with_unit(self.named(token))
        if token == "(":
            return self.with_unit(self.closed())
        if kind == "end":
            raise _Unreadable(Text("ends too early", "没有写完"))
        raise _Unreadable(_cannot_read(token))

    def closed(self) -> _Quantity:
        inner = self.sum()
        if not self.accept(")"):
            raise _Unreadable(Text("a bracket is not closed", "有括号没有合上"))
        return inner

    def named(self, name: str) -> _Quantity:
        if name in self.names:
            return _Quantity(float(self.names[name]))
        if name in _CONSTANTS:
            return _Quantity(_CONSTANTS[name])
        if name == "frac":
            over, under = self.argument(name), self.argument(name)
            return _Quantity(over.value / under.value)
        if name in _FUNCTIONS:
            return _Quantity(float(_FUNCTIONS[name](self.argument(name).value)))
        if name == "log":
            raise _Unreadable(Text("write ln, log2 or log10", "请写 ln、log2 或 log10"))
        raise _Unreadable(_cannot_read(name))

    def argument(self, name: str) -> _Quantity:
        if self.accept("("):
            inner = self.closed()
        elif name == "√" and self.peek()[0] == "number":
            inner = self.atom()
        else:
            raise _Unreadable(Text(f"write {name}( … )", f"请写成 {name}( … )"))
        if inner.dimension != NONE:
            raise _Unreadable(Text(f"{name} of a unit", f"{name} 里不能带单位"))
        return inner

    def with_unit(self, bare: _Quantity) -> _Quantity:
        if self.peek()[1] in _MYRIADS:
            bare = bare._replace(value=bare.value * _MYRIADS[self.peek()[1]])
            self.at += 1
        kind, token = self.peek()
        if kind != "unit":
            return bare
        if bare.has_unit:
            raise _Unreadable(Text("two units in a row", "连写了两个单位"))
        self.at += 1
        unit: Unit = SPELLINGS[token]
        return _Quantity(bare.value * unit.factor, unit.dimension, True)


def _plus(left: Dimension, right: Dimension, turn: int) -> Dimension:
    a, b, c = (x + turn * y for x, y in zip(left, right, strict=True))
    return a, b, c


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
