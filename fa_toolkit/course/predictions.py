"""A guess beside the number it was a guess of. Keeps nothing: a prediction is not marked."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from ..errors import ArgumentError
from ..language import Text, say
from ..quiz.numbers import Reading, read_number, show
from ..quiz.units import UNITS
from .cards import Card

_CLOSE = 0.05  # relative: as near as a guess need come

_DOTS = ("", "...", "…")  # nothing was put in their place
_TEXTS = {
    "none": Text(
        "No guess yet. Put a number in place of the dots and run both cells; the answer waits.",
        "还没有猜。把省略号换成一个数，两格都运行一遍；答案在这里等你。",
    ),
    "unread": Text(
        "Not read as a number: {problem}. Write one, such as 0.5.",
        "没读成数：{problem}。请写一个数，例如 0.5。",
    ),
    "close": Text("You said {guess}. It is {value}.", "你猜 {guess}，实际是 {value}。"),
    "low": Text(
        "You said {guess}. It is {value}: {times} times as much.",
        "你猜 {guess}，实际是 {value}，是你猜的 {times} 倍。",
    ),
    "high": Text(
        "You said {guess}. It is {value}: your guess was {times} times too large.",
        "你猜 {guess}，实际是 {value}，你猜的是它的 {times} 倍。",
    ),
    "other": Text("You said {guess}. It is {value}.", "你猜 {guess}，实际是 {value}。"),
}


def sentence(guess: object, value: float, unit: str = "") -> str:
    """What to say of `guess` once the number it was a guess of is known."""
    if guess is ... or guess is None or (isinstance(guess, str) and guess.strip() in _DOTS):
        return say(_TEXTS["none"])
    if getattr(guess, "size", None) == 1 or getattr(guess, "ndim", None) == 0:
        guess = guess.item()  # type: ignore[attr-defined]
    reading = read_number(guess)
    if reading.value is None:
        return say(_TEXTS["unread"], problem=say(reading.problem or ""))
    said, true = _in_unit(reading, unit), float(value)
    fields: dict[str, Any] = {
        "guess": f"{show(said)} {unit}".strip(),
        "value": f"{show(true)} {unit}".strip(),
    }
    if abs(said - true) <= _CLOSE * abs(true):
        return say(_TEXTS["close"], **fields)
    if said <= 0 or true <= 0 or not (math.isfinite(said) and math.isfinite(true)):
        return say(_TEXTS["other"], **fields)
    kind, ratio = ("low", true / said) if said < true else ("high", said / true)
    return say(_TEXTS[kind], times=f"{ratio:.3g}", **fields)


def _in_unit(reading: Reading, unit: str) -> float:
    """What was guessed, counted in `unit`: "2 MiB" beside a number of MiB is 2."""
    value = reading.value
    assert value is not None
    known = UNITS.get(unit)
    if known is None or not reading.has_unit:
        return value
    fitting = [number for number, kind in reading.meanings if kind == known.dimension]
    return fitting[0] / known.factor if fitting else value


class Prediction(Card):
    """The sentence as a card, with the number as text and its unit beside it."""

    def __init__(self, text: str, value: float, unit: str) -> None:
        super().__init__(f"<p>{escape(text)}</p>", text)
        self.value, self.unit = show(value), unit


def prediction_card(guess: object, value: Any, unit: str = "") -> Prediction:
    """The sentence as a card.

    Raises:
        ArgumentError: if `value` is not a number.
    """
    try:
        true = float(value)
    except (TypeError, ValueError) as error:
        expected = Text("a number", "一个数")
        raise ArgumentError("value", expected=expected, got=repr(value)[:60]) from error
    return Prediction(sentence(guess, true, unit), true, unit)
