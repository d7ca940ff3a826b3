"""The stepper without a browser: numbers of claims S10 to S12, words, input, wire, fallback."""

from __future__ import annotations

import json
import math
import re

import anywidget
import pytest
import torch
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit import viz
from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import using
from fa_toolkit.viz.softmax_stepper.frames import Frame, Run, run
from fa_toolkit.viz.softmax_stepper.row import MAX_LENGTH, read_blocks, read_row
from fa_toolkit.viz.softmax_stepper.state import StepperState
from fa_toolkit.viz.softmax_stepper.wire import PRESETS, payload
from fa_toolkit.viz.softmax_stepper.words import UI, caption, formula

E1 = math.exp(-1)


def _at(steps: Run, kind: str, block: int) -> Frame:
    (found,) = (f for f in steps.frames if f.kind == kind and f.block == block)
    return found


def test_one_two_three_four_in_two_blocks_is_what_the_claims_say() -> None:
    steps = run([1, 2, 3, 4], [2, 2])
    first, fix, last = _at(steps, "add", 0), _at(steps, "correct", 1), _at(steps, "add", 1)
    assert (first.m, first.l) == (2, pytest.approx(E1 + 1, rel=1e-15))  # S10
    assert last.m == 4
    assert fix.factor == pytest.approx(math.exp(2 - 4), rel=1e-15)  # S11
    assert fix.l == pytest.approx(math.exp(-2) * (E1 + 1), rel=1e-15)
    assert round(last.l or 0, 3) == 1.553  # S12
    assert steps.frames[-1].terms == pytest.approx(
        torch.softmax(torch.tensor([1.0, 2, 3, 4]).double(), 0).tolist()
    )
    assert steps.asks == [6] and len(steps.frames) == 9


def test_a_falling_row_needs_no_correction_and_both_rules_agree() -> None:
    steps = run([4, 3, 2, 1], [2, 2])
    fix = _at(steps, "correct", 1)
    assert fix.factor == 1 and fix.l == fix.l_old
    assert steps.frames[-1].subtract == pytest.approx(steps.frames[-1].l)


def test_subtracting_fails_and_no_maximum_overflows() -> None:
    rising = run([1, 2, 3, 4], [2, 2])
    assert rising.first["subtract"] > 1  # no probability
    assert rising.first["no_max"] == pytest.approx(rising.first["multiply"])
    large = run([1000, 1001], [1, 1])
    assert large.frames[-1].no_max == math.inf and math.isnan(large.first["no_max"])
    assert large.first["multiply"] == pytest.approx(1 / (1 + math.e))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_end_is_softmax_of_the_whole_row(data: st.DataObject) -> None:
    row = data.draw(st.lists(st.floats(-50, 50), min_size=1, max_size=MAX_LENGTH))
    blocks: list[int] = []
    while sum(blocks) < len(row):
        blocks.append(data.draw(st.integers(1, len(row) - sum(blocks))))
    steps = run(row, blocks)
    whole = torch.softmax(torch.tensor(row, dtype=torch.float64), 0)
    assert (torch.tensor(steps.frames[-1].terms) - whole).abs().max() < 1e-7
    assert steps.gap < 1e-12
    for frame in steps.frames:
        assert len(frame.terms) == len(row)
        if frame.kind == "correct" and frame.l is not None and frame.terms:
            seen = [t for t in frame.terms if t is not None]
            assert sum(seen) == pytest.approx(frame.l, rel=1e-9)  # ratios within never change


@pytest.mark.parametrize(
    ("text", "row"), [("1 2 3", [1, 2, 3]), ("[1，−2、3.5]", [1, -2, 3.5]), ("1e1", [10])]
)
def test_rows_are_read_as_people_write_them(text: str, row: list[float]) -> None:
    assert read_row(text) == row


@pytest.mark.parametrize(
    ("x", "blocks", "say"),
    [
        ("", "1", "0 numbers"), ("1,a", "1", "'a'"), ("1,inf", "1", "finite"), ("nan", "1", "finite"),
        ("99999", "1", "10,000"), (",".join("1" * 17), "1", "17"), ("1,2", "3", "from 1 to 2"),
        ("1,2", "0", "from 1 to 2"), ("1,2,3", "2,2", "2 + 2 = 4"), ("1,2", "x", "'x'"), ("1,2", "", "nothing"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(x: str, blocks: str, say: str) -> None:
    with using("en"):
        state = StepperState(lang="en")
        state.typed = {"x": x, "blocks": blocks}
        assert say in state.error and "\n" not in state.error
        assert state.x == [1, 2, 3, 4]  # the old run stays
        state.typed = {"x": "2, 1", "blocks": "2"}
        assert state.error == "" and state.x == [2, 1] and state.blocks == [1, 1]


def test_one_number_counts_blocks_and_several_are_lengths() -> None:
    assert read_blocks(2, 5) == read_blocks("2", 5) == [3, 2]
    assert read_blocks([1, 4], 5) == read_blocks("1 4", 5) == [1, 4]
    with pytest.raises(ArgumentError):
        viz.stepper([1, 2], [3])


def test_state_holds_without_a_front_end() -> None:
    state = StepperState()
    state.step = 99
    assert state.step == 8
    state.step = -3
    assert state.step == 0
    state.guesses = {"6": {"text": "1/7", "value": 1 / 7, "verdict": "other"}}
    assert state.prediction == pytest.approx(1 / 7)
    state.load("1000, 1001", 2)
    assert state.guesses == {} and state.prediction is None and state.step == 0
    with pytest.raises(traitlets.TraitError):
        state.x = [1.0]


def test_language_changes_at_once() -> None:
    state = StepperState(lang="en")
    english = state.payload["frames"][1]["caption"]
    state.lang = "zh"
    assert state.payload["frames"][1]["caption"] != english
    assert state.labels["play"] == "播放"


def test_both_languages_say_the_same_numbers() -> None:
    for _, x, blocks in PRESETS:
        row = read_row(x)
        steps = run(row, read_blocks(blocks, len(row)))
        for frame in steps.frames:
            for asked in (False, True):
                said = []
                for lang in ("en", "zh"):
                    with using(lang):
                        said.append(caption(steps, frame, asked=asked and frame.kind == "correct"))
                live = [re.findall(r"\*(.*?)\*", text) for text in said]
                assert live[0] == live[1] and said[0] != said[1]
    for name, text in UI.items():
        assert re.findall(r"\{\w+\}", text.en) == re.findall(r"\{\w+\}", text.zh), name
        assert text.en.count("|") == text.zh.count("|"), name


def test_the_question_does_not_show_its_answer() -> None:
    with using("en"):
        steps = run([1, 2, 3, 4], [2, 2])
        fix, before = steps.frames[6], steps.frames[5]
        assert "0.1353" not in caption(steps, fix, asked=True)
        for frame, asked in ((before, False), (fix, True)):
            rows = formula(steps, frame, asked=asked)
            assert [name for name, _, _ in rows] == ["m", "factor", "l", "p"]
            assert not any("0.1353" in text or "e^(2" in text for _, text, _ in rows)
        assert "e^(2 − 4) = *0.1353*" in [text for _, text, _ in formula(steps, fix)]


def test_the_wire_is_plain_json() -> None:
    for x in ([1, 2, 3, 4], [1000, 1001], [-5, -1], [0]):
        sent = payload(run(x, [1] * len(x)))
        assert len(json.dumps(sent, allow_nan=False)) < 20_000
        low, high = sent["scale"]
        assert low <= 0 < high


def test_widget_is_thin_and_has_a_fallback() -> None:
    widget = viz.stepper([1, 2, 3, 4], 2, lang="zh")
    assert isinstance(widget, anywidget.AnyWidget)
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "1.553" in data["text/html"] and "因子" in data["text/html"]
    assert "除以 1.553" in data["text/plain"]
    widget.close()


def test_fallback_escapes_what_it_shows() -> None:
    widget = viz.stepper("1, 2", 1, lang="en")
    assert "<script" not in widget._repr_mimebundle_()[0]["text/html"]
    widget.close()


@pytest.mark.parametrize("odd", [None, 3, 1.5, float("nan"), object()], ids=type)
def test_what_is_no_row_is_refused_with_a_sentence(odd: object) -> None:
    for make in (viz.stepper, viz.softmax_bars):
        with using("en"), pytest.raises(ArgumentError, match="x: expected numbers"):
            make(odd)  # type: ignore[operator]
