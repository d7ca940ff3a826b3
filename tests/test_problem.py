"""The loop bounds of `problem` against a brute force over every pair (query, key)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_strategies import problems, tiles

from fa_toolkit.errors import ArgumentError
from fa_toolkit.problem import (
    AttentionProblem,
    TileShape,
    column_tiles,
    key_tiles,
    query_tiles,
    row_tiles,
    tile_kind,
)

thorough = settings(max_examples=200, deadline=None)


def seen_by_hand(problem: AttentionProblem, row: int, key: int) -> bool:
    """The mask written out from its definition, apart from `AttentionProblem`."""
    position = row + problem.len_k - problem.len_q
    left, right = problem.window if problem.window is not None else (-1, -1)
    if problem.causal and key > position:
        return False
    return (left < 0 or key >= position - left) and (right < 0 or key <= position + right)


def pairs(problem: AttentionProblem) -> set[tuple[int, int]]:
    return {
        (row, key)
        for row in range(problem.len_q)
        for key in range(problem.len_k)
        if seen_by_hand(problem, row, key)
    }


@thorough
@given(problems(), st.integers(0, 30), st.integers(0, 30))
def test_sees_is_the_mask(problem: AttentionProblem, row: int, key: int) -> None:
    assert problem.sees(row, key) == seen_by_hand(problem, row, key)


@thorough
@given(problems(), tiles)
def test_visible_keys_is_the_hull_of_what_the_rows_see(
    problem: AttentionProblem, tile: TileShape
) -> None:
    visible = pairs(problem)
    for start, stop in row_tiles(problem, tile):
        keys = [key for row, key in visible if start <= row < stop]
        low, high = problem.visible_keys(start, stop)
        if keys:
            assert (low, high) == (min(keys), max(keys) + 1)
        else:
            assert low == high


@thorough
@given(problems(), tiles)
def test_visible_rows_is_the_hull_of_what_the_keys_see(
    problem: AttentionProblem, tile: TileShape
) -> None:
    visible = pairs(problem)
    for start, stop in column_tiles(problem, tile):
        rows = [row for row, key in visible if start <= key < stop]
        low, high = problem.visible_rows(start, stop)
        if rows:
            assert (low, high) == (min(rows), max(rows) + 1)
        else:
            assert low == high


@thorough
@given(problems(), tiles)
def test_a_tile_is_visited_if_and_only_if_a_pair_in_it_is_visible(
    problem: AttentionProblem, tile: TileShape
) -> None:
    wanted = {(row // tile.block_m, key // tile.block_n) for row, key in pairs(problem)}
    by_rows = {
        (start_m // tile.block_m, start_n // tile.block_n)
        for start_m, stop_m in row_tiles(problem, tile)
        for start_n, _ in key_tiles(problem, tile, start_m, stop_m)
    }
    by_columns = {
        (start_m // tile.block_m, start_n // tile.block_n)
        for start_n, stop_n in column_tiles(problem, tile)
        for start_m, _ in query_tiles(problem, tile, start_n, stop_n)
    }
    assert by_rows == wanted
    assert by_columns == wanted


@thorough
@given(problems(), tiles)
def test_tiles_lie_on_the_grid_in_order_and_inside_the_lengths(
    problem: AttentionProblem, tile: TileShape
) -> None:
    loops = [
        (list(row_tiles(problem, tile)), tile.block_m, problem.len_q),
        (list(column_tiles(problem, tile)), tile.block_n, problem.len_k),
    ]
    for start, stop in list(row_tiles(problem, tile)):
        loops.append((list(key_tiles(problem, tile, start, stop)), tile.block_n, problem.len_k))
    for start, stop in list(column_tiles(problem, tile)):
        loops.append((list(query_tiles(problem, tile, start, stop)), tile.block_m, problem.len_q))
    for ranges, block, length in loops:
        assert ranges == sorted(set(ranges))
        for start, stop in ranges:
            assert start % block == 0
            assert stop == min(start + block, length)
            assert start < stop


@thorough
@given(problems(), tiles)
def test_tile_kind_counts_visible_pairs(problem: AttentionProblem, tile: TileShape) -> None:
    visible = pairs(problem)
    for start_m, stop_m in row_tiles(problem, tile):
        for start_n, stop_n in column_tiles(problem, tile):
            inside = sum(start_m <= i < stop_m and start_n <= j < stop_n for i, j in visible)
            area = (stop_m - start_m) * (stop_n - start_n)
            expected = "skipped" if inside == 0 else "full" if inside == area else "edge"
            assert tile_kind(problem, start_m, stop_m, start_n, stop_n) == expected


def test_causal_without_window_by_hand() -> None:
    problem = AttentionProblem(len_q=3, len_k=5, causal=True)
    assert problem.diagonal == 2
    assert [problem.visible_keys(row, row + 1) for row in range(3)] == [(0, 3), (0, 4), (0, 5)]
    assert problem.visible_keys(3, 9) == (0, 0)  # rows past the end see nothing


def test_more_queries_than_keys_leaves_first_rows_without_keys() -> None:
    problem = AttentionProblem(len_q=5, len_k=2, causal=True)
    assert list(key_tiles(problem, TileShape(2, 2), 0, 2)) == []
    assert list(key_tiles(problem, TileShape(2, 2), 2, 4)) == [(0, 2)]


def test_causal_caps_the_right_side_of_a_window() -> None:
    problem = AttentionProblem(len_q=8, len_k=8, causal=True, window=(2, 5))
    assert (problem.left, problem.right) == (2, 0)
    assert AttentionProblem(len_q=8, len_k=8, window=(-1, 5)).right == 5
    assert AttentionProblem(len_q=8, len_k=8, window=(-1, 5)).left is None


def test_derived_values_and_frozen() -> None:
    problem = AttentionProblem(2, 12, 3, 7, 9, 80, dtype="float32")
    assert (problem.group, problem.itemsize, problem.head_dim_v) == (4, 4, 80)
    assert AttentionProblem(heads_q=0, heads_kv=0).group == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.len_q = 3  # type: ignore[misc]
    assert hash(problem) == hash(dataclasses.replace(problem))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"batch": -1}, "batch"),
        ({"heads_q": 1.0}, "heads_q"),
        ({"len_q": True}, "len_q"),
        ({"len_k": "8"}, "len_k"),
        ({"head_dim": 257}, "head_dim"),
        ({"head_dim": 0}, "head_dim"),
        ({"head_dim_v": 300}, "head_dim_v"),
        ({"heads_q": 5, "heads_kv": 2}, "heads_q"),
        ({"heads_q": 1, "heads_kv": 0}, "heads_q"),
        ({"dtype": "int8"}, "dtype"),
        ({"window": (1,)}, "window"),
        ({"window": (-2, 0)}, "window left"),
        ({"window": (0, -5)}, "window right"),
        ({"window": 5}, "window"),
        ({"window": {1: 2, 3: 4}}, "window"),
        ({"causal": "yes"}, "causal"),
        ({"causal": 2}, "causal"),
        ({"dtype": ["float16"]}, "dtype"),
        ({"len_q": torch.tensor([1, 2])}, "len_q"),
    ],
)
def test_wrong_sizes_are_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        AttentionProblem(**change)
    assert caught.value.name == name


def test_whole_numbers_of_other_types_are_kept_as_ints() -> None:
    made = AttentionProblem(
        len_q=np.int64(3), len_k=torch.tensor(4), causal=np.bool_(True), window=[np.int8(1), 2]
    )  # type: ignore[arg-type]
    plain = AttentionProblem(len_q=3, len_k=4, causal=True, window=(1, 2))
    assert made == plain and hash(made) == hash(plain) and repr(made) == repr(plain)
    assert repr(TileShape(np.int64(16), 8)) == "TileShape(block_m=16, block_n=8)"


@pytest.mark.parametrize("sides", [(0, 4), (4, 0), (-1, 4), (2.0, 2)])
def test_tile_sides_are_whole_and_positive(sides: tuple[Any, Any]) -> None:
    with pytest.raises(ArgumentError):
        TileShape(*sides)
