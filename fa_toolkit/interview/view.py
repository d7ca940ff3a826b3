"""What the interview card shows, as plain JSON. Nothing here tells, before the end, what was right."""

from __future__ import annotations

from typing import Any

from ..language import say, using
from ..quiz.markup import to_html
from ..quiz.view import question_view
from ..quiz.wording import LABELS as QUIZ_LABELS
from ..quiz.wording import LEVELS as QUIZ_LEVELS
from . import words as w
from .conversation import Interview
from .export import blocked, minutes, summary, tags
from .plan import LEVELS, MINUTES, SECONDS, topics
from .report import lead

JSON = dict[str, Any]


def view(held: Interview) -> JSON:
    """Everything the card draws."""
    with using(held.lang):
        labels = {name: say(text) for name, text in {**QUIZ_LABELS, **w.LABELS}.items()}
        shown: JSON = {
            "phase": held.phase,
            "lang": held.lang,
            "labels": labels,
            "note": held.note,
            "serial": len(held.turns),
        }
        if held.phase == "choose":
            shown["choose"] = _choices(held)
        elif held.phase == "asking":
            shown |= _asking(held)
        else:
            shown["report"] = report_view(held.report())
        return shown


def _choices(held: Interview) -> JSON:
    per = sum(SECONDS.values()) / len(SECONDS)
    return {
        "minutes": [
            {"value": n, "label": str(n), "about": say(w.ABOUT_SO_MANY, n=round(60 * n / per))}
            for n in MINUTES
        ],
        "levels": [{"value": level, "label": say(w.LEVELS[level])} for level in LEVELS],
        "topics": [
            {"value": name, "label": held.bank.topics[name][held.lang], "count": count}
            for name, count in topics(held.bank).items()
        ],
        "scopes": _scopes(held),
        "chosen": {
            "minutes": held.plan.minutes,
            "level": held.plan.level,
            "topics": list(held.plan.topics),
            "scope": "opened" if held.plan.chapters else "all",
        },
    }


def _scopes(held: Interview) -> list[JSON]:
    """All chapters or those that were opened; nothing to choose where these are the same."""
    taught = {int(question.see) for question in held.bank.questions.values()}
    opened = [number for number in held.opened if number in taught]
    if not opened or set(opened) == taught:
        return []
    numbers = ", ".join(f"{number:02d}" for number in opened)
    return [
        {"value": "opened", "label": say(w.LABELS["opened"], n=numbers)},
        {"value": "all", "label": say(w.LABELS["all_chapters"])},
    ]


def _asking(held: Interview) -> JSON:
    turn = held.turn
    assert turn is not None
    question = question_view(turn.question, held.lang, held)  # type: ignore[arg-type]
    number = sum(not earlier.probe for earlier in held.turns) + (not turn.probe)
    place = w.QUESTION if turn.kind == "main" else w.FOLLOW_UP
    question["meta"] = [
        say(place, n=number),
        held.bank.topics[turn.question.topic][held.lang],
        say(QUIZ_LEVELS[turn.question.level]),
    ]
    said = to_html(lead(turn))
    if turn.probe:
        question |= {"context": question["prompt"], "prompt": said}
    else:
        question["lead"] = said
    key = f"{held.name}-{len(held.turns)}"
    clock = {"left": round(held.left, 1), "whole": held.plan.minutes * 60}
    return {"key": key, "question": question, "clock": clock}


def report_view(report: JSON) -> JSON:
    """A report with its texts as safe HTML."""
    with using(report["lang"]):
        wrong = [_point(e, p) for e in report["questions"] for p in e["wrong"]]
        return {
            "summary": summary(report),
            "score": report["score"],
            "blocked": to_html(blocked(report)),
            "topics": [
                {**row, "asked": say(w.ASKED, n=row["asked"]), "fatal": len(row["fatal"])}
                for row in report["topics"]
            ],
            "wrong": wrong,
            "missed": [_chapter(report, row) for row in report["reread"]],
            "questions": [_question(n, e) for n, e in enumerate(report["questions"], 1)],
        }


def _chapter(report: JSON, row: JSON) -> JSON:
    """What was missed, by the chapter that holds it; none where only wrong ideas lead there."""
    points = [
        _point(entry, point)
        for entry in report["questions"]
        if entry["chapter"] == row["chapter"]
        for point in entry["missing"]
    ]
    label = f"{row['chapter']} {row['title']}".strip()
    return {"chapter": row["chapter"], "label": label, "points": points}


def _point(entry: JSON, point: JSON) -> JSON:
    return {
        "html": to_html(point["text"]),
        "why": to_html(point["why"]),
        "quote": point.get("quote", ""),
        "context": to_html(point.get("context", "")),
        "tags": tags(point),
        "bad": bool(point.get("fatal")),
        "sections": "; ".join(point["sections"]),
        "chapter": entry["chapter"],
        "chapter_label": say(w.LABELS["chapter"], number=entry["chapter"]),
        "id": entry["id"],
    }


def _recovered(point: JSON) -> str:
    tag = f" ({say(w.LABELS['cleared'])})" if point.get("cleared") else ""
    return to_html(point["text"]) + to_html(tag)


def _question(number: int, entry: JSON) -> JSON:
    probe = entry["probe"]
    halves = ""
    if probe and entry["before"] != entry["score"]:
        halves = say(w.HALVES, before=entry["before"], score=entry["score"])
    return {
        "number": number,
        "prompt": to_html(entry["prompt"]),
        "topic": entry["topic_name"],
        "lead": to_html(entry["lead"]),
        "score": entry["score"],
        "halves": halves,
        "time": minutes(entry["seconds"]),
        "answer": say(w.LABELS["passed"]) if entry["passed"] else entry["answer"],
        "probe_lead": to_html(probe["lead"]) if probe else "",
        "probe_answer": probe["answer"] if probe else "",
        "said": [
            {"html": to_html(i["text"]), "quote": i["quote"], "why": to_html(i.get("careful", ""))}
            for i in entry["said"]
        ],
        "recovered": [_recovered(item) for item in entry["recovered"]],
        "model": to_html(entry["model"]),
        "explain": to_html(entry["explain"]),
        "listens": to_html(entry["listens"]),
        "note": entry["note"],
        "follow_up": to_html(entry["follow_up"]),
        "follow_up_answer": to_html(entry["follow_up_answer"]),
    }
