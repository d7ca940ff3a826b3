"""The report of an interview as plain data: scores, what was missed and where to read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..language import Language, current, say, using
from ..quiz import wording
from ..quiz.models import Question
from ..quiz.text_question import TextQuestion
from ..quiz.verdict import Item
from . import words as w
from .turn import Outcome, Turn, outcome

if TYPE_CHECKING:
    from .conversation import Interview

JSON = dict[str, Any]
_CODE = re.compile(r"```.*?```", re.DOTALL)


def lead(turn: Turn) -> str:
    """The sentence that leads over from the last answer, "" for a new subject."""
    if turn.kind == "more" and isinstance(turn.question, TextQuestion):
        for point in turn.question.key_points:
            if point.id == turn.about and point.ask is not None:
                return point.ask[current()]
    return say(w.LEADS[turn.kind], quote=turn.quote) if turn.kind in w.LEADS else ""


def report(held: Interview) -> JSON:
    """What came of an interview so far, in its language. All of it can be written as JSON."""
    with using(held.lang):
        entries = [_entry(held, main, probe) for main, probe in pairs(held.turns)]
        scores = [entry["score"] for entry in entries]
        return {
            "at": held.at.isoformat(timespec="seconds"),
            "lang": held.lang,
            "minutes": held.plan.minutes,
            "level": held.plan.level,
            "chosen": list(held.plan.topics),
            "chapters": list(held.plan.chapters),
            "seconds": round(held.elapsed),
            "score": round(sum(scores) / len(scores)) if scores else 0,
            "topics": _topics(entries),
            "reread": _reread(held, entries),
            "questions": entries,
        }


def pairs(turns: Iterable[Turn]) -> list[tuple[Turn, Turn | None]]:
    """Every question with the probe that followed it, if one did."""
    found: list[tuple[Turn, Turn | None]] = []
    for turn in turns:
        if turn.probe and found:
            found[-1] = (found[-1][0], turn)
        else:
            found.append((turn, None))
    return found


def _entry(held: Interview, main: Turn, probe: Turn | None) -> JSON:
    question, came, lang = main.question, outcome(main, probe), held.lang
    quotes: dict[str, str] = {}
    for turn in (probe, main):
        if turn is not None and turn.verdict is not None:
            quotes |= turn.verdict.details.get("quotes", {})

    settled = (*came.withdrawn, *came.taken_back)
    careful = main.verdict.details.get("careful", {}) if main.verdict else {}
    written = isinstance(question, TextQuestion)
    against = main.verdict.contradicted if main.verdict else ()
    context = "" if written else _without_code(question.prompt[lang])

    def point(item: Item, **more: Any) -> JSON:
        sections = _sections(held, item, question)
        return {"text": item.text, "why": item.why, "sections": sections, **more}

    def wrong(item: Item) -> JSON:
        return point(
            item,
            quote=quotes.get(item.id, ""),
            context=context,
            fatal=item.id in came.fatal,
            taken_back=item in came.taken_back,
            withdrawn=item in came.withdrawn,
            otherwise=item in against and written,
            elsewise=item in against and question.kind in ("order", "match", "trace"),
        )

    return {
        "id": question.id,
        "kind": question.kind,
        "topic": question.topic,
        "topic_name": held.bank.topics[question.topic][lang],
        "level": question.level,
        "prompt": question.prompt[lang],
        "lead": lead(main),
        "answer": main.verdict.said if main.verdict else "",
        "passed": main.passed,
        "seconds": round(main.seconds + (probe.seconds if probe else 0)),
        "score": came.score,
        "before": came.before,
        "said": [
            {"text": i.text, "quote": quotes.get(i.id, ""), "careful": careful.get(i.id, "")}
            for i in came.said
        ],
        "recovered": [
            point(item, cleared=item in came.cleared) for item in (*came.cleared, *came.recovered)
        ],
        "missing": [point(item) for item in _missing(main, came, lang)],
        "wrong": _once([wrong(item) for item in (*_apart(came.wrong, against, settled), *settled)]),
        "note": _why_nothing(main),
        "probe": None
        if probe is None
        else {"lead": lead(probe), "answer": probe.verdict.said if probe.verdict else ""},
        "explain": "" if written else question.explain[lang],
        "model": question.model_answer[lang] if isinstance(question, TextQuestion) else "",
        "listens": question.listens_for[lang] if isinstance(question, TextQuestion) else "",
        **_goes_on(question, lang),
        "chapter": question.see,
    }


def _why_nothing(main: Turn) -> str:
    """Why an answer earned little that looks as if it said much, "" if it did not."""
    filling = main.verdict is not None and main.verdict.details.get("filling")
    return say(wording.LABELS["filling"]) if filling else ""


def _goes_on(question: Question, lang: Language) -> JSON:
    """The question an interviewer might ask next, and what a good answer to it says."""
    asked, answer = question.follow_up, question.follow_up_answer
    shown = asked is not None and answer is not None
    return {
        "follow_up": asked[lang] if asked and shown else "",
        "follow_up_answer": answer[lang] if answer and shown else "",
    }


def _without_code(text: str) -> str:
    """A prompt as a summary shows it: its code stands beside the question."""
    return _CODE.sub(" ", text).strip()


def _missing(main: Turn, came: Outcome, lang: Language) -> tuple[Item, ...]:
    """What was missed: points of a written answer; of another kind the question itself."""
    question = main.question
    if not isinstance(question, TextQuestion):
        item = Item(question.id, question.explain[lang])
        return () if came.score == 100 or came.wrong else (item,)
    if main.verdict is not None:
        return came.missing
    return tuple(
        Item(p.id, p.text[lang], None, tuple(p.claims), p.why[lang]) for p in question.key_points
    )


def _once(points: list[JSON]) -> list[JSON]:
    """The points of one question, the question itself beside the first of them only."""
    return [point if at == 0 else {**point, "context": ""} for at, point in enumerate(points)]


def _apart(
    wrong: tuple[Item, ...], against: tuple[Item, ...], settled: tuple[Item, ...] = ()
) -> tuple[Item, ...]:
    """Wrong ideas without the points that the same words contradict: one fault is said once."""
    ideas = [item for item in (*wrong, *settled) if item not in against]
    return tuple(
        item
        for item in wrong
        if item not in against or not any(_overlap(item, idea) for idea in ideas)
    )


def _overlap(one: Item, other: Item) -> bool:
    if one.span is None or other.span is None:
        return False
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _sections(held: Interview, item: Item, question: Question) -> list[str]:
    claims, lang = held.bank.claims, held.lang
    points = question.key_points if isinstance(question, TextQuestion) else ()
    own = next((point.papers for point in points if point.id == item.id), [])
    papers = [_paper(held, paper) for paper in own or question.papers]
    if not item.claims and papers:  # nearer to the point than the claims of the question
        return list(dict.fromkeys(papers))
    named = [name for name in (item.claims or question.claims) if name in claims]
    found = [f"{name} · {claims[name].section[lang]}" for name in named]
    return list(dict.fromkeys([*found, *([] if found else papers)]))


def _paper(held: Interview, paper: str) -> str:
    """`FA2 3.3` as a report names it: FlashAttention-2, 3.3."""
    name, _, section = paper.partition(" ")
    known = held.bank.papers.get(name)
    title = known.title.partition(":")[0] if known else name
    return f"{title}, {section}" if section else title


def _topics(entries: list[JSON]) -> list[JSON]:
    """Mean score of each topic, lowest first."""
    found: dict[str, list[JSON]] = {}
    for entry in entries:
        found.setdefault(entry["topic"], []).append(entry)
    rows = [
        {
            "topic": topic,
            "name": own[0]["topic_name"],
            "score": round(sum(entry["score"] for entry in own) / len(own)),
            "asked": len(own),
            "fatal": [w_["text"] for entry in own for w_ in entry["wrong"] if w_["fatal"]],
        }
        for topic, own in found.items()
    ]
    return sorted(rows, key=lambda row: (not row["fatal"], row["score"], row["topic"]))


def _reread(held: Interview, entries: list[JSON]) -> list[JSON]:
    """Chapters that hold what was missed, those with most of it first."""
    count: dict[str, int] = {}
    for entry in entries:
        lacking = len(entry["missing"]) + sum(not x["taken_back"] for x in entry["wrong"])
        if lacking:
            count[entry["chapter"]] = count.get(entry["chapter"], 0) + lacking
    chapters = held.bank.chapters
    return [
        {
            "chapter": number,
            "title": chapters[int(number)].title[held.lang] if int(number) in chapters else "",
            "points": points,
        }
        for number, points in sorted(count.items(), key=lambda one: (-one[1], one[0]))
    ]
