"""Bytes and work of the I/O model: its closed forms against a walk over every load and pair."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from io_model_walks import WALKS, Counted, Walk
from problem_strategies import problems, tiles

from fa_toolkit import io_model
from fa_toolkit.errors import ArgumentError
from fa_toolkit.problem import AttentionProblem, TileShape

thorough = settings(max_examples=150, deadline=None)
SQUARE = AttentionProblem(len_q=1024, len_k=1024, head_dim=64)
every_algorithm = pytest.mark.parametrize("count", WALKS, ids=lambda count: count.__name__)


@every_algorithm
@thorough
@given(problem=problems(), tile=tiles)
def test_bytes_equal_a_walk_over_every_load(
    count: Counted, problem: AttentionProblem, tile: TileShape
) -> None:
    walk = Walk(problem, tile)
    WALKS[count](walk)
    bill = count(problem, tile)
    assert dict(bill.by_tensor) == {name: tuple(moved) for name, moved in walk.by_tensor.items()}
    assert dict(bill.phases) == {name: tuple(moved) for name, moved in walk.phases.items()}
    for table in (bill.by_tensor, bill.phases):
        assert bill.reads == sum(read for read, _ in table.values())
        assert bill.writes == sum(write for _, write in table.values())


def seen(problem: AttentionProblem) -> list[tuple[int, int]]:
    return [
        (row, key)
        for row in range(problem.len_q)
        for key in range(problem.len_k)
        if problem.sees(row, key)
    ]


@thorough
@given(problem=problems(), tile=tiles)
def test_work_equals_a_count_of_pairs_and_tiles(problem: AttentionProblem, tile: TileShape) -> None:
    visible = seen(problem)
    heads = problem.batch * problem.heads_q
    d, dv = problem.head_dim, problem.head_dim_v
    visited = {(row // tile.block_m, key // tile.block_n) for row, key in visible}
    area = tile.block_m * tile.block_n
    assert io_model.visible_pairs(problem) == len(visible)
    assert io_model.visited_tiles(problem, tile) == len(visited)
    assert io_model.forward_flops(problem) == heads * len(visible) * (2 * d + 2 * dv)
    products = (d, dv, dv, d, d)  # S, dP, dV, dQ, dK
    assert io_model.backward_flops(problem) == heads * len(visible) * 2 * sum(products)
    d, dv = (max(16, 1 << (width - 1).bit_length()) for width in (d, dv))  # what kernels multiply
    products = (d, dv, dv, d, d)
    assert io_model.issued_flops(problem, tile) == heads * len(visited) * area * 2 * (d + dv)
    twice = (*products, d, dv)  # S and dP again in the second launch
    assert io_model.issued_flops(problem, tile, "backward") == (
        heads * len(visited) * area * 2 * sum(twice)
    )
    assert io_model.exponentials(problem) == heads * len(visible)
    assert io_model.exponentials(problem, tile) == (heads * len(visited) * (area + tile.block_m))


def test_three_ways_to_count_the_transfers_of_the_article() -> None:
    tile = TileShape(128, 64)
    standard = io_model.standard_forward_traffic(SQUARE, tile)
    flash = io_model.flash_forward_traffic(SQUARE, tile)
    assert (standard.transfers, flash.transfers) == (6, 2)  # S07, S08
    assert standard.tensors_read == ("Q", "K", "S", "P", "V")
    assert set(standard.tensors_written) == {"S", "P", "O"}
    assert set(flash.by_tensor) == {"Q", "K", "V", "O", "lse"}
    assert flash.total < standard.total


def test_forward_by_hand() -> None:
    # 2 row tiles, 2 heads over 1 kv head, D 8, Dv 4, 2-byte elements, 3 keys
    problem = AttentionProblem(1, 2, 1, 4, 3, 8, 4)
    bill = io_model.flash_forward_traffic(problem, TileShape(2, 2))
    assert bill.by_tensor == {
        "Q": (2 * 4 * 8 * 2, 0),
        "K": (2 * 2 * 3 * 8 * 2, 0),
        "V": (2 * 2 * 3 * 4 * 2, 0),
        "O": (0, 2 * 4 * 4 * 2),
        "lse": (0, 2 * 4 * 4),
    }


def test_a_taller_tile_buys_lower_traffic_and_width_does_not() -> None:
    def total(m: int, n: int) -> int:
        return io_model.flash_forward_traffic(SQUARE, TileShape(m, n)).total

    assert total(256, 64) < total(128, 64) < total(64, 64)
    assert total(64, 64) == total(64, 128)


def test_causal_halves_flash_and_nothing_of_standard() -> None:
    problem = replace(SQUARE, len_q=8192, len_k=8192)
    causal, tile = replace(problem, causal=True), TileShape(64, 64)
    for count in (io_model.standard_forward_traffic, io_model.standard_backward_traffic):
        assert count(causal, tile) == count(problem, tile)
    ratio = io_model.flash_forward_traffic(causal, tile).reads / (
        io_model.flash_forward_traffic(problem, tile).reads
    )
    assert ratio == pytest.approx(0.5, abs=0.02)


def test_rows_without_keys_still_load_q_and_store_o() -> None:
    problem = AttentionProblem(len_q=8, len_k=2, causal=True)
    bill = io_model.flash_forward_traffic(problem, TileShape(2, 2))
    assert bill.by_tensor["Q"] == (8 * 64 * 2, 0)
    assert bill.by_tensor["O"] == (0, 8 * 64 * 2)
    assert bill.by_tensor["K"] == (2 * 64 * 2, 0)  # one row tile of four sees keys


def test_traffic_falls_as_one_over_sram() -> None:
    """S08: with the paper's tile, traffic follows N^2 d^2 / M over a range of SRAM sizes."""
    problem = replace(SQUARE, len_q=65536, len_k=65536)
    ratios = []
    for sram in (16384, 32768, 65536, 131072):
        tile = io_model.fa1_tile(problem, sram)
        moved = io_model.fa1_forward_traffic(problem, tile).total / problem.itemsize
        ratios.append(moved / io_model.io_order(problem, sram))
    assert max(ratios) < 1.1 * min(ratios)
    for bad in (63, 65536 * 64 + 1):
        with pytest.raises(ArgumentError, match="sram_elements"):
            io_model.io_order(problem, bad)
        with pytest.raises(ArgumentError, match="sram_elements"):
            io_model.fa1_tile(problem, bad)


@pytest.mark.parametrize("n", [2**17, 2**40 + 1])
@pytest.mark.parametrize("window", [None, (4096, 3), (2**30, -1)])
def test_a_long_sequence_takes_no_longer_than_a_short_one(
    n: int, window: tuple[int, int] | None
) -> None:
    problem = AttentionProblem(len_q=n, len_k=n, causal=window is None, window=window)
    start = time.process_time()
    for count in WALKS:
        count(problem, TileShape(64, 48))
    io_model.issued_flops(problem, TileShape(64, 48), "backward")
    io_model.exponentials(problem, TileShape(64, 48))
    if window is None:
        assert io_model.visible_pairs(problem) == n * (n + 1) // 2
    assert time.process_time() - start < 0.5  # less than a millisecond where this was written


def test_a_bill_is_immutable_and_survives_pickling() -> None:
    bill = io_model.flash_forward_traffic(SQUARE, TileShape())
    with pytest.raises(TypeError):
        bill.phases["forward"] = (0, 0)  # type: ignore[index]
    assert pickle.loads(pickle.dumps(bill)) == bill
    assert hash(bill) == hash(pickle.loads(pickle.dumps(bill)))


def test_an_empty_problem_moves_nothing() -> None:
    for count in WALKS:
        assert count(replace(SQUARE, batch=0), TileShape()).total == 0
    with pytest.raises(ArgumentError, match="traffic"):
        io_model.intensity(1.0, io_model.Traffic(0, 0))
    assert io_model.decode_intensity(replace(SQUARE, len_q=0)) == 0.0


@thorough
@given(problem=problems(), tile=tiles)
def test_no_tile_moves_less_than_what_every_pass_must(
    problem: AttentionProblem, tile: TileShape
) -> None:
    """One tile over everything asks for each tensor once, and for no key that nobody sees."""
    least = io_model.compulsory_traffic(problem)
    assert io_model.flash_forward_traffic(problem, tile).total >= least.total
    seen_keys = {key for _, key in seen(problem)}
    one_row = problem.batch * problem.heads_kv * problem.itemsize
    loaded = one_row * (problem.head_dim + problem.head_dim_v)
    spread = max(seen_keys) - min(seen_keys) + 1 if seen_keys else 0
    queries = problem.batch * problem.heads_q * problem.len_q
    rows = problem.itemsize * (problem.head_dim + problem.head_dim_v) + 4
    assert least.total == queries * rows + loaded * spread
