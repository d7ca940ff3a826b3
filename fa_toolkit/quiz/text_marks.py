"""The grader of written answers: from spans by point to a verdict that can be read. Pure."""

from __future__ import annotations

import re
from typing import Any

from ..language import Language, Text, say
from .free_text.judge import MAX_CHARS, Judgement, judge
from .free_text.rubric import rules
from .marks import empty, unreadable
from .text_question import PENALTY, KeyPoint, Misconception, TextQuestion
from .verdict import Item, Status, Verdict

_WRITE = Text("Write an answer in your own words.", "请用自己的话作答。")
_NO_WORDS = Text("There are no words in this answer.", "答案里没有文字。")
_CUT = Text(
    "Only the first {n:,} characters were read. Say it shorter, as you would aloud.",
    "只读了前 {n:,} 个字符。请像口头回答那样说得短一些。",
)
_DISOWNED = Text(
    "This answer calls all that it says wrong, so nothing counts as asserted. Say what you hold to be true.",
    "这份答案把自己说的全部否定了，所以不算提出了任何观点。请直接写出你认为对的内容。",
)
_SUM = Text("{points} from key points{minus}, of 100", "要点 {points} 分{minus}，满分 100")
_MINUS = Text(" − {n} × 15 for misconceptions", "，误解 {n} 处各扣 15 分")
_WORDS = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}|[\u3400-\u9fff]{2,}|[A-Za-z]\s*=|\d")


def text(question: TextQuestion, answer: Any, lang: Language) -> Verdict:
    """Sum of the weights of the key points covered, less 15 for each misconception asserted."""
    if answer is None or answer == [] or (isinstance(answer, str) and not answer.strip()):
        raise empty(_WRITE)
    if not isinstance(answer, str) or not _WORDS.search(answer[:MAX_CHARS]):
        raise unreadable(_NO_WORDS)
    return verdict(question, answer, lang, heard(question, answer))


def heard(question: TextQuestion, answer: str) -> Judgement:
    """What an answer says."""
    prompts = (question.prompt.en, question.prompt.zh)
    return judge(answer, rules(question), prompts, question.weights)


def verdict(question: TextQuestion, answer: str, lang: Language, found: Judgement) -> Verdict:
    """The verdict on what was found in an answer; here alone a score is computed."""
    credited = [p for p in question.key_points if p.id in found.said]
    against = [p for p in question.key_points if p.id in found.against]
    missing = [p for p in question.key_points if p not in credited and p not in against]
    wrong = [m for m in question.misconceptions if m.id in found.wrong]
    points = sum(point.weight for point in credited)
    return Verdict(
        question.id,
        lang,
        _status(found),
        score=max(0, points - PENALTY * len(wrong)),
        credited=tuple(_item(p, lang, found.said.get(p.id)) for p in credited),
        missing=tuple(_item(p, lang) for p in missing),
        contradicted=tuple(_item(p, lang, found.against.get(p.id)) for p in against),
        misconceptions=tuple(_item(m, lang, found.wrong[m.id]) for m in wrong),
        said=answer,
        note=_note(found),
        arithmetic=say(_SUM, points=points, minus=say(_MINUS, n=len(wrong)) if wrong else ""),
        details=_details(question, found, answer, lang),
    )


def _note(found: Judgement) -> str:
    cut = [say(_CUT, n=MAX_CHARS)] if found.truncated else []
    return " ".join([*cut, *([say(_DISOWNED)] if found.disowned else [])])


def _status(found: Judgement) -> Status:
    if found.truncated:
        return "truncated"
    return "unsure" if found.unsure else "ok"


def _item(
    entry: KeyPoint | Misconception, lang: Language, span: tuple[int, int] | None = None
) -> Item:
    return Item(entry.id, entry.text[lang], span, tuple(entry.claims), entry.why[lang])


def _details(
    question: TextQuestion, found: Judgement, answer: str, lang: Language
) -> dict[str, Any]:
    """What the card shows beside the items: quotes, what to ask, and what a good answer says."""
    spans = {**found.against, **found.said, **found.wrong, **found.asked}
    asked = [m for m in question.misconceptions if m.id in found.asked]
    return {
        "quotes": {name: _quote(answer, *span) for name, span in spans.items()},
        "asked": [{"id": m.id, "text": m.text[lang]} for m in asked],
        "fatal": [m.id for m in question.misconceptions if m.fatal and m.id in found.wrong],
        "filling": found.guarded,
        "careful": {
            p.id: p.careful[lang] for p in question.key_points if p.careful and p.id in found.said
        },
        "model": question.model_answer[lang],
        "listens": question.listens_for[lang],
    }


def _quote(answer: str, start: int, end: int) -> str:
    """The words around a span up to the ends of its clause, at most some 160 characters."""
    while start > 0 and start > end - 160 and not _EDGE_BEFORE.match(answer[start - 1]):
        start -= 1
    while end < len(answer) and end < start + 160 and not _EDGE_BEFORE.match(answer[end]):
        end += 1
    return answer[start:end].strip()


_EDGE_BEFORE = re.compile(r"[.;\n。；！？!?]")
