"""A second opinion on written answers, off by default: a language model behind the user's endpoint.

The model only points: to a key point and the words of the answer that make it. `merging` decides
whether those words count, the score is computed by the same code as ever, and whatever goes wrong
leaves the verdict of the first tier with a note that says so. Without settings nothing is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ...errors import ArgumentError
from ...language import Text, say, using
from .. import grading, text_marks
from ..bank import Bank, load_bank
from ..free_text.judge import Judgement
from ..text_question import TextQuestion
from ..verdict import Verdict
from . import kept
from .asking import NotAReplyError, Reply, messages, read
from .configuration import Settings, from_environment, settings, use
from .endpoint import NoAnswerError, complete, models
from .merging import merge

__all__ = ["Settings", "from_environment", "grade", "patience", "settings", "use"]

PAUSE = 60.0  # seconds an endpoint that did not answer is left alone
_resting: dict[str, float] = {}  # endpoint -> when it may be asked again
_T = TypeVar("_T")
_served: dict[str, str] = {}  # endpoint -> the model it named first

_RAISED = Text(
    "The language model {model} pointed to {n} of these in your words; the score is computed here.",
    "语言模型 {model} 在你的话里指出了其中 {n} 条；分数仍由本程序计算。",
)
_AGREED = Text(
    "The language model {model} read the answer too and found nothing more.",
    "语言模型 {model} 也读了这份答案，没有发现更多。",
)
_FELL_BACK = Text(
    "The language model did not help ({reason}); this is the verdict of the built-in grader alone.",
    "语言模型没有用上（{reason}）；这里只有内置评分器的结论。",
)
_RESTING = Text("it failed a moment ago", "刚才请求失败，稍后再试")


def grade(
    question_id: str,
    answer: object,
    lang: str | None = None,
    *,
    bank: Bank | None = None,
    ask: bool = True,
) -> Verdict:
    """As `grading.grade`, with the second tier where one is set.

    Args:
        ask: False to take what was kept from an earlier time and send nothing.

    Raises:
        UnknownNameError, ArgumentError: as `grading.grade`.
    """
    first = grading.grade(question_id, answer, lang, bank=bank)
    question = (load_bank() if bank is None else bank).question(question_id)
    if not isinstance(question, TextQuestion) or not first.judged or not isinstance(answer, str):
        return first
    if first.details["filling"]:
        return first
    with using(first.lang):
        try:
            if (chosen := settings()) is None:
                return first
            named = _with_model(chosen, ask)
            reply = None if named is None else _reply(named, question, answer, ask)
        except (NoAnswerError, NotAReplyError, ArgumentError) as error:
            return replace(first, note=_joined(first.note, say(_FELL_BACK, reason=str(error))))
        if named is None or reply is None:
            return first
        found = text_marks.heard(question, answer)
        merged, raised = merge(question, answer, found, reply)
        return _verdict(first, question, answer, merged, raised, named.model)


def patience() -> float:
    """Seconds that grading one answer may wait for an endpoint; 0 where none is asked."""
    try:
        chosen = settings()
    except ArgumentError:
        return 0.0
    return 0.0 if chosen is None else 2 * chosen.seconds  # the models it serves, then the answer


def _reply(chosen: Settings, question: TextQuestion, answer: str, ask: bool) -> Reply | None:
    """What the model said of an answer: kept from earlier, or asked for now."""
    name = kept.name(question, answer, chosen.model)
    if (old := kept.get(name)) is not None:
        try:
            return read(old, question)
        except NotAReplyError:
            kept.forget(name)
    if not ask:
        return None
    text = _awake(chosen, lambda: complete(chosen, messages(question, answer)))
    reply = read(text, question)
    kept.put(name, text)
    return reply


def _with_model(chosen: Settings, ask: bool) -> Settings | None:
    """The settings with a model named: the one asked for, or the first that the endpoint serves."""
    if chosen.model:
        return chosen
    if chosen.url not in _served:
        if not ask:
            return None
        _served[chosen.url] = _awake(chosen, lambda: models(chosen))[0]
    return replace(chosen, model=_served[chosen.url])


def _awake(chosen: Settings, request: Callable[[], _T]) -> _T:
    """The result of a request, unless the endpoint failed within the last minute."""
    if time.monotonic() < _resting.get(chosen.url, 0.0):
        raise NoAnswerError(say(_RESTING))
    try:
        return request()
    except NoAnswerError:
        _resting[chosen.url] = time.monotonic() + PAUSE
        raise


def _verdict(
    first: Verdict,
    question: TextQuestion,
    answer: str,
    merged: Judgement,
    raised: tuple[str, ...],
    model: str,
) -> Verdict:
    """The verdict on a merged judgement, citing what the first one cites."""
    made = text_marks.verdict(question, answer, first.lang, merged)
    note = say(_RAISED, model=model, n=len(raised)) if raised else say(_AGREED, model=model)
    return replace(
        made,
        note=_joined(made.note, note),
        explain=first.explain,
        citations=first.citations,
        papers=first.papers,
        follow_up=first.follow_up,
        follow_up_answer=first.follow_up_answer,
        see=first.see,
        details={**made.details, "raised": list(raised), "model_named": model},
    )


def _joined(*notes: str) -> str:
    return " ".join(note for note in notes if note)
