"""Exercises of chapter 05, second part: strides."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here

Tensor = torch.Tensor


def copy(a: Tensor) -> Tensor:
    """The dull reference."""
    return a.contiguous()  # [M, N]


def _reread(a: Tensor, *strides: int) -> Tensor:
    """The same memory, walked with other strides."""
    return torch.as_strided(a, a.shape, strides, a.storage_offset()).contiguous()


def _first_tiles(a: Tensor, rows: int, cols: int) -> Tensor:
    out = torch.full(a.shape, math.nan, dtype=a.dtype, device=a.device)
    out[:rows, :cols] = a[:rows, :cols]
    return out


_LAYOUTS: tuple[tuple[Text, Callable[[], Tensor]], ...] = (
    (Text("transposed, 16 × 8", "转置，16 × 8"), lambda: randn(8, 16, seed=91).T),
    (Text("every second column", "隔列取"), lambda: randn(8, 32, seed=92)[:, ::2]),
    (
        Text("every third row, transposed", "隔两行取一行，再转置"),
        lambda: randn(24, 11, seed=93)[::3].T,
    ),
)

STRIDES = Exercise(
    id="05.strides",
    title=Text("A copy through strides", "按步长读"),
    spec=Text(
        "Copy a [M, N] into a contiguous result, one program for each tile of BLOCK × BLOCK. a may "
        "have any strides: a transposed view, every second column. Neither M nor N need be a "
        "multiple of BLOCK.",
        "把 a [M, N] 复制成内存连续的结果，每个 BLOCK × BLOCK 的块由一个程序实例负责。"
        "a 的步长任意：可能是转置，可能是隔列取。M、N 都不必是 BLOCK 的整数倍。",
    ),
    formula="address of a[i, j] = a_ptr + i · stride_am + j · stride_an",
    passage=Passage(5, Text("Two dimensions are strides", "二维全靠步长")),
    widget="fa.viz.pointer_grid(10, block=4, program=2)",
    then="05.row_softmax",
    entry="my_copy",
    call="my_copy(a) -> out",
    reference=copy,
    outputs=(Output("out"),),
    cases=[
        Case("value", "8 × 16", lambda: here(randn(8, 16, seed=90))),
        Case("ragged", "11 × 13", lambda: here(randn(11, 13, seed=94))),
        *(Case("strides", label, lambda make=make: here(make())) for label, make in _LAYOUTS),  # type: ignore[misc]
        Case("dtype", "float16", lambda: here(randn(8, 8, seed=95).half())),
    ],
    rules=(
        Rule(
            "own-work",
            lambda: here(randn(8, 8, seed=96)),
            forbidden=TORCH_MATHS | {"contiguous", "clone", "copy_"},
        ),
    ),
    variants=(
        Variant(
            "contiguous-assumed",
            Text(
                "You read a as if its rows lay one after the other; use stride_am and stride_an.",
                "你把 a 当成逐行连续的来读；要用 stride_am 和 stride_an。",
            ),
            lambda a: _reread(a, a.shape[1], 1),
        ),
        Variant(
            "columns-side-by-side",
            Text(
                "The column stride is missing: a column is not always one element further.",
                "漏了列的步长：下一列不一定就是下一个元素。",
            ),
            lambda a: _reread(a, a.stride(0), 1),
        ),
        Variant(
            "strides-swapped",
            Text("Row and column strides are swapped.", "行和列的步长用反了。"),
            lambda a: _reread(a, a.stride(1), a.stride(0)),
        ),
        Variant(
            "first-column-of-tiles",
            Text(
                "Only the first eight columns are written: the second program id does not enter.",
                "只写了前 8 列：没有用上第二个程序实例编号。",
            ),
            lambda a: _first_tiles(a, a.shape[0], 8),
        ),
        Variant(
            "whole-tiles-only",
            Text(
                "Tiles that are cut at the edge are not written: mask the lanes, keep the tile.",
                "边缘不满的块没有写：应屏蔽多余的位置，块还是要写。",
            ),
            lambda a: _first_tiles(a, a.shape[0] // 8 * 8, a.shape[1] // 8 * 8),
        ),
    ),
    hints=(
        Text(
            "Write down the strides of a 2 × 3 matrix and of its transpose.",
            "写出一个 2 × 3 矩阵和它的转置的步长。",
        ),
        Text(
            "An outer sum of row and column offsets, each times its stride; the result has strides "
            "(N, 1).",
            "行偏移与列偏移各乘自己的步长，再做外和；结果的步长是 (N, 1)。",
        ),
        Text(
            "a_ptr + offs_m[:, None] * stride_am + offs_n[None, :] * stride_an",
            "a_ptr + offs_m[:, None] * stride_am + offs_n[None, :] * stride_an",
        ),
    ),
    needs_triton=True,
)


EXERCISES = (STRIDES,)
