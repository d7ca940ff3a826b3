"""The closed forms of the I/O model against programs that are walked load by load."""

from __future__ import annotations

import pickle
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from problem_strategies import problems, tiles

from fa_toolkit import io_model
from fa_toolkit.errors import ArgumentError
from fa_toolkit.hardware import GPUS, gpu
from fa_toolkit.problem import (
    AttentionProblem,
    TileShape,
    column_tiles,
    key_tiles,
    query_tiles,
    row_tiles,
)

thorough = settings(max_examples=150, deadline=None)
SQUARE = AttentionProblem(len_q=1024, len_k=1024, head_dim=64)


class Walk:
    """A run of the algorithm, load by load, that only counts."""

    def __init__(self, problem: AttentionProblem, tile: TileShape) -> None:
        self.problem, self.tile = problem, tile
        self.by_tensor: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.phases: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.phase = ""

    def move(self, way: int, tensor: str, rows: tuple[int, int], width: int) -> None:
        size = 4 if tensor in ("lse", "Delta", "m", "l") else self.problem.itemsize
        moved = (rows[1] - rows[0]) * width * size
        if moved:
            self.by_tensor[tensor][way] += moved
            self.phases[self.phase][way] += moved

    def load(self, tensor: str, rows: tuple[int, int], width: int = 1) -> None:
        self.move(0, tensor, rows, width)

    def store(self, tensor: str, rows: tuple[int, int], width: int = 1) -> None:
        self.move(1, tensor, rows, width)

    def heads(self, *, of: str = "q") -> range:
        p = self.problem
        return range(p.batch * (p.heads_q if of == "q" else p.heads_kv))

    def rows(self) -> list[tuple[int, int]]:
        return list(row_tiles(self.problem, self.tile))

    def columns(self) -> list[tuple[int, int]]:
        return list(column_tiles(self.problem, self.tile))


def walk_standard_forward(w: Walk) -> None:
    p = w.problem
    for _ in w.heads():
        for rows in w.rows():
            w.phase = "scores"
            w.load("Q", rows, p.head_dim)
            for columns in w.columns():
                w.load("K", columns, p.head_dim)
                w.store("S", rows, columns[1] - columns[0])
            w.phase = "softmax"
            w.load("S", rows, p.len_k)
            w.store("P", rows, p.len_k)
            w.phase = "output"
            for columns in w.columns():
                w.load("P", rows, columns[1] - columns[0])
                w.load("V", columns, p.head_dim_v)
            w.store("O", rows, p.head_dim_v)


def walk_flash_forward(w: Walk) -> None:
    p, w.phase = w.problem, "forward"
    for _ in w.heads():
        for rows in w.rows():
            w.load("Q", rows, p.head_dim)
            for columns in key_tiles(p, w.tile, *rows):
                w.load("K", columns, p.head_dim)
                w.load("V", columns, p.head_dim_v)
            w.store("O", rows, p.head_dim_v)
            w.store("lse", rows)


def walk_fa1_forward(w: Walk) -> None:
    p, w.phase = w.problem, "init"
    for _ in w.heads():
        w.store("O", (0, p.len_q), p.head_dim_v)
        w.store("m", (0, p.len_q))
        w.store("l", (0, p.len_q))
    w.phase = "forward"
    for _ in w.heads():
        for columns in w.columns():
            w.load("K", columns, p.head_dim)
            w.load("V", columns, p.head_dim_v)
            for rows in query_tiles(p, w.tile, *columns):
                w.load("Q", rows, p.head_dim)
                for move in (w.load, w.store):
                    move("O", rows, p.head_dim_v)
                    move("m", rows)
                    move("l", rows)


def walk_flash_backward(w: Walk) -> None:
    p, w.phase = w.problem, "delta"
    for _ in w.heads():
        for rows in w.rows():
            w.load("O", rows, p.head_dim_v)
            w.load("dO", rows, p.head_dim_v)
            w.store("Delta", rows)
    w.phase = "dkdv"
    for _ in w.heads(of="kv"):
        for columns in w.columns():
            w.load("K", columns, p.head_dim)
            w.load("V", columns, p.head_dim_v)
            for _ in range(p.group):
                for rows in query_tiles(p, w.tile, *columns):
                    w.load("Q", rows, p.head_dim)
                    w.load("dO", rows, p.head_dim_v)
                    w.load("lse", rows)
                    w.load("Delta", rows)
            w.store("dK", columns, p.head_dim)
            w.store("dV", columns, p.head_dim_v)
    w.phase = "dq"
    for _ in w.heads():
        for rows in w.rows():
            w.load("Q", rows, p.head_dim)
            w.load("dO", rows, p.head_dim_v)
            w.load("lse", rows)
            w.load("Delta", rows)
            for columns in key_tiles(p, w.tile, *rows):
                w.load("K", columns, p.head_dim)
                w.load("V", columns, p.head_dim_v)
            w.store("dQ", rows, p.head_dim)


def walk_standard_backward(w: Walk) -> None:
    p = w.problem
    for _ in w.heads(of="kv"):
        for columns in w.columns():
            width = columns[1] - columns[0]
            for phase, scores, streamed, dim, grad in (
                ("grad_v", "P", "dO", p.head_dim_v, "dV"),
                ("grad_k", "dS", "Q", p.head_dim, "dK"),
            ):
                w.phase = phase
                for _ in range(p.group):
                    for rows in w.rows():
                        w.load(scores, rows, width)
                        w.load(streamed, rows, dim)
                w.store(grad, columns, dim)
    for _ in w.heads():
        for rows in w.rows():
            w.phase = "grad_p"
            w.load("dO", rows, p.head_dim_v)
            for columns in w.columns():
                w.load("V", columns, p.head_dim_v)
                w.store("dP", rows, columns[1] - columns[0])
            w.phase = "softmax"
            w.load("P", rows, p.len_k)
            w.load("dP", rows, p.len_k)
            w.store("dS", rows, p.len_k)
            w.phase = "grad_q"
            for columns in w.columns():
                w.load("dS", rows, columns[1] - columns[0])
                w.load("K", columns, p.head_dim)
            w.store("dQ", rows, p.head_dim)


Counted = Callable[[AttentionProblem, TileShape], io_model.Traffic]
WALKS: dict[Counted, Callable[[Walk], None]] = {
    io_model.standard_forward_traffic: walk_standard_forward,
    io_model.flash_forward_traffic: walk_flash_forward,
    io_model.fa1_forward_traffic: walk_fa1_forward,
    io_model.flash_backward_traffic: walk_flash_backward,
    io_model.standard_backward_traffic: walk_standard_backward,
}
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
    assert (standard.phase_transfers, flash.phase_transfers) == (6, 2)  # S07, S08
    assert standard.tensor_reads == ("Q", "K", "S", "P", "V")
    assert set(standard.tensor_writes) == {"S", "P", "O"}
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


def test_long_sequences_are_counted_quickly() -> None:
    problem = AttentionProblem(len_q=131072, len_k=131072, causal=True)
    start = time.process_time()
    for count in WALKS:
        count(problem, TileShape(64, 64))
    io_model.issued_flops(problem, TileShape(64, 64), "backward")
    assert io_model.visible_pairs(problem) == 131072 * 131073 // 2
    assert time.process_time() - start < 1.0  # 0.03 s where this was written


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


def test_footprint_by_hand_and_its_parts() -> None:
    problem = replace(SQUARE, head_dim=80, head_dim_v=24)  # 128 and 32 on chip
    needs = io_model.forward_footprint(problem, TileShape(64, 32), stages=3)
    assert needs.parts["q"] == 64 * 128 * 2
    assert needs.parts["k"] == 3 * 32 * 128 * 2
    assert needs.parts["v"] == 3 * 32 * 32 * 2
    assert needs.parts["acc"] == 64 * 32 * 4
    assert needs.parts["s"] == 64 * 32 * 4
    assert needs.parts["m"] == needs.parts["l"] == 64 * 4
    assert needs.shared == sum(needs.parts[name] for name in "qkv")
    assert needs.registers == sum(needs.parts[name] for name in ("acc", "s", "m", "l"))


@pytest.mark.parametrize("key", GPUS)
def test_fit_is_at_the_limit_of_each_gpu(key: str) -> None:
    card = GPUS[key]
    per_block = int(card.need("shared_per_block"))
    assert io_model.Footprint(per_block, 1024).fit(card).blocks_per_sm == 1
    assert io_model.Footprint(per_block + 1, 1024).fit(card) == io_model.Fit(False, True, 0)
    half = io_model.Footprint(per_block // 2 - 1024, 1024)
    assert half.fit(card).blocks_per_sm == 2


def test_few_warps_cannot_use_all_registers() -> None:
    needs = io_model.Footprint(1024, 160 * 1024)
    assert not needs.fit(gpu("a100"), warps=4)  # 4 x 32 threads x 255 registers = 127.5 KiB
    assert needs.fit(gpu("a100"), warps=8)
    too_many = io_model.Footprint(1024, 257 * 1024)
    assert not too_many.fit(gpu("a100"), warps=32).registers


def test_backward_at_128_spills_with_four_warps() -> None:
    problem = replace(SQUARE, head_dim=128, head_dim_v=128)
    needs = io_model.backward_footprint(problem, TileShape(128, 128))
    assert needs.registers == 4 * (2 * 128 * 128 + 2 * 128 * 128 + 2 * 128)
    assert not needs.fit(gpu("h200"), warps=4).registers


def test_extra_memory_is_quadratic_against_linear() -> None:
    problem = replace(SQUARE, batch=2, heads_q=4, heads_kv=2)
    double = replace(problem, len_q=2048, len_k=2048)
    assert io_model.standard_extra_memory(problem) == 2 * 8 * 1024 * 1024 * 2
    assert io_model.flash_extra_memory(problem) == 8 * 1024 * 4
    for training in (False, True):
        standard = [io_model.standard_extra_memory(p, training=training) for p in (problem, double)]
        flash = [io_model.flash_extra_memory(p, training=training) for p in (problem, double)]
        assert standard[1] == 4 * standard[0]
        assert flash[1] == 2 * flash[0]


@pytest.mark.parametrize("key", GPUS)
@pytest.mark.parametrize(("dim", "dtype", "size"), [(64, "float16", 2), (128, "float32", 4)])
def test_fits_table_is_the_longest_that_fits(key: str, dim: int, dtype: str, size: int) -> None:
    for row in io_model.fits_table(GPUS[key], head_dim=dim, dtype=dtype):
        needs = {
            "inputs": lambda n: 4 * n * dim * size,
            "scores": lambda n: n * n * size,
            "everything": lambda n: (4 * n * dim + 2 * n * n) * size,
        }
        for name, need in needs.items():
            longest = getattr(row, name)
            assert need(longest) <= row.capacity < need(longest + 1)


def test_fits_table_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(ArgumentError, match="dtype"):
        io_model.fits_table(gpu("t4"), dtype="int8")
    with pytest.raises(ArgumentError, match="head_dim"):
        io_model.fits_table(gpu("t4"), head_dim=0)


def test_decode_reads_the_cache_once_for_the_whole_group() -> None:
    step = AttentionProblem(2, 32, 8, 1, 8192, 128)
    bill = io_model.decode_traffic(step)
    cache = io_model.kv_cache_bytes(step)
    assert cache == 2 * 8 * 8192 * 256 * 2
    assert bill.by_tensor["K"][0] + bill.by_tensor["V"][0] == cache
    assert io_model.kv_cache_bytes(step, layers=3) == 3 * cache
    assert io_model.decode_intensity(step) == pytest.approx(step.group, rel=0.01)
    windowed = replace(step, window=(1023, 0))
    assert io_model.decode_traffic(windowed).by_tensor["K"][0] * 8 == bill.by_tensor["K"][0]
    for call in (io_model.decode_traffic, io_model.kv_cache_bytes):
        with pytest.raises(ArgumentError):
            call(step, **({"splits": 0} if call is io_model.decode_traffic else {"layers": 0}))


def test_split_decode_pays_for_its_parts() -> None:
    step = AttentionProblem(1, 8, 2, 1, 4096, 64, 32)
    bill = io_model.decode_traffic(step, splits=4)
    parts = 4 * 8 * (32 + 1) * 4
    assert bill.phases["merge"] == (parts, 8 * 32 * 2)
    assert bill.phases["partial"][1] == parts
    assert bill.phases["partial"][0] == io_model.kv_cache_bytes(step) + 4 * 8 * 64 * 2


@pytest.mark.parametrize("key", GPUS)
def test_roofline_turns_at_its_ridge(key: str) -> None:
    line = io_model.roofline(GPUS[key], "float16")
    assert line.attainable(line.ridge) == pytest.approx(line.peak)
    assert line.attainable(line.ridge / 2) == pytest.approx(line.peak / 2)
    assert line.attainable(line.ridge * 2) == line.peak
    assert (line.bound(line.ridge * 0.99), line.bound(line.ridge)) == ("memory", "compute")
    assert io_model.roofline(GPUS[key], "float16", level="sram").ridge < line.ridge


def test_standard_is_bound_by_memory_and_flash_by_arithmetic() -> None:
    problem = replace(SQUARE, len_q=8192, len_k=8192, head_dim=128, head_dim_v=128)
    tile, line = TileShape(128, 64), io_model.roofline(gpu("a100-40"), "float16")
    flops = io_model.forward_flops(problem)
    standard = io_model.intensity(flops, io_model.standard_forward_traffic(problem, tile))
    one_tile = io_model.flash_forward_traffic(problem, TileShape(512, 64))
    assert line.bound(standard) == "memory"
    assert line.bound(io_model.intensity(flops, one_tile)) == "compute"


def test_modelled_time_is_the_longest_part() -> None:
    card = gpu("h200")
    bill = io_model.Traffic(reads=3_000_000_000, writes=1_800_000_000)
    assert io_model.modelled_time(bill, 0, card) == pytest.approx(1e-3)
    assert io_model.modelled_time(bill, 989.4e12, card) == pytest.approx(1.0)
    exps = 2 * card.need("exp_rate")
    assert io_model.modelled_time(bill, 989.4e12, card, exponentials=exps) == pytest.approx(2.0)
    with pytest.raises(ArgumentError, match="exp_rate"):
        io_model.modelled_time(bill, 1, gpu("mi300x"), exponentials=1)
    with pytest.raises(ArgumentError, match="bfloat16"):
        io_model.modelled_time(bill, 1, gpu("t4"), "bfloat16")


def test_at_d_64_exponentials_take_as_long_as_the_products_on_hopper() -> None:
    flops_per_exp = io_model.forward_flops(SQUARE) / io_model.exponentials(SQUARE)
    per_clock = 4096  # tensor FLOPs of one SM in a clock
    assert flops_per_exp / per_clock == 1 / gpu("h200").need("exp_per_clock")
