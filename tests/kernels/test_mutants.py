"""Bugs planted in the forward kernel and its launcher, each of which the cases must catch.

A mutant is the real source with one text replaced, loaded as a module of its own. The cases are
few and small; a bug that survives them would be a hole in the tests, not in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from attention_cases import Case, check
from planting import Bug, noticed, on_grids, plant

import fa_toolkit.kernels as kernels
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]


def _case(
    *sizes: int,
    tile: tuple[int, int] | None,
    causal: bool = False,
    layout: str = "contiguous",
    dtype: str = "float32",
    spread: float = 1.0,
    window: tuple[int, int] | None = None,
    **options: Any,
) -> Case:
    problem = AttentionProblem(*sizes, dtype=dtype, causal=causal, window=window)  # type: ignore[arg-type]
    return Case(problem, TileShape(*tile) if tile else None, layout, spread=spread, **options)


#: the smallest set that kills every mutant; each has B > 1 or heads in groups where it is cheap
KILLERS = (
    _case(1, 2, 1, 35, 40, 8, 12, tile=(16, 32), causal=True, layout="padded"),
    _case(2, 2, 2, 20, 33, 12, 8, tile=(32, 16), layout="gaps"),
    _case(1, 1, 1, 40, 20, 8, 8, tile=(32, 16), causal=True, layout="bnhd"),
    _case(1, 1, 1, 16, 48, 16, 16, tile=(16, 16), spread=30.0),
    _case(1, 1, 1, 16, 48, 16, 16, tile=(16, 16), spread=30.0, scale=-0.25),
    _case(1, 3, 3, 24, 24, 8, 8, tile=(16, 16), causal=True, layout="bnhd", dtype="bfloat16"),
    _case(2, 2, 2, 20, 40, 8, 8, tile=(16, 16), dropout_p=0.25),
    _case(1, 2, 1, 40, 70, 8, 12, tile=(16, 16), window=(13, 3), sink=True),
    _case(1, 1, 1, 40, 40, 8, 8, tile=(16, 16), window=(20, 18), softcap=2.0, spread=1.5),
    _case(1, 1, 1, 40, 8, 4, 4, tile=(16, 16), window=(-1, 100)),
    _case(1, 1, 1, 20, 32, 4, 4, tile=(16, 16), causal=True),
    _case(1, 1, 1, 20, 48, 4, 4, tile=(16, 32)),
    _case(1, 1, 1, 18, 18, 4, 4, tile=(16, 16), window=(16, -1)),
    _case(1, 1, 1, 1, 1024, 4, 4, tile=None, dropout_p=0.5),
)

#: (one axis, heads that take turns) of the grids that no plan of the interpreter has
GRIDS = ((True, 1), (True, 2), (False, 2))

MUTANTS: dict[str, Bug] = {
    "natural exponential of base-2 scores": Bug(
        "flash_forward", "alpha = tl.exp2", "alpha = tl.exp"
    ),
    "p with the wrong base": Bug("flash_forward", "p = tl.exp2(s", "p = tl.exp(s"),
    "no rescale of acc": Bug("flash_forward", "acc = acc * alpha[:, None]", "acc = acc * 1.0"),
    "no rescale of l": Bug("flash_forward", "l_i = l_i * alpha + ", "l_i = l_i + "),
    "maximum of the tile only": Bug(
        "flash_forward", "tl.maximum(m_i, tl.max(s, axis=1) * unit)", "tl.max(s, axis=1) * unit"
    ),
    "maximum forgotten": Bug("flash_forward", "return m_new, l_i, acc", "return m_i, l_i, acc"),
    "pivot of a row without keys": Bug(
        "flash_forward", 'pivot = tl.where(m_new == -float("inf"), 0.0, m_new)', "pivot = m_new"
    ),
    "key guard off by one": Bug("flash_forward", "mask_n = cols < len_k", "mask_n = cols <= len_k"),
    "top-left causal": Bug(
        "flash_forward", "partners_seen(offs_m, diagonal, left", "partners_seen(offs_m, 0, left"
    ),
    "diagonal with the wrong sign": Bug(
        "flash_forward", "diagonal = len_k - len_q", "diagonal = len_q - len_k"
    ),
    "K not advanced": Bug("flash_forward", "k_ptr += step_n * stride_kn", "k_ptr += 0"),
    "V not advanced": Bug("flash_forward", "v_ptr += step_n * stride_vn", "v_ptr += 0"),
    "V advanced by the stride of K": Bug(
        "flash_forward", "v_ptr += step_n * stride_vn", "v_ptr += step_n * stride_kn"
    ),
    "wrong stride of V rows": Bug(
        "flash_forward",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_kn, stride_vd)",
    ),
    "wrong stride of V columns": Bug(
        "flash_forward",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, 1)",
    ),
    "K read as if transposed": Bug(
        "flash_forward",
        "tile_ptrs(k_ptr, offs_d, offs_n, stride_kd, stride_kn)",
        "tile_ptrs(k_ptr, offs_d, offs_n, stride_kn, stride_kd)",
    ),
    "Q with unit stride": Bug(
        "flash_forward", "offs_m, offs_d, stride_qn, stride_qd)", "offs_m, offs_d, stride_qn, 1)"
    ),
    "key head not divided": Bug(
        "flash_forward", "k_ptr += b * stride_kb + h // group", "k_ptr += b * stride_kb + h"
    ),
    "value head of the wrong group": Bug(
        "flash_forward",
        "v_ptr += b * stride_vb + h // group * stride_vh",
        "v_ptr += b * stride_vb + h % group * stride_vh",
    ),
    "heads and batches swapped": Bug(
        "tiles",
        "tl.program_id(0), tl.program_id(1), tl.program_id(2)",
        "tl.program_id(0), tl.program_id(2), tl.program_id(1)",
    ),
    "one axis: heads and batches swapped": Bug(
        "tiles", "side_by_side, b = rest %", "b, side_by_side = rest %"
    ),
    "one axis: tiles of one head only": Bug(
        "tiles",
        "turn % (tiles * SIDE), turn // (tiles * SIDE)",
        "turn % tiles, turn // tiles",
    ),
    "one axis: all heads take turns": Bug(
        "tiles", "rest % (heads // SIDE), rest // (heads // SIDE)", "rest % heads, rest // heads"
    ),
    "one axis: not told": Bug("flash_forward", "ON_AXES=len(grid) > 1", "ON_AXES=True"),
    "one axis: without the batch": Bug("call", "(math.prod(axes),)", "(math.prod(axes[:2]),)"),
    "no head takes its turn": Bug(
        "tiles", "side_by_side * SIDE + turn % SIDE", "side_by_side * SIDE"
    ),
    "heads side by side overlap": Bug(
        "tiles", "side_by_side * SIDE + turn % SIDE", "side_by_side + turn % SIDE"
    ),
    "a tile for each turn": Bug("tiles", "return turn // SIDE, b", "return turn, b"),
    "turns without programs": Bug("call", "(tiles * side, heads", "(tiles, heads"),
    "turns not told": Bug("flash_forward", "SIDE=plan.side", "SIDE=1"),
    "row tiles rounded down": Bug(
        "flash_forward",
        "else tl.cdiv(len_q, BLOCK_M)",
        "else tl.maximum(len_q // BLOCK_M, 1)",
    ),
    "head dimension not masked": Bug("flash_forward", "offs_d < HEAD_DIM,", "offs_d < BLOCK_D,"),
    "width of V not masked": Bug("flash_forward", "offs_dv < HEAD_DIM_V", "offs_dv < HEAD_DIM"),
    "rows not masked": Bug(
        "flash_forward",
        "mask_m, mask_d, mask_dv = offs_m < len_q",
        "mask_m, mask_d, mask_dv = offs_m >= 0",
    ),
    "division by l left out": Bug("flash_forward", "o = acc * (1.0 / l_safe)[:, None]", "o = acc"),
    "dead rows divided by zero": Bug("flash_forward", "tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),
    "lse in base 2": Bug(
        "flash_forward", "(m_i + tl.log2(l_safe)) * LN_2", "(m_i + tl.log2(l_safe))"
    ),
    "lse without the sum": Bug("flash_forward", "(m_i + tl.log2(l_safe)) * LN_2", "m_i * LN_2"),
    "lse with a natural logarithm": Bug("flash_forward", "tl.log2(l_safe)", "tl.log(l_safe)"),
    "o with the strides of q": Bug(
        "flash_forward", "call.strides(q, k, v, o, lse)", "call.strides(q, k, v, q, lse)"
    ),
    "grid without the last row tile": Bug(
        "call",
        "return grid_of(-(-length // block), heads,",
        "return grid_of(max(-(-length // block) - 1, 1), heads,",
    ),
    "grid over key heads": Bug(
        "flash_forward",
        "call.grid(problem.heads_q,",
        "call.grid(problem.heads_kv,",
    ),
    "scale without log2 e": Bug("flash_forward", "else scale) * LOG2_E", "else scale)"),
    "scale left out": Bug(
        "flash_forward",
        "acc, s, unit, v, keep, DOT_PRECISION)",
        "acc, s, LOG2_E, v, keep, DOT_PRECISION)",
    ),
    "keys past the end not masked": Bug(
        "flash_forward",
        "left, right, len_k, HAS_LEFT, HAS_RIGHT)\n    stop_m",
        "left, right, len_k + BLOCK_N, HAS_LEFT, HAS_RIGHT)\n    stop_m",
    ),
    "bound of the length lost under a bound on the right": Bug(
        "tiles",
        "last = tl.minimum(places + (shift + after), last)",
        "last = places + (shift + after)",
    ),
    "edge tiles skipped": Bug(
        "flash_forward",
        "tl.static_range(0 if HAS_LEFT else 1, LAST_PART + 1)",
        "tl.static_range(0 if HAS_LEFT else 1, 2)",
    ),
    "tiles at the left bound skipped": Bug(
        "flash_forward",
        "tl.static_range(0 if HAS_LEFT else 1, LAST_PART + 1)",
        "tl.static_range(1, LAST_PART + 1)",
    ),
    "whole tiles up to the end of the keys": Bug(
        "flash_forward", "high if PART == LAST_PART else full_high", "high"
    ),
    "a cut last tile taken for whole": Bug(
        "configuration", " or problem.len_k % self.tile.block_n != 0\n", "\n"
    ),
    "a tile on the diagonal taken for whole": Bug(
        "configuration", "cut = problem.right is not None or problem", "cut = problem"
    ),
    "edges by the tile of queries": Bug(
        "configuration", "len_k % self.tile.block_n", "len_k % self.tile.block_m"
    ),
    "group given as heads_kv": Bug(
        "flash_forward",
        "problem.heads_q, problem.group, *call",
        "problem.heads_q, problem.heads_kv, *call",
    ),
    "K does not start at the window": Bug(
        "flash_forward", "k_ptr += low.to(tl.int64) * stride_kn", "k_ptr += 0"
    ),
    "V does not start at the window": Bug(
        "flash_forward", "v_ptr += low.to(tl.int64) * stride_vn", "v_ptr += 0"
    ),
    "cap without its scale": Bug("flash_forward", "tanh(s * (scale / softcap))", "tanh(s * scale)"),
    "cap in natural units": Bug(
        "flash_forward",
        "unit = (softcap if HAS_SOFTCAP else scale) * LOG2_E",
        "unit = softcap if HAS_SOFTCAP else scale * LOG2_E",
    ),
    "sink in natural units": Bug(
        "flash_forward", "tl.float32) + sink * LOG2_E", "tl.float32) + sink"
    ),
    "sink of the first head": Bug("flash_forward", "tl.load(sink_ptr + h,", "tl.load(sink_ptr,"),
    "sink without its term": Bug(
        "flash_forward",
        'tl.where(m_i == -float("inf"), 0.0, 1.0)',
        "tl.zeros([BLOCK_M], tl.float32)",
    ),
    "dropped terms missing from l": Bug(
        "flash_forward",
        "    l_i = l_i * alpha + tl.sum(p, axis=1)\n    if keep is not None:\n        p = tl.where(keep, p, 0.0)\n",
        "    if keep is not None:\n        p = tl.where(keep, p, 0.0)\n    l_i = l_i * alpha + tl.sum(p, axis=1)\n",
    ),
    "kept entries not scaled up": Bug(
        "flash_forward", "        o = o * keep_scale\n", "        o = o * 1.0\n"
    ),
    "mask of rows and keys exchanged": Bug(
        "flash_forward",
        "kept(seed, b, h, offs_m[:, None], cols[None, :], dropout_threshold)",
        "kept(seed, b, h, cols[None, :], offs_m[:, None], dropout_threshold)",
    ),
    "mask by place in the tile": Bug(
        "flash_forward",
        "kept(seed, b, h, offs_m[:, None], cols[None, :], dropout_threshold)",
        "kept(seed, b, h, offs_m[:, None], offs_n[None, :], dropout_threshold)",
    ),
    "same mask for every head": Bug(
        "tiles",
        "head, batch = h.to(tl.uint32), b.to(tl.uint32)",
        "head, batch = b.to(tl.uint32) * 0, b.to(tl.uint32)",
    ),
    "same mask for every batch": Bug(
        "tiles",
        "head, batch = h.to(tl.uint32), b.to(tl.uint32)",
        "head, batch = h.to(tl.uint32), h.to(tl.uint32) * 0",
    ),
    "keeps what it should drop": Bug(
        "tiles", ".to(tl.int32) >= threshold", ".to(tl.int32) < threshold"
    ),
    "last partner excluded": Bug("tiles", "partners <= last", "partners < last"),
    "first partner excluded": Bug("tiles", "partners >= first", "partners > first"),
    "right bound excluded": Bug(
        "tiles", "places + (shift + after), last)", "places + (shift + after - 1), last)"
    ),
    "left bound excluded": Bug(
        "tiles", "first = places + (shift - before)", "first = places + (shift - before + 1)"
    ),
    "stop one tile early": Bug(
        "tiles",
        "high = tl.minimum(stop + shift + after, length)",
        "high = tl.minimum(stop + shift + after - BLOCK, length)",
    ),
    "stop at the first row": Bug(
        "tiles",
        "high = tl.minimum(stop + shift + after, length)",
        "high = tl.minimum(start + 1 + shift + after, length)",
    ),
    "one full tile too many": Bug(
        "tiles",
        "full_high = full_high // BLOCK * BLOCK",
        "full_high = tl.cdiv(full_high, BLOCK) * BLOCK",
    ),
    "full tiles of the last row": Bug(
        "tiles",
        "tl.minimum(start + shift + after + 1, length)",
        "tl.minimum(stop + shift + after, length)",
    ),
    "start one tile late": Bug(
        "tiles",
        "low = tl.maximum(start + shift - before, 0) // BLOCK * BLOCK",
        "low = tl.cdiv(tl.maximum(start + shift - before, 0), BLOCK) * BLOCK",
    ),
    "full from the first row on": Bug(
        "tiles", "tl.maximum(stop - 1 + shift - before, 0)", "tl.maximum(start + shift - before, 0)"
    ),
    "tanh without its cubic term": Bug(
        "tiles", "small = x + x * square * (square * p - 3.33332819422e-1)", "small = x"
    ),
    "unit on whole tiles only": Bug(
        "flash_forward",
        "acc, s, unit, v, keep, DOT_PRECISION)",
        "acc, s, unit if PART == WHOLE else 1.0, v, keep, DOT_PRECISION)",
    ),
    "negative scale": Bug(
        "flash_forward", "        q = self._signed(q)\n        with on", "        with on"
    ),
    "scale 0 in the kernel": Bug("flash_forward", "scale=1.0 if none else scale", "scale=scale"),
    "scale 0 forgotten": Bug("flash_forward", "0.0 if none else math", "1.0 if none else math"),
    "tanh even": Bug("tiles", "tl.where(x < 0.0, -large, large)", "large"),
    "tanh saturates too early": Bug("tiles", "(2.0 * LOG2_E)", "(2.5 * LOG2_E)"),
    "default scale of Dv": Bug(
        "call", "math.sqrt(problem.head_dim)", "math.sqrt(problem.head_dim_v)"
    ),
    "zero treated as no scale": Bug("call", "if scale is None else", "if not scale else"),
    "lengths exchanged": Bug(
        "call",
        "(p.len_q, p.len_k, left, right,",
        "(p.len_k, p.len_q, left, right,",
    ),
    "window exchanged": Bug(
        "call",
        "(p.len_q, p.len_k, left, right,",
        "(p.len_q, p.len_k, right, left,",
    ),
    "kept entries divided by p": Bug(
        "call", "1 / (1 - dropout_p)", "1 / dropout_p if dropout_p else 1.0"
    ),
}


def _scale_of_zero(forward: Callable[..., Any]) -> None:
    q = torch.ones(1, 1, 2, 4)
    q[..., 1, :] = -1
    o, _ = forward(q, q, q, scale=0.0, tile=TileShape(16, 16))
    assert bool((o == 0).all())


def checks(loaded: dict[str, ModuleType]) -> list[Callable[[], object]]:
    """Everything that may notice a bug."""
    forward = loaded["flash_forward"].flash_forward
    every: list[Callable[[], object]] = [partial(check, forward, case) for case in KILLERS]
    many = partial(check, forward, _case(2, 4, 2, 20, 24, 8, 8, tile=(16, 16), layout="bnhd"))
    return [
        *every,
        partial(_scale_of_zero, forward),
        *(partial(on_grids, loaded, many, one_axis=one, side=side) for one, side in GRIDS),
    ]


def test_the_real_kernel_passes() -> None:
    for run in checks(plant(None)):
        run()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str) -> None:
    assert noticed(checks(plant(MUTANTS[name]))), f"no case noticed: {name}"
