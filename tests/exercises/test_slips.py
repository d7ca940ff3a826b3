"""Right answers in other hands pass; their slips are caught and named, whatever the size of the tile."""

from __future__ import annotations

import pytest

from fa_toolkit import exercises
from fa_toolkit.exercises import slips
from fa_toolkit.exercises.calling import Local
from fa_toolkit.exercises.checker import judge
from fa_toolkit.exercises.report import Report

FULL = exercises.get("07.full")
DRAFTS = ("full_shared", "full_heads", "full_two_loops")


def report_of(name: str, label: str, tile: tuple[int, int]) -> Report:
    return judge(FULL, Local(FULL, slips.Slip(name, label, tile)))


@pytest.mark.parametrize("name", DRAFTS)
def test_every_draft_is_right(name: str) -> None:
    assert report_of(name, "", (48, 32)).outcome == "passed"


@pytest.mark.parametrize(
    ("name", "label", "tile"),
    [
        ("full_shared", "starts-at-zero", (64, 64)),
        ("full_shared", "dk-from-k", (20, 20)),
        ("full_heads", "backward.bound-without-offset", (32, 16)),
        ("full_two_loops", "dq.own-key-hidden", (40, 24)),
    ],
)
def test_a_slip_is_named(name: str, label: str, tile: tuple[int, int]) -> None:
    report = report_of(name, label, tile)
    assert report.outcome == "not yet"
    assert report.diagnosis[0].id == label, str(report)


def test_a_slip_replaces_its_lines_and_no_others() -> None:
    draft = slips.draft("full_shared")
    before, after = draft.source().splitlines(), draft.source("no-scale").splitlines()
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) == 1 and "1.0, q.dtype" in changed[0][1]


def test_a_slip_without_a_sentence_is_an_error() -> None:
    with pytest.raises(KeyError, match="no-scale"):
        slips.variants(["full_shared"], {})
