"""The card that asks questions in a notebook: a thin shell around a session.

The browser gets what `view` says and sends back what the learner did; it grades nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ..language import Text, using
from .bank import Bank
from .models import Question
from .number_marks import in_unit
from .numbers import read_number, show, spoken
from .plain import quiz_html, quiz_text
from .session import Attempt, Report, Session
from .units import NONE, UNITS
from .view import view

_HERE = Path(__file__).parent


class QuizCard(anywidget.AnyWidget):
    """The questions of one chapter, one at a time."""

    _esm = _HERE / "card.js"
    _css = _HERE / "card.css"
    view = traitlets.Dict().tag(sync=True)
    drafts = traitlets.Dict().tag(sync=True)  # what was typed and not yet handed in
    files = traitlets.Dict().tag(sync=True)  # chapter number -> notebook beside this one

    def __init__(self, session: Session) -> None:
        super().__init__(view=view(session), drafts={}, files=neighbours())
        self.session = session
        self.on_msg(self._hear)

    def _hear(self, _widget: object, message: object, _buffers: object) -> None:
        if not isinstance(message, Mapping):
            return
        act = str(message.get("do"))
        if act == "read":
            self.send({"read": message.get("serial"), **self._reading(message.get("text"))})
            return
        handlers: dict[str, Callable[[], object]] = {
            "answer": lambda: self.session.answer(message.get("answer")),
            "go": lambda: self.session.go(_whole(message.get("to"))),
            "retry": self.session.retry,
            "said": lambda: self.session.say_it(str(message.get("point"))),
            "speak": lambda: self.session.speak("zh" if self.session.lang == "en" else "en"),
        }
        if act in handlers and message.get("question") == self.session.question.id:
            handlers[act]()
            self.view = view(self.session)
        self.send({"done": message.get("serial")})

    def _reading(self, text: object) -> dict[str, str]:
        return self.reading(self.session.question, self.session.lang, text)

    @staticmethod
    def reading(question: Question, lang: str, text: object) -> dict[str, str]:
        """How a number is read while it is typed; says nothing of whether it is right."""
        with using(lang):
            reading = read_number(text if isinstance(text, str) else "")
            if reading.empty:
                return {"as": "", "problem": ""}
            if reading.value is None:
                return {"as": "", "problem": spoken(reading.problem)}
            unit = getattr(question, "unit", None)
            if not reading.has_unit:
                mark = {None: "", "x": " ×"}.get(unit, f" {unit}")
                return {"as": show(reading.value) + mark, "problem": ""}
            asked = NONE if unit is None else UNITS[unit].dimension
            same = reading.dimension == asked
            return {"as": in_unit(reading.value, unit) if same else "", "problem": ""}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        made = super()._repr_mimebundle_(**options)
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        data = {**data, "text/plain": quiz_text(self.session)}
        data["text/html"] = quiz_html(self.session)
        return data, metadata


def _whole(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 1e6 else 0


def neighbours() -> dict[str, str]:
    """Notebooks beside the running one, so that a verdict can lead back to a chapter."""
    try:
        names = sorted(path.name for path in Path.cwd().glob("[0-9][0-9]_*.ipynb"))
    except OSError:
        return {}
    return {name[:2]: name for name in reversed(names)}


def quiz(
    chapter: int,
    *,
    lang: str | None = None,
    record: Callable[[Attempt], object] | None = None,
    restore: Callable[[], Mapping[str, Any]] | None = None,
    report: Report | None = None,
    learner: str = "",
    only: Sequence[str] | None = None,
    bank: Bank | None = None,
    title: Text | None = None,
) -> QuizCard:
    """The card for one chapter.

    Args:
        lang: the language to begin in; the language in force if None.
        record: called with every answer that was judged.
        restore: latest answer of each question by id, from an earlier day.
        report: called with every point the learner holds to have made undetected.
        learner: whoever answers; decides the order of options.
        only: ids of questions, to ask some and not all.
        bank: a bank of your own.
        title: of a run that is not a chapter's quiz.

    Raises:
        UnknownNameError: if there is no such chapter or question.
    """
    return QuizCard(
        Session(
            chapter,
            lang=lang,
            bank=bank,
            only=only,
            learner=learner,
            record=record,
            restore=restore,
            report=report,
            title=title,
        )
    )
