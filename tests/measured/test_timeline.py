"""A run with stamps: kept and read back as it was, doubted where it contradicts itself."""

from __future__ import annotations

import json
from dataclasses import replace

import made_up_timeline as made_up
import pytest

from fa_toolkit import measured
from fa_toolkit.language import Text
from fa_toolkit.measured import Method, Provenance, Run, Stamps, dump, load, problems_of, spans

WHERE = Provenance("GPU", "1.0", {"torch": "2"}, "2026-11-30", "fa bench", "fa bench")
RUN = Run(
    "x", Text("a", "甲"), WHERE, Method(0.15, 25.0, 2, True, 1.0),
    timelines=(replace(made_up.TIMELINE, run="x"),),
    stamps=tuple(replace(row, run="x") for row in made_up.stamps()),
)  # fmt: skip


def test_a_run_comes_back_as_it_was() -> None:
    again = load(json.loads(dump(RUN)))
    assert again == RUN
    assert [row.clocks for row in again.stamps] == [row.clocks for row in RUN.stamps]
    assert again.timelines[0].clocks == RUN.timelines[0].clocks
    assert problems_of(again) == []


def _first(**changes: object) -> Run:
    return replace(RUN, timelines=(replace(RUN.timelines[0], **changes),))  # type: ignore[arg-type]


def _stamped(row: Stamps) -> Run:
    return replace(RUN, stamps=(row, *RUN.stamps[1:]))


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (_first(plain_ms=0.0), "plain_ms"),
        (_first(skew={"turn": 0, "filled": -500}), "skew of filled"),
        (replace(RUN, timelines=()), "timeline"),
        (_stamped(replace(RUN.stamps[0], clocks={"asked": 1, "arrived": 2})), "clocks"),
        (_stamped(replace(RUN.stamps[0], clocks={"empty": 3, "asked": 1, "arrived": 2})), "clocks"),
    ],
)
def test_what_contradicts_itself_is_named(run: Run, named: str) -> None:
    assert any(named in problem for problem in problems_of(run))


def test_stages_follow_from_stamps() -> None:
    found = spans(row for row in RUN.stamps if row.tile == 13 and row.role != "group 1")
    assert [(s.role, s.stage, s.begin, s.end, s.latest) for s in found] == [
        ("producer", "copy", 340, 1240, False),
        ("group 0", "scores", 2400, 3600, False),
        ("group 0", "exponentials", 3600, 4300, False),
        ("group 0", "values", 3600, 4360, True),
    ]


def test_what_chapter_08_says_of_the_recorded_run() -> None:
    """A step, the part of it that products need, and how early copies are where they are shown."""
    run = measured.run("h200-timeline")
    case = next(row for row in run.timelines if not row.problem.causal)
    assert case.clocks["step"] == 2657
    products, exponentials = 4 * 128 * 128 * 128 / 4096, 128 * 128 / 16
    assert (products, exponentials) == (2048, 1024)
    assert round(100 * products / case.clocks["step"]) == 77
    shown = [row for row in run.stamps if row.problem == case.problem]
    arrived = {row.tile: row.clocks["arrived"] for row in shown if row.role == "producer"}
    early = [
        row.clocks["filled"] - arrived[row.tile + 1] for row in shown if row.role != "producer"
    ]
    assert len(early) == 16 and min(early) > 300
    # stamps cost something, and less than a tenth
    assert 0 < case.slowdown < 0.1
