"""A run as the picture in the browser receives it: finite numbers for shapes, text for labels."""

from __future__ import annotations

from math import isclose, isfinite
from typing import Any

from ...language import Text, say
from ..numbers import plain
from .frames import Frame, Run
from .words import UI, caption, formula

PRESETS: tuple[tuple[Text, str, str], ...] = (
    (Text("1, 2, 3, 4: the maximum grows", "1, 2, 3, 4：最大值变大"), "1, 2, 3, 4", "2"),
    (Text("4, 3, 2, 1: it stays", "4, 3, 2, 1：最大值不变"), "4, 3, 2, 1", "2"),
    (Text("1000, 1001: overflow", "1000, 1001：溢出"), "1000, 1001", "2"),
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
        "scale": _scale(run),
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


def _scale(run: Run) -> tuple[float, float]:
    """Ends of the axis of the three sums, the same at every step; a wrong sum may be cut off."""
    high = max(frame.l or 0.0 for frame in run.frames)
    sums = [s for frame in run.frames if (s := frame.subtract) is not None]
    return max(min(0.0, *sums), -high), min(max(high, *sums), 1.25 * high)


def _rules(run: Run, frame: Frame) -> list[dict[str, Any]]:
    """The right rule and the two wrong ones: their sums so far, and what they lead to."""
    sums = {"multiply": frame.l, "subtract": frame.subtract, "no_max": frame.no_max}
    signs = {
        "multiply": "✓",
        "subtract": "=" if isclose(frame.subtract or 0.0, frame.l or 0.0) else "✗",
        "no_max": "=" if frame.no_max and isfinite(frame.no_max) else "✗",
    }
    return [
        {
            "name": name,
            "value": None if name == "no_max" else value,
            "text": _small(value),
            "sign": signs[name],
            "note": f"p₁ = {_small(run.first[name])}" if frame.kind == "done" else "",
        }
        for name, value in sums.items()
    ]


def _small(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0e}" if 0 < abs(value) < 1e-4 else plain(value, 4)
