"""The stepper without a browser: numbers of claims S10 to S12, words, input, wire, fallback."""

from __future__ import annotations

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
from fa_toolkit.tiled import SoftmaxState
from fa_toolkit.viz.softmax_stepper.frames import ASKS, VIEWS, Frame, Run, run
from fa_toolkit.viz.softmax_stepper.row import MAX_LENGTH, read_blocks, read_row, read_values
from fa_toolkit.viz.softmax_stepper.sentences import answer, formula, sentence
from fa_toolkit.viz.softmax_stepper.state import StepperState
from fa_toolkit.viz.softmax_stepper.words import PRESETS

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


def _drawn(data: st.DataObject) -> tuple[list[float], list[int], list[list[float]]]:
    row = data.draw(st.lists(st.floats(-50, 50), min_size=1, max_size=MAX_LENGTH))
    blocks: list[int] = []
    while sum(blocks) < len(row):
        blocks.append(data.draw(st.integers(1, len(row) - sum(blocks))))
    width = data.draw(st.integers(1, 3))
    cell = st.floats(-9, 9, allow_subnormal=False)
    one = st.lists(cell, min_size=width, max_size=width)
    return row, blocks, data.draw(st.lists(one, min_size=len(row), max_size=len(row)))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_all_three_ways_end_in_softmax_of_the_whole_row(data: st.DataObject) -> None:
    row, blocks, v = _drawn(data)
    steps = run(row, blocks, v)
    whole = torch.softmax(torch.tensor(row, dtype=torch.float64), 0)
    o = (whole @ torch.tensor(v, dtype=torch.float64)).tolist()
    for view in VIEWS:
        frames = steps.views[view]
        assert (torch.tensor(frames[-1].terms) - whole).abs().max() < 1e-7
        assert steps.gaps[view] < 1e-12 and frames[-1].out == pytest.approx(o, abs=1e-10)
        assert frames[-1].reads == len(row) * (3 if view == "three" else 1)
        assert frames[-1].m == max(row)
        for frame in frames:
            assert len(frame.terms) == len(row)
    for frame in steps.frames:
        if frame.kind in ("correct", "add"):
            seen = [t for t in frame.terms if t is not None]
            assert sum(seen) == pytest.approx(frame.l, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_ratios_inside_a_block_never_change(data: st.DataObject) -> None:
    row, blocks, v = _drawn(data)
    steps = run(row, blocks, v)
    starts = [sum(blocks[:i]) for i in range(len(blocks))]
    for view in VIEWS:
        for frame in steps.views[view]:
            for start, size in zip(starts, blocks, strict=True):
                terms = [t for t in frame.terms[start : start + size] if t is not None]
                inside = row[start : start + size]
                if len(terms) == size and max(terms) > 1e-200:
                    assert min(terms) / max(terms) == pytest.approx(
                        math.exp(min(inside) - max(inside)), rel=1e-9
                    )


def test_acc_is_corrected_by_the_same_factor_and_merges_as_tiles_do() -> None:
    steps = run([1, 2, 3, 4], [2, 2], [[1], [10], [100], [1000]])
    first, fix, last = _at(steps, "add", 0), _at(steps, "correct", 1), _at(steps, "add", 1)
    assert first.acc == [pytest.approx(E1 + 10)]
    assert fix.acc == [pytest.approx(math.exp(-2) * (E1 + 10))]
    x, v = torch.tensor([[1.0, 2, 3, 4]]).double(), torch.tensor([[1.0], [10], [100], [1000]]).double()  # fmt: skip
    empty = SoftmaxState.empty((1,), 1, dtype=torch.float64)
    halves = [empty.update(x[:, a : a + 2], v[a : a + 2]) for a in (0, 2)]
    assert last.acc == pytest.approx(empty.update(x, v).acc[0].tolist())
    joined = steps.views["merged"][-2]
    merged = halves[0].merge(halves[1]).acc[0].tolist()
    assert joined.kind == "join" and joined.acc == pytest.approx(merged)
    weigh = steps.views["merged"][-3]
    assert (weigh.factor, weigh.factor_in) == (pytest.approx(math.exp(-2)), 1)
    assert answer(weigh) == answer(fix) == pytest.approx(math.exp(-2))
    assert [part[0] for part in weigh.parts] == [2, 4]
    falling = run([4, 3, 2, 1], [2, 2]).views["merged"][-3]
    assert (falling.factor, falling.factor_in) == (1, pytest.approx(math.exp(-2)))


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
        ("1,2", "0", "from 1 to 2"), (" ".join(["1"] * 10**6), "1", "1,000,000 numbers"),
        ("1,2,3", "2,2", "2 + 2 = 4"), ("1,2", "x", "'x'"), ("1,2", "", "nothing"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(x: str, blocks: str, say: str) -> None:
    with using("en"):
        state = StepperState(lang="en")
        good = state.settings
        state.settings = {**good, "row": {"x": x, "blocks": blocks}}
        assert say in state.error and "\n" not in state.error
        assert state.x == [1, 2, 3, 4] and state.settings == good  # nothing is lost
        state.settings = {**good, "row": {"x": "2, 1", "blocks": "2"}}
        assert state.error == "" and state.x == [2, 1] and state.blocks == [1, 1]
        with pytest.raises(ArgumentError):
            state.load(x, blocks)


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
    state.load("1000, 1001", 2, "5; 7")
    assert state.guesses == {} and state.prediction is None and state.step == 0
    assert state.run.v == [[5.0], [7.0]] and state.settings["row"]["x"] == [1000, 1001]
    state.settings = {**state.settings, "view": "merged"}
    assert state.frames is state.run.views["merged"] and state.asked(6) and not state.asked(1)
    with pytest.raises(AttributeError):
        state.x = [1.0]  # type: ignore[misc]
    with pytest.raises(traitlets.TraitError):
        state.lang = "fr"
    with pytest.raises(ArgumentError, match="view"):
        viz.stepper(view="twice")


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ("1; 2", [[1], [2]]), ("1, 2", [[1], [2]]), ("1 0；0 1", [[1, 0], [0, 1]]), ([3, 4], [[3], [4]]),
        (None, [[1, 1], [2, 0]]), ("", [[1, 1], [2, 0]]), (torch.eye(2).tolist(), [[1, 0], [0, 1]]),
    ],
)  # fmt: skip
def test_v_is_read_as_people_write_it(given: object, rows: list[list[float]]) -> None:
    assert read_values(given, 2) == rows  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["1;2;3", "1,2;3", "1,2,3,4;1,2,3,4", "a;b", "1;inf", 7])
def test_v_that_does_not_fit_is_refused(bad: object) -> None:
    with using("en"), pytest.raises(ArgumentError, match="v: expected"):
        viz.stepper([1, 2], 2, v=bad)  # type: ignore[arg-type]


def test_both_languages_say_the_same_numbers() -> None:
    for _, x, blocks in PRESETS:
        row = read_row(x)
        steps = run(row, read_blocks(blocks, len(row)))
        for view in VIEWS:
            for frame in steps.views[view]:
                for asked in (False, True) if frame.kind in ASKS else (False,):
                    said = []
                    for lang in ("en", "zh"):
                        with using(lang):
                            said.append(sentence(steps, view, frame, asked=asked))
                    live = [re.findall(r"\*(.*?)\*", text) for text in said]
                    assert live[0] == live[1] and said[0] != said[1] and "{" not in "".join(said)


@pytest.mark.parametrize("view", ["online", "merged"])
def test_the_question_does_not_show_its_answer(view: str) -> None:
    with using("en"):
        steps = run([1, 2, 3, 4], [2, 2])
        frames = steps.views[view]  # type: ignore[index]
        at = next(i for i, frame in enumerate(frames) if frame.kind in ASKS)
        fix, before = frames[at], frames[at - 1]
        assert "0.1353" not in sentence(steps, view, fix, asked=True)  # type: ignore[arg-type]
        for frame, asked in ((before, False), (fix, True)):
            rows = formula(steps, view, frame, asked=asked)  # type: ignore[arg-type]
            assert [name for name, _, _ in rows] == ["m", "factor", "l", "acc", "p"]
            assert not any("0.1353" in text or "e^(2" in text for _, text, _ in rows)
        shown = [text for _, text, _ in formula(steps, view, fix)]  # type: ignore[arg-type]
        assert any("e^(2 − 4) = *0.1353*" in text for text in shown)


def test_widget_is_thin_and_has_a_fallback() -> None:
    widget = viz.stepper([1, 2, 3, 4], 2, lang="zh")
    assert isinstance(widget, anywidget.AnyWidget)
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<iframe") and data["text/html"].count("<") == 2
    assert "除以 1.553" in data["text/plain"]
    widget.close()


@pytest.mark.parametrize("odd", [None, 3, 1.5, float("nan"), object()], ids=type)
def test_what_is_no_row_is_refused_with_a_sentence(odd: object) -> None:
    for make in (viz.stepper, viz.softmax_bars):
        with using("en"), pytest.raises(ArgumentError, match="x: expected numbers"):
            make(odd)  # type: ignore[operator]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_stills_of_every_way_show_the_step(lang: str) -> None:
    for view in VIEWS:
        player = viz.stepper([1, -2, 3], [1, 2], view=view, lang=lang)
        seen = set()
        for step in (0, player.last // 2, player.last):
            player.step = step
            seen.add(player.to_svg(theme="dark"))
            assert player.caption()[:12] in player.to_svg()
        assert len(seen) == 3
    assert player.to_png(dpi=40).startswith(b"\x89PNG")
