"""The picture of readiness: what it says in words, both themes, both languages, odd histories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fa_toolkit.viz.figures.preparation import TopicLine, readiness_lines

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def line(name: str, standing: Any, *values: float, **more: Any) -> TopicLine:
    history = tuple((START + timedelta(days=n), value) for n, value in enumerate(values))
    return TopicLine(name, standing, round(values[-1]) if values else 0, history, **more)


def words(figure: Any) -> list[str]:
    every = [*figure.texts, *(text for ax in figure.axes for text in ax.texts)]
    return [text.get_text() for text in every]


TOPICS = (
    line("Softmax", "ready", 20, 60, 91),
    line("Masks", "blocked", 90, 88),
    line("Speed", "under way", 30, answered=2, needed=5),
    line("Numerics", "unseen"),
)


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_every_row_says_its_standing_in_words(theme: Any) -> None:
    said = words(readiness_lines(TOPICS, theme=theme, lang="en"))
    for expected in ("Softmax", "91", "✓ ready", "✗ blocked", "2 of 5 answered", "not begun", "–"):
        assert expected in said
    assert "1 of 4 topics ready; 1 blocked by a fatal misconception." in said
    assert "2026-03-02" in said and "now" in said


def test_it_speaks_chinese() -> None:
    said = words(readiness_lines(TOPICS, lang="zh", total=9))
    assert any("9 个主题" in text for text in said) or any("of 9 topics" in text for text in said)


@pytest.mark.parametrize("topics", [(), TOPICS[3:], (line("a", "under way", 0.0),)])
def test_little_or_nothing_can_be_drawn(topics: Any) -> None:
    figure = readiness_lines(topics, lang="en")
    assert "<svg" in figure.html()
    assert ("Nothing answered yet." in words(figure)) is not any(t.history for t in topics)


def test_the_curve_ends_at_the_number_and_never_leaves_its_row() -> None:
    figure = readiness_lines(TOPICS[:1], lang="en")
    steps = [drawn for drawn in figure.axes[0].lines if drawn.get_drawstyle() == "steps-post"]
    (curve,) = steps
    xs, ys = curve.get_xdata(), curve.get_ydata()
    assert xs[0] == 0 and xs[-1] == 1 and list(xs) == sorted(xs)
    assert ys[-1] < ys[0], "up is better"
    assert all(-0.5 < y < 0.5 for y in ys)
