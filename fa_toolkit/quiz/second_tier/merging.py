"""Which of the model's findings count. Pure: a judgement and a reply make a judgement.

A finding counts if its quote stands in the answer, in a sentence that the first tier takes for a
statement, and speaks of what the point, or for a misconception the question, is about. It may add
what the rules did not detect; it never takes away a misconception or a point that they found, nor
revives a point said both ways.
"""

from __future__ import annotations

import bisect
from collections.abc import Set

from ..free_text.clauses import Clause
from ..free_text.judge import MAX_CHARS, Judgement, Span, listened
from ..free_text.patterns import Reading
from ..free_text.rubric import Point, rules
from ..text_question import TextQuestion
from .asking import Reply

LONGEST = 300  # characters of a quote: longer ones point to nothing
SHORTEST = 3


def merge(
    question: TextQuestion, answer: str, found: Judgement, reply: Reply
) -> tuple[Judgement, tuple[str, ...]]:
    """The judgement with what the reply adds to it, and the ids of what it added."""
    places = _Places(question, answer)
    said, against, wrong = dict(found.said), dict(found.against), dict(found.wrong)
    asked, raised = dict(found.asked), []
    points = rules(question)
    for idea in reply.misconceptions:
        span = places.of(idea.quote, points.names, ("asserted",))
        if idea.asserted and span and idea.id not in wrong:
            wrong[idea.id] = span
            raised.append(idea.id)
        if idea.id in wrong or not idea.asserted:
            asked.pop(idea.id, None)
    blocked = {name for idea in wrong for name in points.misconceptions[idea].cancels}
    for point in reply.points:
        if point.verdict == "missing" or point.id in said or point.id in against:
            continue
        span = places.of(point.quote, _about(points.points[point.id]), ("asserted", "other"))
        if span is None or point.id in blocked:
            continue
        (said if point.verdict == "covered" else against)[point.id] = span
        raised.append(point.id)
    for name in [name for name in said if name in blocked]:
        against.setdefault(name, said.pop(name))
    merged = found._replace(
        said=said, against=against, wrong=wrong, asked=asked, unsure=found.unsure and bool(asked)
    )
    return merged, tuple(name for name in raised if name in {**said, **against, **wrong})


class _Places:
    """Where a quote stands in an answer, if it may be used there."""

    def __init__(self, question: TextQuestion, answer: str) -> None:
        self.answer = answer[:MAX_CHARS]
        prompts = (question.prompt.en, question.prompt.zh)
        self.reading, self.folded = listened(answer, rules(question), prompts)

    def of(self, quote: str, names: Set[str], frames: tuple[str, ...]) -> Span | None:
        """The first place of a quote that speaks of one of `names`, and only in `frames`."""
        quote = quote.strip()
        if not SHORTEST <= len(quote) <= LONGEST:
            return None
        start = self.answer.find(quote)
        while start >= 0:
            touched = self._touched(start, start + len(quote))
            fits = touched and all(self.reading.parts[at].frame in frames for at in touched)
            if fits and _speaks(self.reading, touched, names):
                return start, start + len(quote)
            start = self.answer.find(quote, start + 1)
        return None

    def _touched(self, start: int, end: int) -> list[int]:
        """The clauses that a stretch of the answer lies in."""
        first = bisect.bisect_left(self.folded.at, start)
        last = bisect.bisect_left(self.folded.at, end)
        parts: list[Clause] = self.reading.parts
        return [at for at, part in enumerate(parts) if part.start < last and first < part.end]


def _about(point: Point) -> set[str]:
    """The concepts that the patterns of a point speak of."""
    return {name for pattern in point.patterns for name in pattern.names}


def _speaks(reading: Reading, touched: list[int], names: Set[str]) -> bool:
    """Whether these clauses speak of any of the concepts."""
    return any(at in reading.table.get(name, ()) for name in names for at in touched)
