"""The stepper without a browser behind it: a table of its steps, as HTML or as plain text."""

from __future__ import annotations

import html
import re

from ...language import Text, say
from ..palette import css_variables
from .frames import Run
from .words import UI, caption, formula

_HEAD = (Text("step", "步"), Text("what happens", "发生了什么"), "m", Text("factor", "因子"), "l")
_STYLE = """
.fa-still { border-collapse: collapse; font-size: 14px; color: var(--fa-text); }
.fa-still caption { text-align: left; font-weight: 600; padding: 4px 8px; }
.fa-still th, .fa-still td { text-align: left; padding: 3px 8px; border-bottom: 1px solid
  var(--fa-line); vertical-align: top; font-variant-numeric: tabular-nums; }
.fa-still th { color: var(--fa-soft); font-weight: 600; }
.fa-still em { font-style: normal; font-weight: 600; color: var(--fa-stat); }
"""


def _rows(run: Run) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for number, frame in enumerate(run.frames):
        rules = {name: text for name, text, _ in formula(run, frame)}
        shown = rules["factor"] if frame.kind == "correct" else ""
        m, total = (re.findall(r"\*(.*?)\*", rules[name]) for name in ("m", "l"))
        rows.append((str(number), caption(run, frame), "".join(m[-1:]), shown, "".join(total[-1:])))
    return rows


def table(run: Run) -> str:
    """All steps as one HTML table, in the language in force."""

    def cell(text: str) -> str:
        return re.sub(r"\*(.*?)\*", r"<em>\1</em>", html.escape(text))

    head = "".join(f"<th>{html.escape(say(name))}</th>" for name in _HEAD)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell(text)}</td>" for text in row) + "</tr>" for row in _rows(run)
    )
    name = html.escape(f"{say(UI['title'])}: {run.x}, {run.blocks}")
    return (
        f'<div class="fa-viz"><style>{css_variables()}{_STYLE}</style>'
        f'<table class="fa-still"><caption>{name}</caption><tr>{head}</tr>{body}</table></div>'
    )


def text(run: Run) -> str:
    """All steps as lines of text."""
    lines = [f"{say(UI['title'])}: {run.x}, {run.blocks}"]
    lines += [f"{number:>2}  {sentence.replace('*', '')}" for number, sentence, *_ in _rows(run)]
    return "\n".join(lines)
