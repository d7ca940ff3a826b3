"""Softmax four ways: claims S10 to S13 with their exact numbers, and random rows and splits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fa_toolkit import errors
from fa_toolkit.language import using
from fa_toolkit.reference import (
    PassCounter,
    naive_softmax,
    online_softmax,
    online_softmax_states,
    safe_softmax,
    split_blocks,
    subtracting_softmax,
)

ROW = [1.0, 2.0, 3.0, 4.0]
SOFTMAX = [math.exp(x) / sum(map(math.exp, ROW)) for x in ROW]
scores = st.floats(-80, 80)


@st.composite
def rows_and_blocks(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    """A row, some of it -inf, and a way to cut it; blocks may be empty."""
    blocks = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
    row = [draw(scores | st.just(float("-inf"))) for _ in range(sum(blocks))]
    row[draw(st.integers(0, len(row) - 1))] = draw(scores)
    return row, blocks


def test_s10_each_block_knows_only_itself() -> None:
    first, second = online_softmax_states(ROW, 2)
    assert (first.block_max, second.block_max) == (2.0, 4.0)
    assert first.block_sum == second.block_sum == math.exp(-1) + 1
    assert (first.m, second.m) == (2.0, 4.0)


def test_s11_the_first_block_is_multiplied_by_one_factor() -> None:
    first, second = online_softmax_states(ROW, 2)
    assert first.factor == 0.0
    assert second.factor == math.exp(2 - 4)
    assert first.l == math.exp(-1) + 1
    assert second.l == pytest.approx(sum(math.exp(x - 4) for x in ROW), rel=1e-15)


def test_s11_subtracting_outside_the_exponent_is_wrong() -> None:
    wrong = subtracting_softmax(ROW, 2)
    assert (wrong - torch.tensor(SOFTMAX)).abs().max() > 0.5
    assert bool((wrong < 0).any() or (wrong > 1).any()), "not even a distribution"
    once = subtracting_softmax(ROW, 1)  # with nothing to repair the slip does not show
    torch.testing.assert_close(once, torch.tensor(SOFTMAX, dtype=torch.float64))


@given(rows_and_blocks())
def test_s12_states_end_at_the_global_maximum_and_sum(case: tuple[list[float], list[int]]) -> None:
    row, blocks = case
    last = online_softmax_states(row, blocks)[-1]
    assert last.m == max(row)
    assert last.l == pytest.approx(math.fsum(math.exp(x - last.m) for x in row), rel=1e-13)


@given(st.lists(scores, min_size=1, max_size=20), st.integers(1, 21))
def test_s12_online_is_softmax_for_every_block_size(row: list[float], block: int) -> None:
    x = torch.tensor([row, row[::-1]], dtype=torch.float64)
    want = torch.softmax(x, -1)
    torch.testing.assert_close(online_softmax(x, block), want, rtol=1e-13, atol=1e-300)
    torch.testing.assert_close(safe_softmax(x), want, rtol=1e-13, atol=1e-300)


def test_s13_passes() -> None:
    x = torch.tensor(ROW, dtype=torch.float64)
    for softmax, count in ((naive_softmax, 2), (safe_softmax, 3), (online_softmax, 2)):
        passes = PassCounter()
        y = softmax(x, passes=passes)
        assert passes.count == count, softmax.__name__
        torch.testing.assert_close(y, torch.tensor(SOFTMAX, dtype=torch.float64))


def test_s13_only_the_naive_one_overflows() -> None:
    x = torch.tensor([100.0, 99.0])
    want = torch.softmax(x, -1)
    assert bool(naive_softmax(x).isnan().all())
    torch.testing.assert_close(safe_softmax(x), want)
    torch.testing.assert_close(online_softmax(x, 1), want)


def test_a_masked_block_first_does_no_harm() -> None:
    x = torch.tensor([float("-inf"), float("-inf"), 1.0, 2.0])
    assert torch.equal(online_softmax(x, 2), torch.softmax(x, -1))
    masked, seen = online_softmax_states(x, 2)
    assert (masked.m, masked.l, masked.block_sum) == (float("-inf"), 0.0, 0.0)
    assert (seen.factor, seen.l) == (0.0, math.exp(-1) + 1)


def test_nan_stays_nan() -> None:
    x = torch.tensor([1.0, float("nan"), 2.0, 3.0])
    assert bool(online_softmax(x, 2).isnan().all())
    assert all(math.isnan(state.m) for state in online_softmax_states(x, 2))


@pytest.mark.parametrize("softmax", [naive_softmax, safe_softmax, online_softmax])
def test_empty_rows(softmax: object) -> None:
    assert softmax(torch.empty(3, 0)).shape == (3, 0)  # type: ignore[operator]


def test_split_blocks() -> None:
    assert split_blocks(7, 3) == [(0, 3), (3, 5), (5, 7)]
    assert split_blocks(0, 2) == [(0, 0), (0, 0)]


@pytest.mark.parametrize("blocks", [0, [], [1, 1], [5, -1]])
def test_split_blocks_refuses(blocks: int | list[int]) -> None:
    with pytest.raises(errors.ArgumentError, match="blocks"):
        split_blocks(4, blocks)


def test_errors_speak_both_languages() -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        online_softmax(torch.ones(2), 0)
    with using("zh"):
        assert "不小于 1" in str(caught.value)
    with using("en"):
        assert "1 or more" in str(caught.value)
    with pytest.raises(errors.ArgumentError, match="x"):
        online_softmax_states(torch.ones(2, 2), 2)
