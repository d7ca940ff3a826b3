"""Errors of a quiz file, as sentences that name file, line, field and what to write there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ..errors import BankError
from ..language import Text
from .models import KINDS
from .yaml_source import Source

Field = Sequence[str | int]

_BILINGUAL = '{en: "...", zh: "..."}'
_SHAPES: Mapping[str, Text] = {
    "string_type": Text(
        "a text (in quotes if YAML reads it as something else)", "文字（必要时加引号）"
    ),
    "string_too_short": Text("a text that is not empty", "非空的文字"),
    "too_short": Text("more entries", "更多条目"),
    "too_long": Text("fewer entries", "更少条目"),
    "int_type": Text("a whole number", "整数"),
    "int_parsing": Text("a whole number", "整数"),
    "bool_type": Text("true or false", "true 或 false"),
    "bool_parsing": Text("true or false", "true 或 false"),
    "float_type": Text("a number", "数"),
    "float_parsing": Text("a number", "数"),
    "list_type": Text("a list (lines that start with `- `)", "列表（每行以 `- ` 开头）"),
    "dict_type": Text("a mapping (`name: value`)", "映射（`名: 值`）"),
}


def from_pydantic(source: Source, error: ValidationError) -> BankError:
    """The first fault of a file as one error; the hint says how many more there are."""
    first, *others = each(source, error)
    if others:
        more = Text(f" ({len(others)} more after this one)", f"（之后还有 {len(others)} 处）")
        first_one = (
            Text("mend this one first", "先改这一处")
            if not isinstance(first.hint, Text)
            else first.hint
        )
        first.hint = Text(first_one.en + more.en, first_one.zh + more.zh)
    return first


def each(source: Source, error: ValidationError) -> list[BankError]:
    """Every fault of a file as an error of its own."""
    return [_one(source, dict(fault)) for fault in error.errors()]


def _one(source: Source, fault: dict[str, Any]) -> BankError:
    field = _real(source.data, fault["loc"])
    expected, got, hint = _sentence(fault, field)
    if fault["type"].startswith("union_tag"):
        field = (*field, "kind")
    return BankError(source.place(field), expected=expected, got=got, hint=hint)


def _real(data: Any, location: Field) -> tuple[str | int, ...]:
    """Drop the names of union members that pydantic puts into a location."""
    kept: list[str | int] = []
    for at, step in enumerate(location):
        inside = (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and isinstance(step, int) and step < len(data)
        )
        if inside:
            data = data[step]
            kept.append(step)
        elif at == len(location) - 1 and step not in KINDS and step not in ("Call", "float", "str"):
            kept.append(step)  # a field that is missing
    return tuple(kept)


def _sentence(fault: dict[str, Any], field: Field) -> tuple[Text, Text | str, Text | str]:
    kind, context = str(fault["type"]), fault.get("ctx", {})
    got: Text | str = repr(fault.get("input"))[:80]
    name = str(field[-1]) if field else ""
    if kind == "missing":
        return (
            Text(f"the field `{name}`", f"字段 `{name}`"),
            Text("nothing", "没有写"),
            Text(f"add `{name}: {_example(name)}`", f"补上 `{name}: {_example(name)}`"),
        )
    if kind == "extra_forbidden":
        return (
            Text("only fields this kind of question has", "这种题型才有的字段"),
            f"`{name}`",
            Text("remove it or correct its name", "删掉，或改正字段名"),
        )
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        allowed = " | ".join(KINDS)
        given = fault.get("input")
        written = repr(given.get("kind", "nothing"))[:80] if isinstance(given, dict) else got
        return Text(allowed, allowed), written, ""
    if kind == "bank":
        return Text(context["en"], context["zh"]), Text("something else", "不是这样"), ""
    if kind in ("model_type", "model_attributes_type"):
        what = Text("a mapping of fields", "由字段组成的映射")
        if name in ("prompt", "explain", "text", "why", "title", "left", "right", "follow_up"):
            what = Text(_BILINGUAL, _BILINGUAL)
        return what, got, ""
    if kind == "literal_error":
        allowed = str(context.get("expected", ""))
        return Text(allowed, allowed.replace(" or ", " 或 ")), got, ""
    message = str(fault["msg"])
    return _SHAPES.get(kind, Text(message, message)), got, ""


def _example(name: str) -> str:
    samples = {"en": '"..."', "zh": '"..."', "correct": "true", "claims": "[S11]", "see": '"03"'}
    samples |= {"kind": "choice", "level": "core", "topic": "online-softmax", "id": "Q-03-name"}
    samples |= {"verdict": "holds", "choices": "[...]", "items": "[...]", "pairs": "[...]"}
    samples |= {"answer": "{call: ..., args: {...}}", "columns": "[m, l, factor]", "chapter": "3"}
    return samples.get(name, _BILINGUAL)


def unknown(source: Source, field: Field, name: str, known: Iterable[str], home: str) -> BankError:
    """A topic or claim that its list does not hold."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:6]
    return BankError(
        source.place(field),
        expected=Text(f"an id listed in {home}", f"{home} 里列出的 id"),
        got=repr(name),
        hint=", ".join(near),
    )


def repeated(source: Source, field: Field, name: str) -> BankError:
    """An id that occurs twice."""
    return BankError(
        source.place(field),
        expected=Text("a name used nowhere else", "别处没有用过的名字"),
        got=Text(f"{name!r} again", f"又一次出现 {name!r}"),
    )


def wrong_chapter(source: Source, field: Field, name: str, chapter: int) -> BankError:
    """A question id whose number is not that of its file."""
    return BankError(
        source.place(field),
        expected=f"Q-{chapter:02d}-...",
        got=repr(name),
        hint=Text("ids carry the number of their chapter", "id 里的数字就是章号"),
    )
