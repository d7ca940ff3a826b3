"""The forward kernel against float64, and what its launcher promises."""

from __future__ import annotations

import inspect
import re
import tempfile
from dataclasses import replace
from typing import Any

import pytest
import torch
from attention_cases import CASES, TALL, Case, check
from oracles import (
    assert_no_worse_than_peer,
    assert_within_budget,
    make_qkv,
    plain_attention,
    truth,
)

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import ArgumentError, DtypeError
from fa_toolkit.kernels.call import Call, grid_of
from fa_toolkit.kernels.configuration import Device, Kernel, plan_launch
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled.trace import PHASES

pytestmark = pytest.mark.usefixtures("poisoned_empty")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_forward_within_budget(case: Case, device: str) -> None:
    check(kernels.flash_forward, case, device)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_no_worse_than_plain_torch(dtype: str, device: str) -> None:
    problem = AttentionProblem(1, 2, 1, 70, 100, 32, dtype=dtype, causal=True)  # type: ignore[arg-type]
    q, k, v = make_qkv(problem, device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=True)
    peer_o, peer_lse = plain_attention(q, k, v, causal=True)
    exact = truth(q, k, v, causal=True)
    assert_no_worse_than_peer("o", o, peer_o, exact)
    assert_no_worse_than_peer("lse", lse, peer_lse, exact)


@pytest.mark.parametrize(
    "sizes",
    [(0, 2, 2, 5, 5), (1, 0, 0, 5, 5), (1, 2, 2, 0, 5), (1, 2, 2, 5, 0), (1, 2, 2, 0, 0)],
    ids=lambda s: "B{}-H{}:{}-N{}x{}".format(*s),
)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_empty(sizes: tuple[int, ...], causal: bool, device: str) -> None:
    q, k, v = make_qkv(AttentionProblem(*sizes, 16), device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=causal)
    assert o.shape == (*q.shape[:3], 16) and lse.shape == q.shape[:3]
    assert bool((o == 0).all()) and bool((lse == -float("inf")).all())


def test_rows_that_see_no_key(device: str) -> None:
    problem = AttentionProblem(1, 1, 1, 90, 30, 16, dtype="float32", causal=True)
    q, k, v = make_qkv(problem, device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=True, tile=TALL)
    assert bool((o[:, :, :60] == 0).all()) and bool((lse[:, :, :60] == -float("inf")).all())
    assert bool(torch.isfinite(lse[:, :, 60:]).all())


def test_nan_in_a_masked_key_stays_out(device: str) -> None:
    """A NaN key above the diagonal of every row of its tile must not reach the other rows."""
    problem = AttentionProblem(1, 1, 1, 64, 64, 16, dtype="float32", causal=True)
    q, k, v = make_qkv(problem, device=device)
    k[:, :, 40] = float("nan")
    o, lse = kernels.flash_forward(q, k, v, causal=True, tile=TileShape(16, 16))
    assert bool(torch.isfinite(lse[:, :, :40]).all()) and bool(torch.isfinite(o[:, :, :40]).all())
    assert bool(torch.isnan(lse[:, :, 40:]).all())


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="a file on the CPU; see test_gpu.py")
def test_offsets_past_32_bits() -> None:
    """A row stride so large that row times stride passes 2^31, in a sparse file."""
    rows, stride = 3, 2**30 + 8
    with tempfile.NamedTemporaryFile() as sparse:
        sparse.truncate(2 * rows * stride)
        big = torch.from_file(sparse.name, shared=True, size=rows * stride, dtype=torch.float16)
        k = big.as_strided((1, 1, rows, 16), (0, 0, stride, 1))
        k.copy_(torch.randn(1, 1, rows, 16))
        q = torch.randn(1, 1, 5, 16).half()
        v = torch.randn(1, 1, rows, 16).half()
        o, lse = kernels.flash_forward(q, k, v, tile=TileShape(16, 16))
        exact = truth(q, k.contiguous(), v)
        assert_within_budget("o", o, exact)
        assert_within_budget("lse", lse, exact)


def test_step_labels_are_the_steps_of_the_trace() -> None:
    source = inspect.getsource(kernels.flash_forward_kernel.fn)
    labels = re.findall(r"# step: (\w+)", source)
    assert labels == [step.value for step in PHASES["flash_forward"]["forward"]]


@pytest.mark.parametrize("side", [{"block_m": 48}, {"block_n": 24}])
def test_tile_must_be_a_power_of_two(side: dict[str, int]) -> None:
    q = torch.zeros(1, 1, 4, 16)
    with pytest.raises(ArgumentError, match="power of two"):
        kernels.flash_forward(q, q, q, tile=TileShape(**side))


DEVICES = {
    "T4": Device((7, 5), 65536),
    "A100": Device((8, 0), 166912),
    "4090": Device((8, 9), 101376),
    "H200": Device((9, 0), 232448),
    "B200": Device((10, 0), 232448),
}


@pytest.mark.parametrize("name", DEVICES)
def test_every_head_dimension_gets_a_tile_that_fits(name: str) -> None:
    device = DEVICES[name]
    for dtype in ("float16", "float32"):
        for d in (1, 16, 64, 65, 128, 129, 256):
            for dv in (1, 64, 256):
                problem = AttentionProblem(1, 1, 1, 9, 9, d, dv, dtype)  # type: ignore[arg-type]
                plan = plan_launch(problem, device)
                assert plan.shared(problem.itemsize, device) <= device.shared
                assert plan.block_d >= d and plan.block_dv >= dv


def test_t4_refuses_bf16_and_a_tile_too_large_is_named() -> None:
    problem = AttentionProblem(dtype="bfloat16")
    with pytest.raises(DtypeError, match="float16"):
        plan_launch(problem, DEVICES["T4"])
    with pytest.raises(ArgumentError, match="101376"):
        plan_launch(AttentionProblem(head_dim=256), DEVICES["4090"], TileShape(256, 256))
    with pytest.raises(ArgumentError, match="at least 16"):
        plan_launch(problem, DEVICES["H200"], TileShape(8, 16))


def test_a_grid_has_three_axes_where_cuda_allows() -> None:
    assert grid_of(7, 65_535, 65_535) == (7, 65_535, 65_535)
    assert grid_of(7, 3, 65_536) == (7 * 3 * 65_536,)
    assert grid_of(7, 65_536, 2) == (7 * 65_536 * 2,)
    assert grid_of(7, 2 * 65_535, 5, side=2) == (14, 65_535, 5)


@pytest.mark.parametrize(
    ("width", "causal", "device", "on_axes"),
    [
        (128, True, "H200", True),
        (64, False, "H200", True),
        (128, True, "4090", False),
        (64, True, "A100", False),
    ],
)
def test_grid_axes_where_they_were_measured_to_pay(
    width: int, causal: bool, device: str, on_axes: bool
) -> None:
    problem = AttentionProblem(2, 8, 8, 512, 512, width, dtype="float16", causal=causal)
    for kernel in ("forward", "dq", "dkdv"):
        assert plan_launch(problem, DEVICES[device], kernel=kernel).on_axes is on_axes
    assert grid_of(7, 3, 5, on_axes=on_axes) == ((7, 3, 5) if on_axes else (105,))


def test_grid_axes_of_the_forward_alone() -> None:
    wide = AttentionProblem(2, 8, 8, 512, 512, 128, dtype="float16")
    kinds = ("forward", "dq", "dkdv")
    assert [plan_launch(wide, DEVICES["H200"], kernel=k).on_axes for k in kinds] == [
        True,
        False,
        False,
    ]
    wider = replace(wide, head_dim=256, head_dim_v=256)
    assert not plan_launch(wider, DEVICES["H200"]).on_axes


@pytest.mark.parametrize(("width", "omits"), [(64, False), (100, True), (128, True), (256, False)])
def test_the_loop_over_cut_tiles_is_left_out_where_it_was_measured_to_pay(
    width: int, omits: bool
) -> None:
    problem = AttentionProblem(1, 8, 8, 512, 512, width, dtype="float16")
    plan = plan_launch(problem, DEVICES["H200"])
    assert plan.omits_edge is omits

    def cut(**change: Any) -> bool:
        call = Call(replace(problem, **change), 1.0, 0.0, None, 0.0, None)
        return call.has_edge(plan)

    assert cut() is not omits
    assert cut(len_k=500) and cut(causal=True) and cut(window=(-1, 3))
    assert cut(window=(7, -1)) is not omits
    packed = Call(problem, 1.0, 0.0, None, 0.0, None, (torch.tensor([0, 512]),) * 2)
    assert packed.has_edge(plan)


@pytest.mark.parametrize(
    ("sizes", "device", "kernel", "side"),
    [
        ((1, 16, 16, 4096, 4096, 128), "H200", "forward", 4),  # 2 MiB of K and V a head
        ((1, 16, 16, 4096, 4096, 128), "H200", "dq", 4),
        ((1, 16, 16, 4096, 4096, 128), "H200", "dkdv", 4),
        ((1, 16, 4, 4096, 4096, 128), "H200", "forward", 16),  # four query heads share them
        ((1, 16, 4, 4096, 4096, 128), "H200", "dkdv", 1),  # Q and dO of a whole group
        ((1, 16, 16, 16384, 16384, 128), "H200", "forward", 1),
        ((1, 12, 12, 512, 512, 64), "H200", "forward", 4),  # a divisor of the heads
        ((1, 16, 16, 4096, 4096, 128), "4090", "forward", 1),
        ((2, 0, 0, 9, 9, 64), "H200", "forward", 1),  # nothing to do is no endless search
        ((2, 0, 4, 9, 9, 64), "H200", "dkdv", 1),
        ((2, 8, 8, 9, 0, 64), "H200", "forward", 8),
        ((0, 8, 8, 0, 9, 64), "H200", "dkdv", 8),
    ],
)
def test_heads_take_turns_as_far_as_l2_holds_them(
    sizes: tuple[int, ...], device: str, kernel: Kernel, side: int
) -> None:
    causal, full = (AttentionProblem(*sizes, dtype="float16", causal=c) for c in (True, False))
    assert plan_launch(causal, DEVICES[device], kernel=kernel).side == side
    assert plan_launch(full, DEVICES[device], kernel=kernel).side == 1
