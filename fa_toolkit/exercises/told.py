"""A report as JSON and back: how it travels between processes and into a file."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ..language import Text
from ..problem import AttentionProblem, TileShape
from .report import Departure, Diagnosis, Finding, Report, Warning


def tell(value: Any) -> Any:
    """Dataclasses as objects, texts as {"en", "zh"}, tuples as lists."""
    if isinstance(value, Text):
        return {"en": value.en, "zh": value.zh}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: tell(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, (tuple, list)):
        return [tell(item) for item in value]
    return value


def read(told: dict[str, Any]) -> Report:
    """The report that `tell` was given."""
    return Report(
        told["exercise"],
        text(told["title"]),
        told["outcome"],
        tuple(
            Finding(f["id"], f["status"], text(f["note"]), _pair(f["errors"]))
            for f in told["findings"]
        ),
        tuple(
            Diagnosis(d["id"], text(d["text"]), _passage(d["passage"])) for d in told["diagnosis"]
        ),
        text(told["note"]),
        _departure(told["departure"]),
        tuple(Warning(w["id"], w["line"], text(w["text"])) for w in told["warnings"]),
        text(told["unchecked"]),
        told["printed"],
    )


def text(told: Any) -> Any:
    """A text in both languages, or a plain string."""
    return Text(told["en"], told["zh"]) if isinstance(told, dict) else told


def _pair(told: Any) -> Any:
    return None if told is None else tuple(told)


def _passage(told: Any) -> Any:
    return None if told is None else (told[0], text(told[1]))


def _departure(told: Any) -> Departure | None:
    if told is None:
        return None
    return Departure(
        told["output"],
        text(told["label"]),
        tuple(told["place"]),
        AttentionProblem(**told["problem"]),
        TileShape(**told["tile"]),
        (told["rows"][0], told["rows"][1]),
        _pair(told["keys"]),
    )
