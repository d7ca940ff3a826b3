"""What the card shows, as plain JSON: the only thing of a quiz that reaches the browser.

Until a question is answered nothing here tells what is right: options carry opaque keys, and
feedback, keys and citations are added only from a verdict.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from ..language import Language, say, using
from . import wording as w
from .markup import to_html
from .models import (
    ChoiceQuestion,
    ManyQuestion,
    MatchQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    TraceQuestion,
)
from .number_marks import row_name
from .numbers import show
from .options import Option, lefts, options, rights, shuffled
from .second_tier import patience
from .session import Session
from .verdict import Item, Verdict

JSON = dict[str, Any]


def view(session: Session) -> JSON:
    """Everything the card draws for the question in front."""
    with using(session.lang):
        mean, answered = session.points
        total = len(session.questions)
        return {
            "lang": session.lang,
            "title": _title(session),
            "position": session.position,
            "progress": say(w.PROGRESS, answered=answered, total=total),
            "mean": say(w.MEAN, mean=mean) if answered else "",
            "dots": [_dot(session, at) for at in range(total)],
            "question": question_view(session.question, session.lang, session),
            "answer": session.answers.get(session.question.id),
            "verdict": None if session.verdict is None else verdict_view(session, session.verdict),
            "note": session.note or (session.verdict.note if session.verdict else ""),
            "patience": patience(),
            "labels": {name: say(text) for name, text in w.LABELS.items()},
        }


def _title(session: Session) -> str:
    if session.title is not None:
        return say(session.title)
    whole = len(session.chapter.questions) == len(session.questions)
    return session.chapter.title[session.lang] if whole else ""


def _dot(session: Session, at: int) -> JSON:
    verdict = session.verdicts.get(session.questions[at].id)
    state = "open" if verdict is None else verdict.outcome
    return {"state": state, "label": say(w.DOT, n=at + 1, state=say(w.STATES[state]))}


def question_view(question: Question, lang: Language, session: Session) -> JSON:
    """A question without its answer."""
    topic = session.bank.topics[question.topic][lang]
    shown: JSON = {
        "id": question.id,
        "kind": question.kind,
        "meta": [question.id, topic, say(w.LEVELS[question.level])],
        "prompt": to_html(question.prompt[lang]),
        "task": say(w.TASKS[question.kind]),
    }
    if isinstance(question, (ChoiceQuestion, ManyQuestion, OrderQuestion)):
        mixed = shuffled(options(question), question.id, session.learner)
        shown["options"] = _shown(mixed, lang)
    elif isinstance(question, MatchQuestion):
        shown["lefts"] = _shown(shuffled(lefts(question), question.id, session.learner), lang)
        mixed = shuffled(rights(question), question.id + "|right", session.learner)
        shown["rights"] = _shown(mixed, lang)
    elif isinstance(question, NumberQuestion):
        shown["unit"] = "×" if question.unit == "x" else question.unit or ""
    elif isinstance(question, TraceQuestion):
        shown |= _table(question, lang)
    return shown


def _shown(listed: list[Option], lang: Language) -> list[JSON]:
    return [{"key": option.key, "html": to_html(option.text[lang])} for option in listed]


def _table(question: TraceQuestion, lang: Language) -> JSON:
    """The table with the given cells filled in; the others are not even computed into it."""
    from .keys import trace_table

    table = trace_table(question)
    rows = [
        {
            "name": to_html(row_name(question, at, lang)),
            "cells": [
                {"cell": f"{at}.{name}", "given": show(row[name])}
                if (at, name) in question.shown
                else {"cell": f"{at}.{name}"}
                for name in question.columns
            ],
        }
        for at, row in enumerate(table)
    ]
    return {"columns": question.columns, "rows": rows}


def verdict_view(session: Session, verdict: Verdict) -> JSON:
    """A verdict in the order it is read: answer, points, reasons, source, score, what next."""
    lang = verdict.lang
    with using(lang):
        next_open = [at for at, q in enumerate(session.questions) if q.id not in session.verdicts]
        here = session.title is None and int(verdict.see) == session.chapter.number
        reread = "" if here else verdict.see
        return {
            "outcome": verdict.outcome,
            "headline": say(w.HEADLINES[verdict.outcome]),
            "said": to_html(verdict.said),
            "points": _points(verdict),
            "details": _details(verdict),
            "text": text_view(session, verdict) if "quotes" in verdict.details else None,
            "explain": to_html(verdict.explain),
            "citations": [_citation(asdict(cited)) for cited in verdict.citations],
            "papers": [to_html(paper) for paper in verdict.papers],
            "score": verdict.score,
            "of": say(w.OF_100),
            "arithmetic": verdict.arithmetic,
            "follow_up": to_html(verdict.follow_up),
            "follow_up_answer": to_html(verdict.follow_up_answer),
            "reread": say(w.REREAD, chapter=reread) if reread and verdict.score < 100 else "",
            "chapter": reread,
            "last": not next_open,
        }


def text_view(session: Session, verdict: Verdict) -> JSON:
    """A verdict on a written answer: what was said, lacks, is wrong, and how it could be said."""
    quotes, noted = verdict.details["quotes"], session.said_it.get(verdict.question_id, set())
    by = say(w.FOUND_BY, model=verdict.details.get("model_named", ""))

    def entry(item: Item) -> JSON:
        sections = dict.fromkeys(
            f"{name} · {session.bank.claims[name].section[verdict.lang]}" for name in item.claims
        )
        return {
            "id": item.id,
            "html": to_html(item.text),
            "quote": quotes.get(item.id, "") if item not in verdict.missing else "",
            "why": to_html(item.why),
            "sections": list(sections),
            "noted": item.id in noted,
            "careful": to_html(verdict.details.get("careful", {}).get(item.id, "")),
            "by": by if item.id in verdict.details.get("raised", ()) else "",
        }

    asked = [
        {"html": to_html(one["text"]), "quote": quotes.get(one["id"], "")}
        for one in verdict.details["asked"]
    ]
    return {
        "marked": marked(verdict),
        "said": [entry(item) for item in verdict.credited],
        "lacking": [entry(item) for item in verdict.missing],
        "wrong": [entry(item) for item in verdict.misconceptions],
        "otherwise": [entry(item) for item in verdict.contradicted],
        "asked": asked,
        "fatal": say(w.LABELS["fatal"]) if verdict.details["fatal"] else "",
        "filling": say(w.LABELS["filling"]) if verdict.details["filling"] else "",
        "model": to_html(verdict.details["model"]),
        "listens": to_html(verdict.details["listens"]),
    }


def marked(verdict: Verdict) -> list[JSON]:
    """The answer in pieces, each "good" if a point rests on it, "bad" if it is wrong, else ""."""
    text = verdict.said
    kinds = [""] * len(text)
    wrong = (*verdict.contradicted, *verdict.misconceptions)
    for kind, items in (("good", verdict.credited), ("bad", wrong)):
        for item in items:
            start, end = _whole(text, *(item.span or (0, 0)))
            kinds[start:end] = [kind] * len(kinds[start:end])
    edges = [at for at in range(len(text)) if at == 0 or kinds[at] != kinds[at - 1]]
    ends = [*edges[1:], len(text)]
    return [
        {"text": text[start:end], "kind": kinds[start]}
        for start, end in zip(edges, ends, strict=True)
    ]


_BREAK = re.compile(r"[,，、。;；！？!?\n]|[.:](?=\s|$)")


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """A span widened to the ends of its clauses, by at most 80 characters on each side."""
    if start == end:
        return start, end
    before = [match.end() for match in _BREAK.finditer(text, max(0, start - 80), start)]
    after = _BREAK.search(text, end, end + 80)
    first = before[-1] if before else 0 if start <= 80 else start
    last = after.start() if after else len(text) if len(text) - end <= 80 else end
    while first < start and text[first].isspace():
        first += 1
    return first, last


def _points(verdict: Verdict) -> list[JSON]:
    """Points for the kinds whose own form does not show them: numbers and orders."""
    groups = (
        ("ok", verdict.credited),
        ("no", verdict.missing),
        ("x", verdict.contradicted),
        ("x", verdict.misconceptions),
    )
    return [_point(mark, item) for mark, items in groups for item in items]


def _point(mark: str, item: Item) -> JSON:
    return {"mark": mark, "html": to_html(item.text), "why": to_html(item.why)}


def _details(verdict: Verdict) -> JSON:
    details = dict(verdict.details)
    if "whys" in details:
        details["whys"] = {key: to_html(why) for key, why in details["whys"].items()}
    if "why" in details:
        details["why"] = to_html(details["why"])
    if "pairs" in details:
        details["pairs"] = [{**pair, "why": to_html(pair["why"])} for pair in details["pairs"]]
    return details


def _citation(cited: JSON) -> JSON:
    return {
        "id": cited["id"],
        "section": to_html(cited["section"]),
        "says": to_html(cited["says"]),
        "verdict": cited["verdict"],
        "word": say(w.CLAIM_VERDICTS[cited["verdict"]]),
        "caveat": to_html(cited["caveat"]),
        "corrected": say(w.SELF_CORRECTED) if cited["self_corrected"] else "",
    }
