"""What a cell showed, as HTML that needs no kernel.

Live where the page can do it (players, figures under sliders whose pictures came along), static
where it cannot, and one sentence in the place of what belongs to a person, a machine or a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ..language import say
from . import words
from .inside import FILM, PREDICTION
from .players import VIEW, Asset, files_of, place, played

#: A call in a cell and what the book says instead of showing its output; "" shows nothing.
INSTEAD = {
    "fa.course.start": "",
    "fa.course.check": "check",
    "fa.course.hint": "check",
    "fa.course.solution": "check",
    "fa.course.departure": "check",
    "fa.course.progress": "yours",
    "fa.course.readiness": "yours",
    "fa.course.review": "yours",
    "fa.course.last_interview": "yours",
    "fa.course.export_progress": "yours",
    "fa.course.import_progress": "yours",
    "fa.course.reset_progress": "yours",
    "fa.course.track": "yours",
    "fa.course.show_verdict": "verdict",
    "fa.course.interview": "interview",
    "fa.doctor.report": "machine",
}
_CALL = re.compile(r"\b(fa\.\w+\.\w+)\(")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
#: Of several forms of an output, the first that is there is shown.
_FORMS = ("text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/plain")


@dataclass
class Shown:
    """Pieces of a page that do not go through the template, and what they need beside them."""

    pieces: list[str] = field(default_factory=list)
    styles: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    assets: dict[str, Asset] = field(default_factory=dict)
    players: int = 0

    def slot(self, html: str) -> str:
        """A mark for `html`, which `fill` puts in its place."""
        self.pieces.append(self.bare(html))
        return f"⟦fa-slot-{len(self.pieces) - 1}⟧"

    def bare(self, html: str) -> str:
        """`html` without its style sheets, which are kept once for the whole page."""
        return _STYLE.sub(self._kept, html)

    def _kept(self, style: re.Match[str]) -> str:
        self.styles[style[1]] = None
        return ""

    def fill(self, page: str) -> str:
        """The page with every piece in its place."""
        return re.sub(r"⟦fa-slot-(\d+)⟧", lambda found: self.pieces[int(found[1])], page)


def note(name: str) -> str:
    """One sentence set apart from the text."""
    return f'<p class="bk-note">{say(words.NOTES[name])}</p>'


def instead(source: str) -> str | None:
    """The sentence for a cell whose output the book does not show; None for every other cell."""
    for call in _CALL.findall(source):
        if call in INSTEAD:
            name = INSTEAD[call]
            return note(name) if name else ""
    return None


def html_of(cell: Any, models: Mapping[str, Any], shown: Shown) -> str:
    """Everything a cell showed, in the language in force."""
    left_out = instead(cell.source)
    if left_out is not None:
        return left_out
    return "".join(_output(output, models, shown) for output in cell.outputs)


def _output(output: Any, models: Mapping[str, Any], shown: Shown) -> str:
    if output.output_type == "stream":
        return f'<pre class="bk-out bk-{output.name}">{_ansi(output.text)}</pre>'
    if output.output_type == "error":  # a build stops at one; only a cell that may raise has it
        return f'<pre class="bk-out bk-stderr">{_ansi(chr(10).join(output.traceback))}</pre>'
    data = output.data
    if PREDICTION in data:
        return _prediction(data[PREDICTION])
    if FILM in data:
        return _film(data[FILM], shown)
    if VIEW in data:
        return _widget(data, models.get(data[VIEW]["model_id"]), shown)
    return _plain(data, output.get("metadata", {}))


def _widget(data: Mapping[str, Any], model: Mapping[str, Any] | None, shown: Shown) -> str:
    kind = played(model) if model else None
    if model and kind:
        shown.players += 1
        for asset in files_of(kind):
            shown.assets[asset.name] = asset
        return place(model, kind, data.get("text/plain", ""), say(words.UI["no_scripts"]))
    name = str(model["state"].get("_anywidget_id", "")) if model else ""
    if name.startswith("fa_toolkit.quiz."):
        return f'<div class="bk-quiz">{data.get("text/html", "")}</div>'
    others = {form: text for form, text in data.items() if form != VIEW}
    return f'<div class="bk-still">{_plain(others, {})}{note("still")}</div>'


def _plain(data: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    form = next((form for form in _FORMS if form in data), None)
    if form is None:
        return ""
    content = data[form]
    if form == "text/html" or form == "image/svg+xml":
        return f'<div class="bk-html">{content}</div>'
    if form.startswith("image/"):
        alt = escape(str(metadata.get(form, {}).get("alt", "")))
        return f'<img class="bk-image" alt="{alt}" src="data:{form};base64,{content.strip()}">'
    if form == "text/markdown":
        from nbconvert.filters import markdown2html

        return f'<div class="bk-html">{markdown2html(content)}</div>'
    return f'<pre class="bk-out">{_ansi(content)}</pre>'


def _prediction(data: Mapping[str, str]) -> str:
    value = f"{data['value']} {data['unit']}".strip()
    answer = escape(say(words.NOTES["answer"], value=value))
    summary = escape(say(words.NOTES["guess"]))
    return f'<details class="bk-guess"><summary>{summary}</summary><p>{answer}</p></details>'


def _film(film: Mapping[str, Any], shown: Shown) -> str:
    """Sliders over pictures that are all there; the one on show is in the page itself."""
    frames = {at: shown.bare(picture) for at, picture in film["frames"].items()}
    film = {**film, "frames": frames}
    at = ",".join(str(control["at"]) for control in film["controls"])
    data = json.dumps(film, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="bk-film"><div class="bk-film-controls"></div>'
        f'<div class="bk-film-picture">{film["frames"][at]}</div>'
        f'<script type="application/json">{data}</script></div>'
    )


def _ansi(text: str) -> str:
    from nbconvert.filters import ansi2html

    return str(ansi2html(text))  # type: ignore[no-untyped-call]
