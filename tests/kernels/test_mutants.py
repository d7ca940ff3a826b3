"""Bugs planted in the forward kernel and its launcher, each of which the cases must catch.

A mutant is the real source with one text replaced, loaded as a module of its own. The cases are
few and small; a bug that survives them would be a hole in the tests, not in the kernel.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from attention_cases import Case, check

import fa_toolkit.kernels as kernels
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]
SOURCE = Path(kernels.__file__).with_name("flash_forward.py")


def _case(
    *sizes: int,
    tile: tuple[int, int],
    causal: bool = False,
    layout: str = "contiguous",
    dtype: str = "float32",
    spread: float = 1.0,
) -> Case:
    problem = AttentionProblem(*sizes, dtype=dtype, causal=causal)  # type: ignore[arg-type]
    return Case(problem, TileShape(*tile), layout, spread=spread)


#: the smallest set that kills every mutant; each has B > 1 or heads in groups where it is cheap
KILLERS = (
    _case(1, 2, 1, 35, 40, 8, 12, tile=(16, 32), causal=True, layout="padded"),
    _case(2, 2, 2, 20, 33, 12, 8, tile=(32, 16), layout="gaps"),
    _case(1, 1, 1, 40, 20, 8, 8, tile=(32, 16), causal=True, layout="bnhd"),
    _case(1, 1, 1, 16, 48, 16, 16, tile=(16, 16), spread=30.0),
    _case(1, 3, 3, 24, 24, 8, 8, tile=(16, 16), causal=True, layout="bnhd", dtype="bfloat16"),
)

MUTANTS: dict[str, tuple[str, str]] = {
    "natural exponential of base-2 scores": ("alpha = tl.exp2", "alpha = tl.exp"),
    "p with the wrong base": ("p = tl.exp2(s", "p = tl.exp(s"),
    "no rescale of acc": ("acc = acc * alpha[:, None]", "acc = acc * 1.0"),
    "no rescale of l": ("l_i = l_i * alpha + ", "l_i = l_i + "),
    "maximum of the tile only": (
        "m_new = tl.maximum(m_i, tl.max(s, axis=1))",
        "m_new = tl.max(s, axis=1)",
    ),
    "maximum forgotten": ("return m_new, l_i, acc", "return m_i, l_i, acc"),
    "pivot of a row without keys": (
        'pivot = tl.where(m_new == -float("inf"), 0.0, m_new)',
        "pivot = m_new",
    ),
    "scale without log2 e": ("scale_log2 = scale * LOG2_E", "scale_log2 = scale"),
    "scale left out": ("input_precision=DOT_PRECISION) * scale_log2", "input_precision=DOT_PRECISION)"),
    "key guard off by one": ("mask_n = cols < len_k", "mask_n = cols <= len_k"),
    "keys past the end not masked": ("visible = mask_n[None, :]", "visible = cols[None, :] >= 0"),
    "diagonal excluded": (
        "positions[:, None] >= cols[None, :]",
        "positions[:, None] > cols[None, :]",
    ),
    "top-left causal": ("positions = offs_m + diagonal", "positions = offs_m"),
    "diagonal with the wrong sign": ("diagonal = len_k - len_q", "diagonal = len_q - len_k"),
    "stop one tile early": (
        "tl.minimum(start_m + BLOCK_M, len_q) + diagonal)",
        "tl.minimum(start_m + BLOCK_M, len_q) + diagonal - BLOCK_N)",
    ),
    "stop at the first row": (
        "tl.minimum(start_m + BLOCK_M, len_q) + diagonal)",
        "start_m + 1 + diagonal)",
    ),
    "one full tile too many": (
        "full = full // BLOCK_N * BLOCK_N",
        "full = tl.cdiv(full, BLOCK_N) * BLOCK_N",
    ),
    "full tiles of the last row": ("start_m + diagonal + 1), 0)", "start_m + BLOCK_M + diagonal), 0)"),
    "edge tiles skipped": ("tl.static_range(2)", "tl.static_range(1)"),
    "K not advanced": ("k_ptr += step_n * stride_kn", "k_ptr += 0"),
    "V not advanced": ("v_ptr += step_n * stride_vn", "v_ptr += 0"),
    "V advanced by the stride of K": ("v_ptr += step_n * stride_vn", "v_ptr += step_n * stride_kn"),
    "wrong stride of V rows": (
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_kn, stride_vd)",
    ),
    "wrong stride of V columns": (
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, stride_vd)",
        "tile_ptrs(v_ptr, offs_n, offs_dv, stride_vn, 1)",
    ),
    "K read as if transposed": (
        "tile_ptrs(k_ptr, offs_d, offs_n, stride_kd, stride_kn)",
        "tile_ptrs(k_ptr, offs_d, offs_n, stride_kn, stride_kd)",
    ),
    "Q with unit stride": ("offs_m, offs_d, stride_qn, stride_qd)", "offs_m, offs_d, stride_qn, 1)"),
    "key head not divided": ("k_ptr += b * stride_kb + h // group", "k_ptr += b * stride_kb + h"),
    "value head of the wrong group": (
        "v_ptr += b * stride_vb + h // group * stride_vh",
        "v_ptr += b * stride_vb + h % group * stride_vh",
    ),
    "heads and batches swapped": (
        "b = (pid_bh // heads_q).to(tl.int64)\n    h = (pid_bh % heads_q).to(tl.int64)",
        "b = (pid_bh % heads_q).to(tl.int64)\n    h = (pid_bh // heads_q).to(tl.int64)",
    ),
    "row tiles rounded down": ("row_tiles = tl.cdiv(len_q, BLOCK_M)", "row_tiles = tl.maximum(len_q // BLOCK_M, 1)"),
    "head dimension not masked": ("offs_d < HEAD_DIM,", "offs_d < BLOCK_D,"),
    "width of V not masked": ("offs_dv < HEAD_DIM_V", "offs_dv < HEAD_DIM"),
    "rows not masked": ("mask_m, mask_d, mask_dv = offs_m < len_q", "mask_m, mask_d, mask_dv = offs_m >= 0"),
    "division by l left out": ("o = acc / l_safe[:, None]", "o = acc"),
    "dead rows divided by zero": ("tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),
    "lse in base 2": ("(m_i + tl.log2(l_safe)) * LN_2", "(m_i + tl.log2(l_safe))"),
    "lse without the sum": ("(m_i + tl.log2(l_safe)) * LN_2", "m_i * LN_2"),
    "lse with a natural logarithm": ("tl.log2(l_safe)", "tl.log(l_safe)"),
    "o with the strides of q": ("*v.stride(), *o.stride()", "*v.stride(), *q.stride()"),
    "default scale of Dv": ("math.sqrt(problem.head_dim)", "math.sqrt(problem.head_dim_v)"),
    "zero treated as no scale": ("if scale is None else", "if not scale else"),
    "grid without the last row tile": ("* row_tiles,)", "* row_tiles - 1,)"),
    "grid over key heads": ("problem.batch * problem.heads_q *", "problem.batch * problem.heads_kv *"),
    "group given as heads_kv": ("problem.group, problem.len_q", "problem.heads_kv, problem.len_q"),
    "lengths exchanged": ("problem.len_q, problem.len_k, scale", "problem.len_k, problem.len_q, scale"),
}  # fmt: skip


@pytest.fixture
def mutate(tmp_path: Path) -> Callable[[str, str], ModuleType]:
    """Loads the kernel's file with one text replaced."""

    def load(old: str, new: str) -> ModuleType:
        source = SOURCE.read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
        path = tmp_path / "mutant.py"
        path.write_text(source.replace(old, new), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("fa_toolkit.kernels._mutant", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load


def _survives(module: ModuleType) -> bool:
    for case in KILLERS:
        try:
            check(module.flash_forward, case)
        except Exception:  # an error is a kill as much as a wrong number
            return False
    q = torch.ones(1, 1, 2, 4)
    q[..., 1, :] = -1
    o, _ = module.flash_forward(q, q, q, scale=0.0, tile=TileShape(16, 16))
    return bool((o == 0).all())


def test_the_real_kernel_passes(mutate: Callable[[str, str], ModuleType]) -> None:
    first_line = SOURCE.read_text(encoding="utf-8").splitlines()[0]
    module = mutate(first_line, first_line)
    for case in KILLERS:
        check(module.flash_forward, case)
    assert _survives(module)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str, mutate: Callable[[str, str], ModuleType]) -> None:
    assert not _survives(mutate(*MUTANTS[name])), f"no case noticed: {name}"
