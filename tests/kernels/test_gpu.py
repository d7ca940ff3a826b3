"""The compiled kernels on a GPU: large shapes, half types, and what only a device can show."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from attention_cases import CASES, Case, check
from oracles import (
    DTYPES,
    LAYOUTS,
    assert_no_worse_than_peer,
    assert_within_budget,
    case_id,
    make_qkv,
    plain_attention,
    truth,
)

import fa_toolkit.kernels as kernels
from fa_toolkit import explain, flash_attention
from fa_toolkit.errors import BackendUnavailable, DtypeError
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]

LARGE = [
    AttentionProblem(*sizes, causal=causal)
    for sizes in (
        (2, 4, 4, 1024, 1024, 64, 64),
        (1, 8, 2, 1000, 1500, 128, 128),
        (1, 4, 1, 777, 333, 80, 96),
        (1, 2, 2, 513, 1025, 256, 256),
        (1, 2, 1, 300, 2000, 72, 40),
        (1, 1, 1, 2048, 2048, 16, 16),
    )
    for causal in (False, True)
]
SWEEP_D = (1, 8, 15, 16, 17, 32, 33, 64, 65, 100, 128, 129, 192, 255, 256)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("problem", LARGE, ids=case_id)
def test_large(problem: AttentionProblem, dtype: str) -> None:
    case = Case(replace(problem, dtype=dtype), None)  # type: ignore[arg-type]
    check(kernels.flash_forward, case, "cuda")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("problem", LARGE[:4], ids=case_id)
def test_no_worse_than_plain_torch(problem: AttentionProblem, dtype: str) -> None:
    q, k, v = make_qkv(problem, DTYPES[dtype], device="cuda")
    o, lse = kernels.flash_forward(q, k, v, causal=problem.causal)
    peer_o, peer_lse = plain_attention(q, k, v, causal=problem.causal)
    exact = truth(q, k, v, causal=problem.causal)
    assert_no_worse_than_peer("o", o, peer_o, exact)
    assert_no_worse_than_peer("lse", lse, peer_lse, exact)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_layouts(layout: str, dtype: str) -> None:
    problem = AttentionProblem(2, 4, 2, 200, 333, 72, 40, dtype, True)  # type: ignore[arg-type]
    check(kernels.flash_forward, Case(problem, None, layout), "cuda")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("d", SWEEP_D)
def test_every_head_dimension(d: int, dtype: str) -> None:
    for dv in (d, 257 - d):
        problem = AttentionProblem(1, 2, 1, 130, 200, d, dv, dtype, True)  # type: ignore[arg-type]
        check(kernels.flash_forward, Case(problem, None), "cuda")


@pytest.mark.parametrize(
    "tile",
    [TileShape(m, n) for m, n in itertools.product((16, 32, 64, 128), repeat=2)],
    ids=lambda t: f"t{t.block_m}x{t.block_n}",
)
def test_given_tiles(tile: TileShape) -> None:
    for problem in (LARGE[1], LARGE[4]):
        check(kernels.flash_forward, Case(problem, tile), "cuda")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_small_cases_without_a_tile(case: Case) -> None:
    check(kernels.flash_forward, replace(case, tile=None), "cuda")


def test_offsets_past_32_bits() -> None:
    """A last row that begins past 2^31 elements, in one head."""
    rows, stride = 3, 2**30 + 8
    big = torch.empty(2 * stride + 16, dtype=torch.float16, device="cuda")
    k = big.as_strided((1, 1, rows, 16), (0, 0, stride, 1))
    k.copy_(torch.randn(1, 1, rows, 16))
    q, v = torch.randn(1, 1, 5, 16).half().cuda(), torch.randn(1, 1, rows, 16).half().cuda()
    for a, b, c in ((q, k, v), (k, q[:, :, :3], v), (q, v, k)):
        o, lse = kernels.flash_forward(a, b, c)
        exact = truth(a, b.contiguous(), c.contiguous())
        assert_within_budget("o", o, exact)
        assert_within_budget("lse", lse, exact)


def test_more_heads_than_a_grid_axis_holds() -> None:
    problem = AttentionProblem(1100, 64, 64, 3, 5, 16)
    q, k, v = make_qkv(problem, torch.float16, device="cuda")
    o, _ = kernels.flash_forward(q, k, v)
    assert_within_budget("o", o[-1:], truth(q[-1:], k[-1:], v[-1:]))


def test_memory_around_the_tensors_never_matters() -> None:
    problem = AttentionProblem(2, 2, 1, 100, 77, 24, 40, causal=True)
    q, k, v = make_qkv(problem, torch.float16, device="cuda")
    padded = make_qkv(problem, torch.float16, layout="padded", device="cuda")
    for plain, among_nan in zip(
        kernels.flash_forward(q, k, v, causal=True),
        kernels.flash_forward(*padded, causal=True),
        strict=True,
    ):
        assert torch.equal(plain, among_nan)


def test_float32_follows_the_precision_setting() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 2, 256, 256, 64), torch.float32, device="cuda")
    exact = truth(q, k, v)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        assert_within_budget("o", kernels.flash_forward(q, k, v)[0], exact)
        torch.set_float32_matmul_precision("high")
        with pytest.raises(AssertionError):
            assert_within_budget("o", kernels.flash_forward(q, k, v)[0], exact)
    finally:
        torch.set_float32_matmul_precision(before)


def test_repeats_are_bitwise_equal() -> None:
    q, k, v = make_qkv(LARGE[1], torch.bfloat16, device="cuda")
    first = kernels.flash_forward(q, k, v, causal=True)
    for _ in range(50):
        again = kernels.flash_forward(q, k, v, causal=True)
        assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])


def test_side_stream() -> None:
    q, k, v = make_qkv(LARGE[0], torch.float16, device="cuda")
    expected, _ = kernels.flash_forward(q, k, v)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        got, _ = kernels.flash_forward(q, k, v)
    stream.synchronize()
    assert torch.equal(got, expected)


def test_tensors_on_a_device_that_is_not_current() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    q, k, v = (x.to("cuda:1") for x in make_qkv(LARGE[0], torch.float16))
    o, lse = kernels.flash_forward(q, k, v)
    assert o.device == q.device
    assert_within_budget("o", o, truth(q, k, v))
    assert_within_budget("lse", lse, truth(q, k, v))


def test_memory_grows_with_n_and_not_with_its_square() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, 8192, 8192, 64), torch.float16, device="cuda")
    kernels.flash_forward(q, k, v)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    o, lse = kernels.flash_forward(q, k, v)
    used = torch.cuda.max_memory_allocated() - before
    outputs = o.numel() * o.element_size() + lse.numel() * lse.element_size()
    assert outputs <= used <= outputs + 2**20  # a score matrix would be 128 MiB


def test_the_door_chooses_the_kernel_and_refuses_what_it_cannot() -> None:
    q, k, v = make_qkv(LARGE[1], torch.float16, device="cuda")
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="triton")
    direct = kernels.flash_forward(q, k, v, causal=True)
    assert torch.equal(o, direct[0]) and torch.equal(lse, direct[1])
    started = explain(q, k, v, causal=True).launches[0].kernel
    chosen = "hopper" if started.startswith("hopper") else "triton"
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True)
    named = flash_attention(q, k, v, causal=True, return_lse=True, impl=chosen)
    assert torch.equal(o, named[0]) and torch.equal(lse, named[1])
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert flash_attention(q.float(), k.float(), v.float()).dtype == torch.bfloat16
    with pytest.raises(BackendUnavailable, match=r"\.cuda\(\)"):
        flash_attention(*(x.detach().cpu() for x in (q, k, v)), impl="triton")
    with pytest.raises((DtypeError, BackendUnavailable), match="float64"):
        flash_attention(q.detach().double(), k.double(), v.double())
