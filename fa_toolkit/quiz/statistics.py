"""What a question bank holds, counted: by chapter, kind, level, topic, claim; in plain columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..language import Text, say
from .bank import Bank
from .models import KINDS, Call, NumberQuestion, Question, TraceQuestion
from .wording import LEVELS

_HEADS = {
    "total": Text("{n} questions, {core} of them core, each in English and Chinese",
                  "共 {n} 题，其中核心题 {core} 道，每题都有中英文"),
    "follow": Text("{n} have a follow-up; {computed} ask for numbers that the package computes; "
                   "{code} show code", "带追问的 {n} 道；数值由软件包算出的 {computed} 道；带代码的 {code} 道"),
    "chapter": Text("by chapter and kind", "按章和题型"),
    "level": Text("by level", "按难度"),
    "topic": Text("by topic", "按主题"),
    "claim": Text("by claim of the article: questions, kinds", "按文章论断：题数、题型"),
    "paper": Text("by paper or page cited", "按引用的论文或网页"),
}  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """Counts of a bank. `computed` are number and trace questions whose key calls a function."""

    total: int
    core: int
    follow_ups: int
    computed: int
    code: int
    chapters: Mapping[str, Counter[str]]
    levels: Mapping[str, int]
    topics: Counter[str]
    claims: Mapping[str, Counter[str]]
    papers: Counter[str]
    topic_names: Mapping[str, str]

    def __str__(self) -> str:
        lines = [
            say(_HEADS["total"], n=self.total, core=self.core),
            say(_HEADS["follow"], n=self.follow_ups, computed=self.computed, code=self.code),
        ]
        return "\n".join([*lines, *self._tables()])

    def _tables(self) -> Iterator[str]:
        yield from ("", say(_HEADS["chapter"]), "  " + _columns("", [*KINDS, "="]))
        for name, kinds in self.chapters.items():
            row = [str(kinds[kind] or "·") for kind in KINDS]
            yield "  " + _columns(name, [*row, str(kinds.total())])
        yield from ("", say(_HEADS["level"]))
        for level, count in self.levels.items():
            yield f"  {count:>4}  {say(LEVELS[level])}"
        yield from ("", say(_HEADS["topic"]))
        for topic, count in self.topics.most_common():
            yield f"  {count:>4}  {self.topic_names[topic]}"
        yield from ("", say(_HEADS["claim"]))
        for claim, kinds in self.claims.items():
            yield f"  {claim}  {kinds.total():>3}  {_listed(kinds)}"
        if self.papers:
            yield from ("", say(_HEADS["paper"]), f"  {_listed(self.papers)}")


def statistics(bank: Bank) -> Statistics:
    """Count what a bank holds.

    Example:
        >>> from fa_toolkit.quiz import load_bank
        >>> statistics(load_bank()).claims["S12"].total() >= 3
        True
    """
    questions = list(bank.questions.values())
    claims: dict[str, Counter[str]] = {name: Counter() for name in bank.claims}
    for question in questions:
        for claim in question.claims:
            claims[claim][question.kind] += 1
    return Statistics(
        total=len(questions),
        core=sum(question.core for question in questions),
        follow_ups=sum(question.follow_up is not None for question in questions),
        computed=sum(is_computed(question) for question in questions),
        code=sum("```" in question.prompt.en for question in questions),
        chapters={
            f"{number:02d}": Counter(question.kind for question in chapter.questions)
            for number, chapter in bank.chapters.items()
        },
        levels={level: sum(q.level == level for q in questions) for level in LEVELS},
        topics=Counter(question.topic for question in questions),
        claims=claims,
        papers=Counter(p.partition(" ")[0] for question in questions for p in question.papers),
        topic_names={name: say(Text(text.en, text.zh)) for name, text in bank.topics.items()},
    )


def is_computed(question: Question) -> bool:
    """Whether the key of a question comes from a function of the package, not from a formula."""
    if isinstance(question, TraceQuestion):
        return True
    return isinstance(question, NumberQuestion) and any(_calls(question.answer))


def _calls(key: object) -> Iterator[bool]:
    if isinstance(key, Call):
        yield key.call != "arithmetic"
        for value in key.args.values():
            if isinstance(value, dict) and "call" in value:
                yield value["call"] != "arithmetic"


def _columns(first: str, cells: Iterable[str]) -> str:
    return f"{first:<4}" + "".join(f"{cell:>8}" for cell in cells)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
