"""The card of a mock interview in a notebook: a thin shell around an `Interview`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ..errors import FaError
from ..language import say, using
from ..quiz.widget import QuizCard, neighbours
from . import words as w
from .conversation import Interview
from .export import markdown, page, plain
from .plan import Plan
from .view import view

_HERE = Path(__file__).parent
_QUIZ = _HERE.parent / "quiz"


@functools.cache
def front_end() -> tuple[str, str]:
    """The module and the style sheet: the quiz card's forms, then the interview around them."""
    forms = (_QUIZ / "card.js").read_text(encoding="utf-8")
    forms = forms.replace("export default { render };", "")
    module = forms + (_HERE / "interview.js").read_text(encoding="utf-8")
    style = (_QUIZ / "card.css").read_text(encoding="utf-8")
    return module, style + (_HERE / "interview.css").read_text(encoding="utf-8")


class InterviewCard(anywidget.AnyWidget):
    """One mock interview: the choice, the questions, the report."""

    _esm, _css = front_end()
    view = traitlets.Dict().tag(sync=True)
    drafts = traitlets.Dict().tag(sync=True)  # what was typed and not yet handed in
    files = traitlets.Dict().tag(sync=True)  # chapter number -> notebook beside this one

    def __init__(self, interview: Interview) -> None:
        super().__init__(view=view(interview), drafts={}, files=neighbours())
        self.interview = interview
        self.on_msg(self._hear)

    def _hear(self, _widget: object, message: object, _buffers: object) -> None:
        if not isinstance(message, Mapping):
            return
        act, held = str(message.get("do")), self.interview
        if act == "read":
            self.send({"read": message.get("serial"), **self._reading(message.get("text"))})
            return
        if act == "export":
            made = markdown if message.get("as") == "md" else page
            self.send({"file": made(held.report()), "serial": message.get("serial")})
            return
        in_front = message.get("key") == self.view.get("key")
        handlers: dict[str, Callable[[], object]] = {
            "start": lambda: self._start(message),
            "again": held.again,
            "speak": lambda: held.speak("zh" if held.lang == "en" else "en"),
            "look": lambda: None,
        }
        if in_front:  # a second click on the same question does nothing
            handlers |= {
                "answer": lambda: held.answer(message.get("answer")),
                "skip": held.skip,
                "finish": held.finish,
            }
        if act in handlers:
            handlers[act]()
            self.view = view(held)
        self.send({"done": message.get("serial")})

    def _start(self, message: Mapping[Any, Any]) -> None:
        held, topics = self.interview, message.get("topics")
        if held.phase == "asking":
            return
        with using(held.lang):
            try:
                plan = Plan(
                    minutes=message.get("minutes", 20),
                    topics=tuple(map(str, topics)) if isinstance(topics, list) else (),
                    level=message.get("level", "adaptive"),
                    chapters=() if message.get("scope") == "all" else held.opened,
                )
                held.start(plan)
            except FaError as error:
                held.note = str(error)

    def _reading(self, text: object) -> dict[str, str]:
        """How a number is read while it is typed, as in the quiz card."""
        turn = self.interview.turn
        if turn is None:
            return {"as": "", "problem": ""}
        return QuizCard.reading(turn.question, self.interview.lang, text)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        made = super()._repr_mimebundle_(**options)
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        held = self.interview
        with using(held.lang):
            text = f"{say(w.LABELS['title'])}. {say(w.LABELS['choose'])} `fa interview`"
            report = held.report() if held.phase == "report" else None
            text = plain(report) if report else text
        return {**data, "text/plain": text, "text/html": f"<pre>{_escaped(text)}</pre>"}, metadata


def _escaped(text: str) -> str:
    import html

    return html.escape(text)
