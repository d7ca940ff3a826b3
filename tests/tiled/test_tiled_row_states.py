"""One row by hand: the numbers of the states are those of the formula."""

from __future__ import annotations

import math

import pytest

from fa_toolkit.errors import ShapeError
from fa_toolkit.tiled import row_states


def test_one_two_three_four_with_values() -> None:
    first, second = row_states([1, 2, 3, 4], [10, 20, 30, 40], 2)
    assert first.acc == pytest.approx(10 * math.exp(-1) + 20)
    assert (second.m, second.alpha) == (4.0, pytest.approx(math.exp(-2)))
    weights = [math.exp(x - 4) for x in (1, 2, 3, 4)]
    expected = sum(w * v for w, v in zip(weights, (10, 20, 30, 40), strict=True))
    assert second.acc == pytest.approx(expected)
    assert second.l == pytest.approx(sum(weights))
    assert second.o == pytest.approx(expected / sum(weights))


def test_a_block_without_visible_keys_changes_nothing() -> None:
    hidden, shown = row_states([-math.inf, -math.inf, 1, 3], [7, 7, 2, 4], 2)
    assert (hidden.m, hidden.l, hidden.acc, hidden.o) == (-math.inf, 0, 0, 0)
    assert shown.o == pytest.approx((2 * math.exp(-2) + 4) / (1 + math.exp(-2)))


def test_values_must_match_scores() -> None:
    with pytest.raises(ShapeError):
        row_states([1, 2], [1], 1)
