"""Bugs planted in the backward kernels and their launcher, each of which the cases must catch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from attention_cases import Case, check_backward
from planting import backward_bug, noticed, on_grids, plant

import fa_toolkit.kernels as kernels
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]


def _case(
    *sizes: int,
    tile: tuple[int, int],
    causal: bool = False,
    window: tuple[int, int] | None = None,
    **options: Any,
) -> Case:
    problem = AttentionProblem(*sizes, dtype="float32", causal=causal, window=window)
    return Case(problem, TileShape(*tile), **options)


#: the smallest set that kills every mutant
KILLERS = (
    _case(1, 4, 2, 19, 33, 8, 12, tile=(16, 32), causal=True, layout="padded"),
    _case(2, 2, 2, 12, 20, 12, 8, tile=(16, 16), layout="gaps"),
    _case(1, 1, 1, 40, 20, 8, 8, tile=(32, 16), causal=True, layout="bnhd"),
    _case(1, 2, 1, 40, 70, 8, 12, tile=(16, 16), window=(13, 3), sink=True),
    _case(1, 2, 2, 20, 40, 8, 8, tile=(16, 16), dropout_p=0.25),
    _case(1, 1, 1, 40, 40, 8, 8, tile=(16, 16), window=(20, 18), softcap=2.0, spread=1.5),
    _case(1, 2, 1, 20, 18, 8, 4, tile=(16, 16), layout="mixed"),
    _case(1, 1, 1, 48, 48, 4, 4, tile=(16, 16), window=(4, -1)),
)

MUTANTS: dict[str, tuple[str, str]] = {
    "Delta with the wrong sign of dlse": ("delta -= dlse", "delta += dlse"),
    "Delta from dO alone": ("tl.sum(o.to(tl.float32) * do", "tl.sum(do.to(tl.float32) * do"),
    "Delta of the rows of another head": (
        "do_ptr += b * stride_dob + h * stride_doh\n    delta_ptr += b * stride_sb",
        "do_ptr += b * stride_dob\n    delta_ptr += b * stride_sb",
    ),
    "dO read with the strides of O": (
        "tile_ptrs(do_ptr, offs_m, offs_dv, stride_don, stride_dod), mask=mask",
        "tile_ptrs(do_ptr, offs_m, offs_dv, stride_on, stride_od), mask=mask",
    ),
    "dlse of the first head": (
        "dlse_ptr += b * stride_gb + h * stride_gh",
        "dlse_ptr += b * stride_gb",
    ),
    "natural exponential": ("return tl.exp2(s - lse), slope", "return tl.exp(s - lse), slope"),
    "slope of the cap left out": ("slope = 1.0 - s * s", "slope = 1.0"),
    "slope of the capped score in units of the cap": ("slope = 1.0 - s * s", "slope = 1.0 - s"),
    "cap in natural units": ("s = s * (softcap * LOG2_E)", "s = s * softcap"),
    "key head not divided in dQ": (
        "k_ptr += b * stride_kb + h // group * stride_kh",
        "k_ptr += b * stride_kb + h * stride_kh",
    ),
    "value head of the wrong group": (
        "v_ptr += b * stride_vb + h // group * stride_vh",
        "v_ptr += b * stride_vb + h % group * stride_vh",
    ),
    "only the first head of a group": ("for member in range(group)", "for member in range(1)"),
    "heads of a group interleaved": (
        "h = h_kv * group + member",
        "h = h_kv + member * heads_kv",
    ),
    "the same head for the whole group": ("h = h_kv * group + member", "h = h_kv * group"),
    "Q does not start at the first tile": (
        "h * stride_qh + low.to(tl.int64) * stride_qn",
        "h * stride_qh",
    ),
    "dO does not start at the first tile": (
        "h * stride_doh + low.to(tl.int64) * stride_don",
        "h * stride_doh",
    ),
    "Q not advanced": ("q_tile += step_m * stride_qn", "q_tile += 0"),
    "dO advanced by the stride of Q": (
        "do_tile += step_m * stride_don",
        "do_tile += step_m * stride_qn",
    ),
    "K does not start at the window": ("k_ptr += low.to(tl.int64) * stride_kn", "k_ptr += 0"),
    "K not advanced": ("k_ptr += step_n * stride_kn", "k_ptr += 0"),
    "V advanced by the stride of K": (
        "v_ptr += step_n * stride_vn",
        "v_ptr += step_n * stride_kn",
    ),
    "queries of the wrong side of the diagonal": (
        "start_n, stop_n, -diagonal, right, left",
        "start_n, stop_n, diagonal, right, left",
    ),
    "window not turned for keys": (
        "start_n, stop_n, -diagonal, right, left",
        "start_n, stop_n, -diagonal, left, right",
    ),
    "key tiles at the diagonal skipped": (
        "tl.static_range(0 if HAS_RIGHT else 1, LAST_PART + 1)",
        "tl.static_range(1, 3)",
    ),
    "last query tiles skipped": (
        "tl.static_range(0 if HAS_RIGHT else 1, LAST_PART + 1)",
        "tl.static_range(0 if HAS_RIGHT else 1, 2)",
    ),
    "last key tiles skipped": (
        "tl.static_range(0 if HAS_LEFT else 1, LAST_PART + 1)",
        "tl.static_range(0 if HAS_LEFT else 1, 2)",
    ),
    "whole key tiles up to the end of the keys": (
        "high if PART == LAST_PART else full_high",
        "high",
    ),
    "dq: no tile of keys is cut": ("HAS_EDGE=call.has_edge(plan)", "HAS_EDGE=False"),
    "dV from dropped and unscaled": (
        "dropped = tl.where(keep, p * keep_scale, 0.0)",
        "dropped = tl.where(keep, p, 0.0)",
    ),
    "dV without dropout": ("tl.dot(dropped.to(do.dtype)", "tl.dot(p.to(do.dtype)"),
    "mask of rows and keys exchanged": (
        "kept(seed, b, h, rows[None, :], cols[:, None], dropout_threshold)",
        "kept(seed, b, h, cols[:, None], rows[None, :], dropout_threshold)",
    ),
    "mask by place in the tile": (
        "kept(seed, b, h, rows[:, None], cols[None, :], dropout_threshold)",
        "kept(seed, b, h, rows[:, None], offs_n[None, :], dropout_threshold)",
    ),
    "mask of the key head": (
        "kept(seed, b, h, rows[None, :]",
        "kept(seed, b, h_kv, rows[None, :] * 0",
    ),
    "Delta not subtracted in dK": ("ds = p * (dp - delta[None, :])", "ds = p * dp"),
    "Delta added in dQ": ("ds = p * (dp - delta[:, None])", "ds = p * (dp + delta[:, None])"),
    "dK without scale": ("(dk * scale).to", "(dk).to"),
    "dQ scaled twice": ("(dq * scale).to", "(dq * scale * scale).to"),
    "dQ in base-2 units": ("(dq * scale).to", "(dq * scale * LOG2_E).to"),
    "last rows first, one too far": (
        "pid_m = row_tiles - 1 - slot",
        "pid_m = tl.maximum(row_tiles - 2 - slot, 0)",
    ),
    "dV of D columns": (
        "tile_ptrs(dv_ptr, offs_n, offs_dv, stride_dvn, stride_dvd)",
        "tile_ptrs(dv_ptr, offs_n, offs_dv, stride_dkn, stride_dvd)",
    ),
    "dkdv: turns not told": (
        "SIDE=plan.side, ON_AXES=len(grid) > 1, WANTS",
        "SIDE=1, ON_AXES=len(grid) > 1, WANTS",
    ),
    "dq: turns not told": (
        "SIDE=plan.side, ON_AXES=len(grid) > 1, DOT",
        "SIDE=1, ON_AXES=len(grid) > 1, DOT",
    ),
    "Delta on one axis not told": (
        "HAS_DLSE=has_dlse, ON_AXES=len(grid) > 1",
        "HAS_DLSE=has_dlse, ON_AXES=True",
    ),
    "grid over query heads": (
        "            problem.heads_kv, problem.len_k,",
        "            problem.heads_q, problem.len_k,",
    ),
    "group given as heads_q": (
        "problem.heads_kv, problem.group, *call",
        "problem.heads_kv, problem.heads_q, *call",
    ),
    "dlse forgotten": ("HAS_DLSE=has_dlse", "HAS_DLSE=False"),
    "dsink with the wrong sign": ("return -(p_sink * delta)", "return (p_sink * delta)"),
    "dsink over the batch only": (".sum((0, 2)).to(sink.dtype)", ".sum(0)[:, 0].to(sink.dtype)"),
}


def _check_more(backward: Callable[..., Any]) -> None:
    """Products past the largest half; one of the two big launches alone."""
    q, k = torch.zeros(1, 1, 1, 16).half(), torch.zeros(1, 1, 2, 16).half()
    v, do = torch.full_like(k, 300.0), torch.full_like(q, 300.0)
    o, lse = torch.full_like(q, 300.0), torch.full((1, 1, 1), math.log(2))
    assert all(bool(torch.isfinite(x).all()) for x in backward(q, k, v, o, lse, do)[:3])
    alone = backward(q, k, v, o, lse, do, needs_dkdv=False)
    assert alone[0] is not None and alone[1] is None and alone[2] is None
    alone = backward(q, k, v, o, lse, do, needs_dq=False)
    assert alone[0] is None and alone[1] is not None and alone[2] is not None


def checks(loaded: dict[str, ModuleType]) -> list[Callable[[], object]]:
    """Everything that may notice a bug."""
    backward = loaded["flash_backward"].flash_backward
    every: list[Callable[[], object]] = [partial(check_backward, backward, c) for c in KILLERS]
    grids = ((True, 1), (True, 2), (False, 2))
    return [
        *every,
        partial(_check_more, backward),
        *(partial(on_grids, loaded, every[1], one_axis=one, side=side) for one, side in grids),
    ]


def test_the_real_kernels_pass() -> None:
    for run in checks(plant(None)):
        run()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str) -> None:
    bug = backward_bug(*MUTANTS[name])
    assert noticed(checks(plant(bug))), f"no case noticed: {name}"
