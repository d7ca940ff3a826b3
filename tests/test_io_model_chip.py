"""What fits on chip, what stays in HBM, decoding and the roofline: by hand and at the limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fa_toolkit import io_model
from fa_toolkit.errors import ArgumentError
from fa_toolkit.hardware import GPUS, gpu
from fa_toolkit.problem import AttentionProblem, TileShape

SQUARE = AttentionProblem(len_q=1024, len_k=1024, head_dim=64)


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
    # two exact halves of an SM leave no room for what the runtime reserves for each block
    exact = io_model.Footprint(int(card.need("shared_per_sm")) // 2, 1024)
    assert exact.fit(card).blocks_per_sm == (2 if card.arch in ("sm_75", "gfx942") else 1)


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
    assert bill.phases["merge"] == (parts, 8 * 32 * 2 + 8 * 4)
    assert bill.phases["split"][1] == parts
    assert bill.phases["split"][0] == io_model.kv_cache_bytes(step) + 4 * 8 * 64 * 2


def test_lengths_and_row_tiles_of_decode() -> None:
    step = AttentionProblem(3, 8, 2, 5, 100, 64, causal=True)
    bill = io_model.decode_traffic(step, seq_lens=[100, 0, 30])
    assert bill.by_tensor["K"] == (2 * 130 * 64 * 2, 0)
    # 20 packed rows of 5 queries in tiles of 8: their last queries are 1, 3 and 4
    tiled = io_model.decode_traffic(step, tile=TileShape(8, 16), seq_lens=[100, 0, 3])
    assert tiled.by_tensor["K"] == (2 * (97 + 99 + 100 + 0 + 2 + 3) * 64 * 2, 0)
    assert tiled.by_tensor["Q"] == bill.by_tensor["Q"]
    with pytest.raises(ArgumentError, match="seq_lens: expected 3 numbers, got 1"):
        io_model.decode_traffic(step, seq_lens=[100])


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
