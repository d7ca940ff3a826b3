"""Judge a written answer point by point against the patterns of its question. Pure and linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .clauses import Clause, clauses
from .disowned import disown
from .fold import Folded, fold
from .frames import frame
from .guards import grams, guard
from .patterns import Pattern, Reading
from .rubric import Patterns

MAX_CHARS = 6000
Span = tuple[int, int]


class Judgement(NamedTuple):
    """What an answer says, as spans of the answer by point.

    `said` are covered points, `against` points said otherwise than they are, `wrong` misconceptions
    asserted, `asked` misconceptions that may be meant. `unsure` when much of it was not understood,
    `disowned` when the answer calls all of itself wrong.
    """

    said: dict[str, Span]
    against: dict[str, Span]
    wrong: dict[str, Span]
    asked: dict[str, Span]
    unsure: bool
    guarded: bool
    truncated: bool
    disowned: bool = False


def judge(
    answer: str, rules: Patterns, prompts: Sequence[str], weights: Mapping[str, int]
) -> Judgement:
    """The judgement of an answer; only its first MAX_CHARS characters are read."""
    truncated = len(answer) > MAX_CHARS
    folded, parts, guarded, disowned = _heard(answer, rules, prompts)
    reading = Reading(parts, rules.lexicon, set(rules.names), folded.text)
    said = _spans(rules.points, reading, folded, "patterns")
    against = _spans(rules.points, reading, folded, "against")
    wrong = _spans(rules.misconceptions, reading, folded, "patterns")
    asked = _spans(rules.misconceptions, reading, folded, "against")
    for name in wrong:
        asked.pop(name, None)
        for cancelled in rules.misconceptions[name].cancels:
            if cancelled in said:
                against.setdefault(cancelled, wrong[name])
    if _both_ways(parts) and (against or wrong):
        said = {}
    said = {name: span for name, span in said.items() if name not in against}
    score = sum(weights.get(name, 0) for name in said) - 15 * len(wrong)
    unsure = not guarded and not wrong and (bool(asked) or _unsure(reading, said, score))
    return Judgement(said, against, wrong, asked, unsure, guarded, truncated, disowned)


def listened(answer: str, rules: Patterns, prompts: Sequence[str]) -> tuple[Reading, Folded]:
    """What every clause of an answer says and how it is meant, before any point is looked for."""
    folded, parts, _, _ = _heard(answer, rules, prompts)
    return Reading(parts, rules.lexicon, set(rules.names), folded.text), folded


def _heard(
    answer: str, rules: Patterns, prompts: Sequence[str]
) -> tuple[Folded, list[Clause], bool, bool]:
    """Folded text, its framed clauses, whether most earns nothing, and whether all is taken back."""
    folded = fold(answer[:MAX_CHARS])
    parts = clauses(folded.text)
    frame(parts, rules.other)
    asked = [frozenset(grams(prompt.lower())) for prompt in prompts]
    guarded = guard(parts, _sentences(parts), asked, folded.text)
    disowned = disown(parts, folded.text)
    return folded, parts, guarded or disowned, disowned


def _sentences(parts: list[Clause]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for part in parts:
        texts[part.sentence] = (
            texts[part.sentence] + "," if part.sentence in texts else ""
        ) + part.text
    return texts


def _spans(
    points: Mapping[str, object], reading: Reading, folded: Folded, which: str
) -> dict[str, Span]:
    found = {}
    for name, point in points.items():
        patterns: tuple[Pattern, ...] = getattr(point, which)
        for pattern in patterns:
            span = reading.match(pattern)
            if span is not None:
                found[name] = folded.span(*span)
                break
    return found


_HEDGES = (
    "in one sense", "in another sense", "both ways", "depending on", "depends on how you",
    "you could say", "in a way", "at the same time", "as well as not", "may or may not",
    "might or might not", "and also not", "so to speak both", "either way", "看你怎么",
    "看怎么理解", "看情况", "也可以说", "某种意义上", "可能变", "两种说法都", "同时也", "既是",
    "又没有变", "也没有变", "也算", "都可以", "不好说",
)  # fmt: skip


def _both_ways(parts: list[Clause]) -> bool:
    """Whether an answer says a thing and its opposite on purpose."""
    return any(hedge in part.text for part in parts for hedge in _HEDGES)


def _unsure(reading: Reading, said: Mapping[str, Span], score: int) -> bool:
    """Much of the subject is spoken of and little of it was understood."""
    spoken = {
        at
        for name, by_clause in reading.table.items()
        for at in by_clause
        if reading.parts[at].frame == "asserted"
    }
    concepts = sum(
        1 for by_clause in reading.table.values() if any(at in spoken for at in by_clause)
    )
    if score >= 60 or concepts < 3:
        return False
    return (len(said) <= 1 and concepts >= 5) or concepts >= 4 * len(said) + 4
