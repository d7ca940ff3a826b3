"""The decode kernel and the merge against float64, and what the launcher promises."""

from __future__ import annotations

import inspect
import re
import tempfile
from typing import Any

import pytest
import torch
from decode_cases import CASES, Case, check, make
from oracles import assert_within_budget, truth
from torch import Tensor

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import ArgumentError, DtypeError
from fa_toolkit.kernels.configuration import Device
from fa_toolkit.kernels.decode_configuration import choose_splits, plan_decode, split_plan
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled.trace import PHASES

pytestmark = pytest.mark.usefixtures("poisoned_empty")
SMALL = TileShape(16, 16)


def decode(q: Tensor, k: Tensor, v: Tensor, **keywords: Any) -> tuple[Tensor, Tensor]:
    """The launcher, for a q with or without the axis of queries."""
    if q.ndim == 4:
        return kernels.flash_decode(q, k, v, **keywords)
    o, lse = kernels.flash_decode(q[:, None], k, v, **keywords)
    return o[:, 0], lse[..., 0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decode_within_budget(case: Case, device: str) -> None:
    check(decode, case, device, num_splits=3, tile=SMALL)


@pytest.mark.parametrize("case", (CASES[1], CASES[4]), ids=lambda case: case.name)
def test_one_split_needs_no_merge(case: Case, device: str) -> None:
    check(decode, case, device, num_splits=1, tile=TileShape(16, 32))


@pytest.mark.parametrize("case", CASES[:1], ids=lambda case: case.name)
def test_configuration_is_chosen(case: Case, device: str) -> None:
    check(decode, case, device)


@pytest.mark.parametrize("splits", [2, 9, 19])
def test_more_splits_than_tiles(splits: int, device: str) -> None:
    case = Case((40, 0), (1, 1), sink=splits == 9, page=8)
    check(decode, case, device, num_splits=splits, tile=SMALL)


def test_one_query_is_the_same_under_causal(device: str) -> None:
    x = make(Case((33, 5)), device)
    for a, b in zip(
        decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, causal=True),
        decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, causal=False),
        strict=True,
    ):
        assert torch.equal(a, b)


@pytest.mark.parametrize("page", [0, 8])
def test_wrong_values_never_leave_the_tensors(page: int, device: str) -> None:
    """The guarded interpreter raises at any access outside a tensor."""
    x = make(Case((9, 20), page=page, len_q=2), device)
    table = x.block_table
    for cache in (x.k_cache, x.v_cache):
        cache.nan_to_num_(0.0)
    for lens in ((-5, 2**31 - 1), (-(2**31), 10**6)):
        wrong = torch.tensor(lens, dtype=torch.int32, device=device)
        o, lse = decode(x.q, x.k_cache, x.v_cache, seq_lens=wrong, block_table=table, tile=SMALL)
        assert bool((o[0] == 0).all() and (lse[0] == -float("inf")).all())
    if table is not None:
        for value in (-1, -(2**31), len(x.k_cache), 2**31 - 1):
            table.fill_(value)
            decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=table, tile=SMALL)


@pytest.mark.parametrize("page", [0, 4])
def test_nothing_to_decode(page: int, device: str) -> None:
    lens = torch.zeros(2, dtype=torch.int32, device=device)
    table = torch.zeros(2, 0, dtype=torch.int32, device=device) if page else None
    cache = torch.zeros((0, page, 1, 4) if page else (2, 1, 0, 4), device=device)
    for shape in ((2, 1, 2, 4), (2, 0, 2, 4), (2, 3, 0, 4)):
        q = torch.ones(shape, device=device)
        o, lse = decode(q, cache, cache, seq_lens=lens, block_table=table, num_splits=2)
        assert o.shape == q.shape and lse.shape == (2, shape[2], shape[1])
        assert bool((o == 0).all() and (lse == -float("inf")).all())


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="a file on the CPU")
@pytest.mark.parametrize("paged", [False, True])
def test_offsets_past_32_bits(paged: bool) -> None:
    """A slot or page stride so large that the last key lies past 2^31 elements."""
    count, stride = 3, 2**30 + 8
    with tempfile.NamedTemporaryFile() as sparse:
        sparse.truncate(2 * count * stride)
        big = torch.from_file(sparse.name, shared=True, size=count * stride, dtype=torch.float16)
        shape, strides = ((3, 1, 1, 16), (stride, 16, 16, 1)) if paged else (
            (1, 1, 3, 16), (0, 0, stride, 1))  # fmt: skip
        k = big.as_strided(shape, strides)
        k.copy_(torch.randn(shape))
        v, q = torch.randn(shape).half(), torch.randn(1, 2, 16).half()
        table = torch.tensor([[2, 0, 1]], dtype=torch.int32) if paged else None
        lens = torch.tensor([3], dtype=torch.int32)
        o, lse = decode(q, k, v, seq_lens=lens, block_table=table, tile=SMALL)
        plain = [x[[2, 0, 1]].reshape(1, 1, 3, 16) if paged else x for x in (k, v)]
        exact = truth(q[:, :, None], *plain)
        assert_within_budget("o", o[:, :, None], exact)
        assert_within_budget("lse", lse[..., None], exact)


def test_step_labels_are_the_steps_of_the_trace() -> None:
    for kernel, phase in (
        (kernels.flash_decode_kernel, "split"),
        (kernels.merge_parts_kernel, "merge"),
    ):
        labels = re.findall(r"# step: (\w+)", inspect.getsource(kernel.fn))
        assert labels == [step.value for step in PHASES["decode"][phase]]


@pytest.mark.parametrize("side", [{"block_m": 48}, {"block_n": 24}])
def test_tile_must_be_a_power_of_two(side: dict[str, int]) -> None:
    x = make(Case((5,)))
    with pytest.raises(ArgumentError, match="power of two"):
        decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, tile=TileShape(**side))


DEVICES = {
    "T4": (Device((7, 5), 65536), 40),
    "A100": (Device((8, 0), 166912), 108),
    "4090": (Device((8, 9), 101376), 128),
    "H200": (Device((9, 0), 232448), 132),
    "B200": (Device((10, 0), 232448), 148),
}


@pytest.mark.parametrize("name", DEVICES)
def test_every_size_gets_a_tile_that_fits(name: str) -> None:
    device, sms = DEVICES[name]
    for dtype in ("float16", "float32"):
        for d, dv in ((1, 64), (64, 64), (128, 128), (129, 1), (256, 256)):
            for group, len_q in ((1, 1), (8, 1), (16, 8)):
                sizes = (1, group, 1, len_q, 9000, d, dv, dtype)
                plan = plan_decode(AttentionProblem(*sizes), device, sms).launch  # type: ignore[arg-type]
                assert plan.shared(4 if dtype == "float32" else 2, device) <= device.shared
                assert plan.block_d >= d and plan.block_dv >= dv


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("batch", [1, 3, 50])
def test_splits_fill_the_device(name: str, batch: int) -> None:
    device, sms = DEVICES[name]
    problem = AttentionProblem(batch, 32, 8, 1, 65536, 128)
    plan = plan_decode(problem, device, sms)
    assert plan.splits == 1 or plan.splits * batch * 8 <= 2 * sms  # all of them run at once
    assert (plan.splits + 1) * batch * 8 > 2 * sms  # and no place is left without need
    short = plan_decode(AttentionProblem(batch, 32, 8, 1, 100, 128), device, sms)
    assert short.splits <= -(-100 // short.launch.tile.block_n)


def test_the_merge_is_launched_ahead_where_that_can_be_done() -> None:
    problem = AttentionProblem(1, 8, 2, 1, 9000, 64)
    for name, (device, sms) in DEVICES.items():
        assert plan_decode(problem, device, sms).overlap == (name in ("H200", "B200"))
        assert not plan_decode(problem, device, sms, num_splits=1).overlap
        split = split_plan(problem, device, sms)
        assert split and split.overlap == (name in ("H200", "B200"))


def test_splits_of_nothing_and_types_refused() -> None:
    assert choose_splits(0, 0, 132) == 1
    with pytest.raises(DtypeError, match="float16"):
        plan_decode(AttentionProblem(dtype="bfloat16"), *DEVICES["T4"])
