"""A right answer is right however a person writes it, for every number of the course's own bank."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.keys import key_value
from fa_toolkit.quiz.models import NumberQuestion
from fa_toolkit.quiz.units import UNITS

NUMBERS = [q for q in load_bank().questions.values() if isinstance(q, NumberQuestion)]
_FULL_WIDTH = str.maketrans("0123456789./()", "０１２３４５６７８９．／（）")


def writings(value: float, unit: str | None) -> Iterator[str]:
    """`value`, counted in `unit`, in as many ways as we have seen people use."""
    plain, half = repr(value), f"{2 * value!r}/2"
    bare = [plain, half, f"({half})", f"${plain}$", f"= {plain}", f"约 {plain}", f"{plain} 左右",
            f"x = {plain}", f"{half} = {plain}", f"{half} ≈ {plain}", f"{plain}.", f"{plain}。",
            f"`{plain}`", f"\\frac{{{2 * value!r}}}{{2}}", f"{2 * value!r} ÷ 2", f"{plain} × 1",
            f"{plain} x 1", half.translate(_FULL_WIDTH), f"{half} + 0"]  # fmt: skip
    yield from bare
    if value == int(value):
        yield from (f"{int(value)}", f"{int(value):,}", f"{int(value):,}".replace(",", " "))
    if unit is None:
        return
    sign = "×" if unit == "x" else unit
    yield from (f"{plain}{sign}", f"{plain} {sign}", f"{half} {sign}", f"({half}) {sign}",
                f"{half} {sign} = {plain} {sign}", f"${plain}$ {sign}", f"{plain} {sign}.",
                f"1/{1 / value!r} {sign}", f"{plain} {sign}".translate(_FULL_WIDTH))  # fmt: skip
    if "/" in unit:
        over, under = unit.split("/")
        word = {"s": "second"}.get(under, "byte")
        yield from (
            f"{plain} {over} / {under}",
            f"{plain} {over} per {word}",
            f"{half} {over}/{word}",
        )
    elif unit not in ("x", "B"):  # b are bits
        yield from (f"{plain} {unit.lower()}", f"{plain} {unit.upper()}")
    if unit == "FLOP":
        yield from (f"{plain} FLOPs", f"{plain} FLOPS", f"{plain} flops", f"{value / 1e6!r} MFLOPS")


@pytest.mark.parametrize("question", NUMBERS, ids=[q.id for q in NUMBERS])
def test_however_it_is_written(question: NumberQuestion) -> None:
    key = key_value(question.answer, question.unit)
    factor = 1.0 if question.unit is None else UNITS[question.unit].factor
    refused = [
        written
        for written in writings(key / factor, question.unit)
        if grade(question.id, written).score != 100
    ]
    assert not refused


@pytest.mark.parametrize("question", NUMBERS, ids=[q.id for q in NUMBERS])
def test_a_wrong_number_stays_wrong(question: NumberQuestion) -> None:
    key = key_value(question.answer, question.unit)
    factor = 1.0 if question.unit is None else UNITS[question.unit].factor
    let_through = [
        written
        for written in writings(1.7 * key / factor, question.unit)
        if grade(question.id, written).score
    ]
    assert not let_through
