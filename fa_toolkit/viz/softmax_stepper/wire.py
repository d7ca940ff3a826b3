"""A run as the picture in the browser receives it: finite numbers for shapes, text for labels."""

from __future__ import annotations

from typing import Any

from ...language import Text, say
from ..numbers import plain
from .frames import Frame, Run
from .words import UI, caption, formula

PRESETS: tuple[tuple[Text, str, str], ...] = (
    (Text("1, 2, 3, 4: the maximum grows", "1, 2, 3, 4：最大值变大"), "1, 2, 3, 4", "2"),
    (Text("4, 3, 2, 1: it stays", "4, 3, 2, 1：最大值不变"), "4, 3, 2, 1", "2"),
    (Text("1000, 1001: overflow", "1000, 1001：溢出"), "1000, 1001", "1"),
)


def labels() -> dict[str, str]:
    """Every fixed word of the widget, in the language in force."""
    return {name: say(text) for name, text in UI.items()}


def presets() -> list[dict[str, str]]:
    """What a click on a preset types."""
    return [{"label": say(label), "x": x, "blocks": blocks} for label, x, blocks in PRESETS]


def payload(run: Run) -> dict[str, Any]:
    """Everything the browser draws a run from, ready for JSON."""
    stops = [sum(run.blocks[: i + 1]) for i in range(len(run.blocks))]
    return {
        "x": run.x,
        "labels": [plain(v, 4) for v in run.x],
        "stops": stops,
        "whole": run.whole,
        "scale_l": max(frame.l or 0.0 for frame in run.frames),
        "frames": [_frame(run, frame) for frame in run.frames],
    }


def _frame(run: Run, frame: Frame) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kind": frame.kind,
        "block": frame.block,
        "start": frame.start,
        "stop": frame.stop,
        "m": frame.m,
        "l": frame.l,
        "m_old": frame.m_old,
        "l_old": frame.l_old,
        "factor": frame.factor,
        "terms": frame.terms,
        "term_labels": [_small(t) for t in frame.terms],
        "m_label": _small(frame.m),
        "l_label": _small(frame.l),
        "caption": caption(run, frame),
        "formula": formula(run, frame),
        "rules": _rules(run, frame),
    }
    if frame.kind == "correct":
        out["asked"] = {
            "caption": caption(run, frame, asked=True),
            "formula": formula(run, frame, asked=True),
        }
    return out


def _rules(run: Run, frame: Frame) -> list[dict[str, Any]]:
    """The right rule and the two wrong ones: their sums so far, and what they lead to."""
    sums = {"multiply": frame.l, "subtract": frame.subtract, "no_max": frame.no_max}
    rows = []
    for name, value in sums.items():
        drawn = name != "no_max" and value is not None
        rows.append(
            {
                "name": name,
                "value": value if drawn else None,
                "text": _small(value),
                "note": _note(run, frame, name) if frame.kind == "done" else "",
            }
        )
    return rows


def _note(run: Run, frame: Frame, rule: str) -> str:
    """What the probabilities add up to under a rule."""
    if rule == "multiply":
        return "Σp = 1"
    if rule == "no_max":
        finite = frame.no_max is not None and 0 < frame.no_max < float("inf")
        if finite:
            return "Σp = 1"
        return "∞ / ∞ = nan" if frame.no_max else "0 / 0 = nan"
    if not frame.subtract:
        return say(Text("divides by 0", "除以 0"))
    assert frame.l is not None
    return f"Σp = {plain(frame.l / frame.subtract, 3)}"


def _small(value: float | None) -> str:
    if value is None:
        return ""
    return plain(value, 4) if value == 0 or abs(value) >= 1e-4 else f"{value:.0e}"
