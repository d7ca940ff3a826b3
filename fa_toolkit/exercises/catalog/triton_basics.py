"""Exercises of chapter 05: vector add and row softmax in Triton."""

from __future__ import annotations

import math

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    return x + y  # [size]


def _pair(size: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    return here(randn(size, seed=1).to(dtype), randn(size, seed=2).to(dtype))


def _first_block(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.full_like(x, math.nan)
    out[:64] = (x + y)[:64]
    return out


def _full_blocks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out, stop = torch.full_like(x, math.nan), len(x) - len(x) % 64
    out[:stop] = (x + y)[:stop]
    return out


VECTOR_ADD = Exercise(
    id="05.vector_add",
    title=Text("Add two vectors", "两个向量相加"),
    spec=Text(
        "out = x + y. One program owns BLOCK elements; the last program must neither read nor "
        "write past the end.",
        "out = x + y。一个程序实例负责 BLOCK 个元素；最后一个程序实例既不能读过头，也不能写过头。",
    ),
    formula="out[i] = x[i] + y[i],   i = pid · BLOCK + 0 .. BLOCK − 1",
    passage=Passage(5, Text("The edge", "边缘")),
    widget="fa.viz.pointer_grid(10, block=4, program=2)",
    then="05.strides",
    entry="my_add",
    call="my_add(x, y) -> out",
    reference=add,
    outputs=(Output("out"),),
    cases=[
        Case("value", "size=128", lambda: _pair(128)),
        Case("value", "size=64", lambda: _pair(64)),
        Case("ragged", "size=100", lambda: _pair(100)),
        Case("ragged", "size=1", lambda: _pair(1)),
        Case("dtype", "float16", lambda: _pair(64, torch.float16)),
    ],
    rules=(Rule("own-work", lambda: _pair(64), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "one-program",
            Text(
                "Only the first 64 elements are written: the program index does not enter the "
                "offsets, or the grid has one program.",
                "只写了前 64 个元素：偏移里没有用上程序实例编号，或者网格里只有一个程序实例。",
            ),
            _first_block,
        ),
        Variant(
            "tail-missing",
            Text(
                "The last, incomplete block is not written: round the grid up.",
                "最后不满的一块没有写：网格大小要向上取整。",
            ),
            _full_blocks,
        ),
        Variant("product", Text("You multiply.", "你写成了乘法。"), lambda x, y: x * y),
        Variant(
            "x-twice",
            Text("You add x to itself; y is not read.", "你把 x 加了两次，没有读 y。"),
            lambda x, y: x + x,
        ),
    ),
    hints=(
        Text(
            "How many elements has the last program when size is 100 and BLOCK is 64?",
            "size 是 100、BLOCK 是 64 时，最后一个程序实例管几个元素？",
        ),
        Text(
            "Lanes past the end must be off for both loads and for the store.",
            "超出末尾的位置，两次 load 和 store 都要关掉。",
        ),
        Text(
            "mask = offs < size; x = tl.load(x_ptr + offs, mask=mask, other=0.0)",
            "mask = offs < size; x = tl.load(x_ptr + offs, mask=mask, other=0.0)",
        ),
    ),
    needs_triton=True,
)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    return torch.softmax(x, dim=1)  # [rows, cols]


def _padded(x: torch.Tensor, value: float) -> torch.Tensor:
    """Softmax of rows padded with `value` to the next power of two, cut again."""
    width = 1 << max(0, x.shape[1] - 1).bit_length()
    full = torch.nn.functional.pad(x, (0, width - x.shape[1]), value=value)
    return torch.softmax(full, 1)[:, : x.shape[1]]


def _reread(x: torch.Tensor) -> torch.Tensor:
    """What a kernel sees that takes the strides of a contiguous tensor."""
    return torch.softmax(torch.as_strided(x, x.shape, (x.shape[1], 1), x.storage_offset()), 1)


def _rows(rows: int, cols: int, size: float = 1.0, shift: float = 0.0) -> tuple[torch.Tensor, ...]:
    return here(size * randn(rows, cols, seed=3) + shift)


ROW_SOFTMAX = Exercise(
    id="05.row_softmax",
    title=Text("Softmax of every row", "逐行 softmax"),
    spec=Text(
        "One program holds one row of x [rows, cols] whole: a single load, maximum and sum on "
        "chip, a single store. x may have any strides, the result is contiguous. The block is the "
        "next power of two, so lanes past cols must not count.",
        "一个程序实例处理 x [rows, cols] 的一整行：读一次，"
        "在片上求最大值和总和，写一次。x 的步长任意，结果连续。"
        "块宽是下一个 2 的幂，超出 cols 的位置不能计入。",
    ),
    formula="out[r] = e^(x[r] − max x[r]) / Σ e^(x[r] − max x[r])",
    passage=Passage(5, Text("A row at a time", "一次一行")),
    then="05.lean",
    entry="my_softmax",
    call="my_softmax(x) -> out",
    reference=softmax,
    outputs=(Output("out"),),
    cases=[
        Case("value", "4 × 16", lambda: _rows(4, 16)),
        Case("ragged", "3 × 13", lambda: _rows(3, 13, shift=-3.0)),
        Case("extreme-logits", "× 400", lambda: _rows(3, 16, size=400.0)),
        Case(
            "extreme-logits",
            Text("all near −1000", "都在 −1000 附近"),
            lambda: _rows(2, 10, shift=-1000.0),
        ),
        Case("strides", Text("transposed", "转置"), lambda: here(randn(16, 5, seed=4).T)),
        Case(
            "strides",
            Text("every second column", "隔列取"),
            lambda: here(randn(4, 32, seed=5)[:, ::2]),
        ),
        Case("dtype", "float16", lambda: here(randn(3, 16, seed=6).half())),
    ],
    rules=(Rule("own-work", lambda: _rows(2, 16), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "padding-zero",
            Text(
                "Lanes past the row enter as 0 and count as e^(0 − m). Load them as −inf.",
                "超出一行的位置读成了 0，会计入 e^(0 − m)。应读成 −inf。",
            ),
            lambda x: _padded(x, 0.0),
        ),
        Variant(
            "naive",
            Text(
                "The maximum is not subtracted: large scores overflow.",
                "没有减去最大值：大的分数会溢出。",
            ),
            lambda x: x.exp() / x.exp().sum(1, keepdim=True),
        ),
        Variant(
            "strides-assumed",
            Text(
                "You read x as if it were contiguous; use its strides.",
                "你把 x 当成连续的来读；要用它的步长。",
            ),
            _reread,
        ),
        Variant(
            "not-normalised",
            Text("The division by the sum is missing.", "漏了除以总和。"),
            lambda x: (x - x.amax(1, keepdim=True)).exp(),
        ),
    ),
    hints=(
        Text(
            "What do the lanes past cols hold after the load?",
            "load 之后，超出 cols 的位置里是什么？",
        ),
        Text(
            "They must be neutral for the maximum and for the sum: −inf, then e^−inf = 0.",
            "它们对最大值和总和都应没有影响：−inf，于是 e^−inf = 0。",
        ),
        Text(
            'x = tl.load(x_ptrs, mask=mask, other=-float("inf"))',
            'x = tl.load(x_ptrs, mask=mask, other=-float("inf"))',
        ),
    ),
    needs_triton=True,
)


EXERCISES = (VECTOR_ADD, ROW_SOFTMAX)
