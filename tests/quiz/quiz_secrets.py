"""Wrong answers, and whatever tells the right one: shared by tests of a run and of its widget."""

from __future__ import annotations

from typing import Any

from fa_toolkit.quiz import Bank
from fa_toolkit.quiz.keys import key_value, trace_table
from fa_toolkit.quiz.models import (
    MatchQuestion,
    NumberQuestion,
    Question,
    TraceQuestion,
)
from fa_toolkit.quiz.number_marks import in_unit
from fa_toolkit.quiz.numbers import show
from fa_toolkit.quiz.options import options, rights


def wrong_answer(question: Question) -> Any:
    return {
        "choice": 1, "many": [2], "number": "77777", "order": list(range(len(options(question))))[::-1],
        "match": [rights(question)[-1].key] if isinstance(question, MatchQuestion) else None,
        "trace": [["77"] * 9],
        "text": "It is exact.",
    }[question.kind]  # fmt: skip


def secrets(question: Question, bank: Bank) -> set[str]:
    """Whatever tells the answer of a question, in both languages."""
    texts: list[Any] = [question.explain, question.follow_up, question.follow_up_answer]
    for part in ("choices", "pairs", "mistakes"):
        texts += [entry.why for entry in getattr(question, part, ())]
    texts.append(getattr(question, "why_wrong", None))
    texts += getattr(question, "feedback", {}).values()
    for name in question.claims:
        texts += [bank.claims[name].says, bank.claims[name].caveat]
    for part in ("key_points", "misconceptions"):
        texts += [entry.why for entry in getattr(question, part, ())]
    texts += [getattr(question, name, None) for name in ("model_answer", "listens_for")]
    found = {text[lang] for text in texts if text is not None for lang in ("en", "zh")}
    if isinstance(question, NumberQuestion):
        value = in_unit(key_value(question.answer, question.unit), question.unit)
        prompts = question.prompt.en + question.prompt.zh
        found |= {value} if value not in prompts and len(value) > 3 else set()
    if isinstance(question, TraceQuestion):
        table = trace_table(question)
        asked = {
            show(row[c])
            for at, row in enumerate(table)
            for c in row
            if (at, c) not in question.shown
        }
        given = {show(table[at][c]) for at, c in question.shown}
        found |= {value for value in asked - given if len(value) > 3}
    return found
