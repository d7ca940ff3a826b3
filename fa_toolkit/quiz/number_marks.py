"""The graders of numbers and of tables of numbers. Pure; keys come from `keys`."""

from __future__ import annotations

import math
from typing import Any

from ..language import Language, Text, say
from .keys import key_value, trace_table
from .marks import _percent, empty, too_long, unreadable
from .models import NumberQuestion, TraceQuestion
from .numbers import MAX_CHARS, Reading, read_number, show, spoken
from .units import NONE, UNITS, describe
from .verdict import Item, Verdict

_WRITE = Text("Write a number or a formula.", "请写一个数或算式。")


def close(value: float, key: float, tolerance: float) -> bool:
    """Whether `value` is `key` within a relative tolerance; zero and infinity must be met."""
    if math.isinf(key) or math.isinf(value):
        return value == key
    return abs(value - key) <= (tolerance * abs(key) if key else 1e-9)


def number(question: NumberQuestion, answer: Any, lang: Language) -> Verdict:
    """100 within the tolerance, else 0 with the feedback of the mistake that gives that value."""
    if isinstance(answer, list) and len(answer) < 2:
        answer = answer[0] if answer else None
    reading = _read(answer)
    key = key_value(question.answer, question.unit)
    said = answer.strip() if isinstance(answer, str) else show(float(answer))
    meant = _meant(reading, question.unit)
    hit = any(close(value, key, question.tolerance) for value in meant)
    claims = tuple(question.claims)
    true = Item("value", in_unit(key, question.unit), claims=claims)
    wrong: Item | None = None
    misconceptions: list[Item] = []
    if not hit:
        for at, mistake in enumerate(question.mistakes):
            known = key_value(mistake.value, question.unit)
            if any(close(value, known, question.tolerance) for value in meant):
                why = mistake.why[lang]
                misconceptions.append(Item(f"mistake-{at}", said, claims=claims, why=why))
                break
        else:
            wrong = Item(
                "value", said, claims=claims, why=say(_slip(reading, meant, key, question))
            )
    best = meant[0] if meant else reading.value
    return Verdict(
        question.id,
        lang,
        "ok",
        score=100 if hit else 0,
        credited=(true,) if hit else (),
        missing=() if hit else (true,),
        contradicted=(wrong,) if wrong else (),
        misconceptions=tuple(misconceptions),
        said=said,
        arithmetic=say(
            Text("within {t} of the value", "与正确值相差不到 {t}")
            if hit
            else Text("more than {t} from the value", "与正确值相差超过 {t}"),
            t=f"{100 * question.tolerance:.3g} %",
        ),
        details={
            "value": in_unit(key, question.unit),
            "read": in_unit(best, question.unit) if meant and best is not None else "",
        },
    )


def _read(answer: Any) -> Reading:
    if isinstance(answer, str) and len(answer) > MAX_CHARS:
        raise too_long(MAX_CHARS)
    reading = read_number(answer)
    if reading.empty:
        raise empty(_WRITE)
    if reading.value is None:
        what = spoken(reading.problem)
        raise unreadable(Text(f"Not read as a number: {what}.", f"没读成数：{what}。"))
    return reading


def _meant(reading: Reading, unit: str | None) -> list[float]:
    """The values in base units an answer may mean; none if its unit is of another kind."""
    value = reading.value
    assert value is not None
    asked = NONE if unit is None else UNITS[unit].dimension
    if reading.has_unit:
        return [number for number, dimension in reading.meanings if dimension == asked]
    if unit == "%":
        return [value / 100, value]
    return [value * (1.0 if unit is None else UNITS[unit].factor)]


def in_unit(value: float, unit: str | None) -> str:
    """A value in base units as the question writes it: `13.53 %`, `2,228,224 B`."""
    if unit is None:
        return show(value)
    return f"{show(value / UNITS[unit].factor)} {'×' if unit == 'x' else unit}"


def _slip(reading: Reading, meant: list[float], key: float, question: NumberQuestion) -> Text:
    """What kind of slip a wrong value looks like, if it looks like one."""
    if not meant:
        asked = describe(NONE if question.unit is None else UNITS[question.unit].dimension)
        got = describe(reading.dimension)
        return Text(
            f"{got.en} was given, {asked.en} was asked", f"给的是{got.zh}，问的是{asked.zh}"
        )
    value = meant[0]
    if key and value and math.isfinite(key) and math.isfinite(value):
        ratio = value / key
        tolerance = min(question.tolerance, 0.01)
        for power in (1, 2, 3, -1, -2, -3):
            if close(ratio, 1000.0**power, tolerance) or close(ratio, 1024.0**power, tolerance):
                return Text("the prefix of the unit is off (K, M, G)", "单位的前缀错了（K、M、G）")
            if question.unit and close(ratio, 1.024**power, 0.002):
                return Text(
                    "1000 and 1024 were mixed up (KB and KiB)", "1000 与 1024 混用了（KB 与 KiB）"
                )
        if close(ratio, -1.0, tolerance):
            return Text("the sign is wrong", "符号反了")
        if close(value * key, 1.0, tolerance) and question.unit is None:
            return Text("this is one over the value", "这是正确值的倒数")
        if close(ratio, 2.0, tolerance) or close(ratio, 0.5, tolerance):
            return Text("off by a factor of two", "差了两倍")
    return Text("", "")


def trace(question: TraceQuestion, answer: Any, lang: Language) -> Verdict:
    """Right cells, of all cells that were asked."""
    table = trace_table(question)
    written = _cells(answer, question, len(table))
    asked = [
        (row, column)
        for row in range(len(table))
        for column in question.columns
        if (row, column) not in question.shown
    ]
    if not any(_filled(written.get(cell)) for cell in asked):
        raise empty(Text("Fill in at least one cell.", "请至少填一格。"))
    credited: list[Item] = []
    missing: list[Item] = []
    contradicted: list[Item] = []
    cells = []
    for row, column in asked:
        where = f"{row}.{column}"
        key, entry = table[row][column], written.get((row, column))
        label = f"{row_name(question, row, lang)}, {column}"
        text = f"{label} = {show(key)}"
        item = Item(where, text, claims=tuple(question.claims), why=question.feedback[column][lang])
        hit = False
        if not _filled(entry):
            missing.append(item)
        else:
            hit = close(_cell_value(entry, label), key, question.tolerance)
            (credited if hit else contradicted).append(item)
        said = entry if isinstance(entry, str) else "" if entry is None else show(float(entry))
        cells.append({"cell": where, "said": said.strip(), "right": show(key), "hit": hit})
    return Verdict(
        question.id,
        lang,
        "ok",
        score=_percent(len(credited), len(asked)),
        credited=tuple(credited),
        missing=tuple(missing),
        contradicted=tuple(contradicted),
        said="; ".join(f"{c['cell']} = {c['said']}" for c in cells if c["said"]),
        arithmetic=say(
            Text("{hits} of {all} cells right", "{all} 格里对了 {hits} 格"),
            hits=len(credited),
            all=len(asked),
        ),
        details={"cells": cells, "whys": _column_whys(contradicted + missing, question, lang)},
    )


def row_name(question: TraceQuestion, row: int, lang: Language) -> str:
    """The label of a row: the author's, or "block 1" and so on."""
    if question.rows is not None and row < len(question.rows):
        return question.rows[row][lang]
    return f"第 {row + 1} 块" if lang == "zh" else f"block {row + 1}"


def _filled(entry: Any) -> bool:
    return entry is not None and not (isinstance(entry, str) and not entry.strip())


def _cell_value(entry: Any, label: str) -> float:
    reading = read_number(entry)
    if reading.value is None or reading.dimension != NONE:
        what = spoken(reading.problem) or say(Text("it carries a unit", "带了单位"))
        raise unreadable(Text(f"{label}: {what}.", f"{label}：{what}。"))
    return reading.value


def _cells(answer: Any, question: TraceQuestion, rows: int) -> dict[tuple[int, str], Any]:
    if answer in (None, "", []):
        return {}
    found: dict[tuple[int, str], Any] = {}
    if isinstance(answer, list):
        for at, row in enumerate(answer[:rows]):
            named = zip(question.columns, row, strict=False) if isinstance(row, list) else ()
            found |= {(at, c): v for c, v in (row.items() if isinstance(row, dict) else named)}
    elif isinstance(answer, dict):
        for where, value in answer.items():
            row, _, column = where.partition(".")
            if row.isdecimal() and len(row) < 4:
                found[(int(row), column)] = value
    if not found or any(isinstance(v, (list, dict)) for v in found.values()):
        raise unreadable(Text("Fill in the table.", "请填表。"))
    return found


def _column_whys(wrong: list[Item], question: TraceQuestion, lang: Language) -> dict[str, str]:
    columns = {item.id.partition(".")[2] for item in wrong}
    return {name: question.feedback[name][lang] for name in question.columns if name in columns}
