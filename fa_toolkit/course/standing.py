"""Readiness and verdicts as cards: for a notebook, and lines of text everywhere else."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any

from ..language import Text, say
from ..progress.readiness import READY, Topic
from ..quiz import load_bank
from ..quiz.bank import Bank
from ..quiz.text_question import TextQuestion
from ..quiz.verdict import Verdict
from . import cards
from .cards import Card

_STATES = {
    "under way": Text(
        "under way, {answered} of {needed} answered", "进行中，已答 {answered} / {needed}"
    ),
    "ready": Text("✓ ready", "✓ 就绪"),
    "blocked": Text("✗ blocked", "✗ 受阻"),
}
_BLOCK = Text(
    "✗ {topic}: “{idea}” ({item}). Answer that question without it, on a later day, and the block goes.",
    "✗ {topic}：“{idea}”（{item}）。改天再答这道题，不再这样说，就不再受阻。",
)
_TITLE = Text(
    "Readiness by topic, of 100; ready from {ready}", "各主题准备程度（满分 100，{ready} 起为就绪）"
)
_NOT_BEGUN = Text("Not begun, {n} topics: {names}.", "还没开始的主题有 {n} 个：{names}。")
_NONE = Text(
    "Nothing answered yet, so there is nothing to say about readiness.",
    "还没有作答，谈不上准备程度。",
)
_COMMA = Text(", ", "、")
_TONES = {"✓": "good", "○": "miss", "✗": "bad", "?": "miss"}
_MOST_WIDE = 20
_TICKS = "▁▂▃▄▅▆▇█"


def readiness_card(topics: Sequence[Topic]) -> Card:
    """Every topic's readiness over time, and what blocks it."""
    from ..viz.figures.preparation import TopicLine, readiness_lines

    bank, lines = load_bank(), []
    for topic in topics:
        if not topic.history:
            continue
        lines.append(
            TopicLine(
                name=say(bilingual(bank, topic.name)),
                standing=topic.standing,
                score=topic.score,
                history=topic.history,
                answered=topic.answered,
                needed=topic.needed,
            )
        )
    if not lines:
        return Card(cards.head(say(_NONE)), say(_NONE))
    figure: Any = readiness_lines(lines, total=len(topics), ready=READY)
    notes = [*blocks(bank, topics), *not_begun(bank, topics)]
    body = figure.html() + "".join(cards.note(text) for text in notes)
    return Card(body, readiness_text(topics))


def readiness_text(topics: Sequence[Topic]) -> str:
    """The same as lines: a small curve, the number, where the topic stands."""
    bank = load_bank()
    names = [say(bilingual(bank, topic.name)) for topic in topics]
    wide = max((columns(n) for n, t in zip(names, topics, strict=True) if t.history), default=0)
    span = [at for topic in topics for at, _ in topic.history]
    lines = [say(_TITLE, ready=READY)]
    for name, topic in zip(names, topics, strict=True):
        if not topic.history:
            continue
        state = say(_STATES[topic.standing], answered=topic.answered, needed=topic.needed)
        if topic.standing == "under way" and topic.answered >= topic.needed:
            state = state.split("，" if "，" in state else ",")[0]
        score = f"{topic.score:>3}"
        gap = " " * (wide - columns(name))
        lines.append(f"{name}{gap}  {_curve(topic, span):<{_MOST_WIDE}}  {score}  {state}".rstrip())
    return "\n".join([*lines, *blocks(bank, topics), *not_begun(bank, topics)])


def verdict_card(verdict: Verdict) -> Card:
    """A verdict line by line, its marks coloured."""
    lines = str(verdict).splitlines()
    parts = [cards.head(lines[0])]
    for line in lines[1:]:
        text, inner = line.strip(), line.startswith("  ")
        tone = _TONES.get(text[:1], "soft" if inner else "plain")
        margin = f"margin: {0 if text else 8}px 0 2px {20 * inner}px"
        parts.append(f'<p class="fc-{tone}" style="{margin}">{escape(text)}</p>')
    return Card("".join(parts), "\n".join(lines))


def not_begun(bank: Bank, topics: Sequence[Topic]) -> list[str]:
    """The topics of which no question was answered, in one sentence."""
    names = [say(bilingual(bank, topic.name)) for topic in topics if not topic.history]
    return [say(_NOT_BEGUN, n=len(names), names=say(_COMMA).join(names))] if names else []


def blocks(bank: Bank, topics: Sequence[Topic]) -> list[str]:
    """A sentence for each fatal misconception that stands."""
    return [
        say(
            _BLOCK,
            topic=say(bilingual(bank, topic.name)),
            idea=misconception(bank, block.item, block.misconception),
            item=block.item,
        )
        for topic in topics
        for block in topic.blocks
    ]


def misconception(bank: Bank, item: str, name: str) -> str:
    """A misconception in words; its id where the bank no longer has it."""
    question = bank.questions.get(item)
    if isinstance(question, TextQuestion):
        for entry in question.misconceptions:
            if entry.id == name:
                return say(Text(entry.text.en, entry.text.zh))
    return name


def bilingual(bank: Bank, topic: str) -> Text:
    """A topic's name."""
    return Text(bank.topics[topic].en, bank.topics[topic].zh)


def columns(text: str) -> int:
    """How wide a text is in a terminal: a Chinese character takes two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _curve(topic: Topic, span: Sequence[datetime]) -> str:
    """The history as small columns, evenly spread from the first answer of all to now."""
    if not topic.history:
        return ""
    first, last = min(span), max(span)
    drawn = []
    for place in range(_MOST_WIDE):
        at = first + (last - first) * (place + 1) / _MOST_WIDE
        seen = [value for when, value in topic.history if when <= at]
        drawn.append(_TICKS[min(7, int(seen[-1] * 8 / 100))] if seen else " ")
    return "".join(drawn)
