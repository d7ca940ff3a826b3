"""Chapter 05, faults to mend: a width that is no power of two, and strides taken on trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here

Tensor = torch.Tensor
_EPS = torch.finfo(torch.float32).eps


def norms(x: Tensor) -> Tensor:
    """The dull reference."""
    return (x * x).sum(1)  # [rows]


def _width(x: Tensor) -> int:
    return 1 << (x.shape[1] - 1).bit_length()


def _with_neighbours(x: Tensor) -> Tensor:
    """What an unmasked block of the next power of two sums: the start of the next row as well."""
    flat = torch.nn.functional.pad(x.flatten(), (0, _width(x)))
    return torch.stack(
        [norms(flat[None, i * x.shape[1] :][:, : _width(x)])[0] for i in range(len(x))]
    )


def _narrow(x: Tensor) -> Tensor:
    return norms(x[:, : 1 << (x.shape[1].bit_length() - 1)])


def _rows(rows: int, d: int) -> tuple[Tensor, ...]:
    return here(randn(rows, d, seed=97))


FIX_WIDTH = Exercise(
    id="05.fix_width",
    title=Text("Mend: a width that is no power of two", "改错：宽度不是 2 的幂"),
    spec=Text(
        "Given: the sum of squares of each row. It works for D = 16 and stops with an error at "
        "D = 24, as tl.arange takes powers of two only. Make it right for every D: there are two "
        "places, and the obvious first one alone gives wrong numbers without an error.",
        "给出的 kernel 求每行的平方和。D = 16 时没问题，D = 24 就报错，因为 tl.arange 只接受 2 的幂。"
        "让它对任何 D 都对：要改两处，只改显而易见的那一处，不报错，结果却错。",
    ),
    formula="out[r] = Σ_d x[r, d]²,   d < D ≤ BLOCK_D = 2^k",
    passage=Passage(5, Text("The edge", "边缘")),
    then="05.fix_strides",
    entry="row_norms",
    call="row_norms(x) -> out [rows]",
    reference=norms,
    outputs=(Output("out", dtype="float32"),),
    allowed=lambda x: [32 * _EPS * norms(x.double())],
    cases=[
        Case("value", "D=16", lambda: _rows(3, 16)),
        Case("ragged", "D=24", lambda: _rows(4, 24)),
        Case("ragged", "D=1", lambda: _rows(3, 1)),
        Case("ragged", "D=59", lambda: _rows(2, 59)),
    ],
    rules=(
        Rule("own-work", lambda: _rows(2, 8), forbidden=TORCH_MATHS | {"square", "pow", "pad"}),
    ),
    variants=(
        Variant(
            "neighbours-counted",
            Text(
                "The block is wide enough now, but its last lanes read the beginning of the next "
                "row: mask the load.",
                "块够宽了，但末尾的位置读进了下一行的开头：load 要加掩码。",
            ),
            _with_neighbours,
        ),
        Variant(
            "rounded-down",
            Text(
                "The block is the power of two below D: the last columns are not read.",
                "块取了不超过 D 的 2 的幂：最后几列没有读。",
            ),
            _narrow,
        ),
        Variant(
            "padding-counted",
            Text(
                "Masked lanes are loaded as 1 and add 1 each. For a sum they must be 0.",
                "被屏蔽的位置读成了 1，每个都加了 1。求和时应读成 0。",
            ),
            lambda x: norms(x) + (_width(x) - x.shape[1]),
        ),
    ),
    hints=(
        Text(
            "Which D fail, and do they fail with an error or with a number?",
            "哪些 D 出错？是报错，还是数值不对？",
        ),
        Text(
            "BLOCK_D is the next power of two; lanes from D on belong to nobody.",
            "BLOCK_D 是下一个 2 的幂；从 D 往后的位置不属于这一行。",
        ),
        Text(
            "BLOCK_D=triton.next_power_of_2(x.shape[1]), and mask=offs_d < D, other=0.0",
            "BLOCK_D=triton.next_power_of_2(x.shape[1])，以及 mask=offs_d < D, other=0.0",
        ),
    ),
    needs_triton=True,
)


def delta(o: Tensor, do: Tensor) -> Tensor:
    """The dull reference."""
    return (o * do).sum(1)  # [rows]


def _like_o(o: Tensor, do: Tensor) -> Tensor:
    return delta(o, torch.as_strided(do, do.shape, o.stride(), do.storage_offset()))


def _as_contiguous(o: Tensor, do: Tensor) -> Tensor:
    o, do = (torch.as_strided(x, x.shape, (x.shape[1], 1), x.storage_offset()) for x in (o, do))
    return delta(o, do)


def _like_do(o: Tensor, do: Tensor) -> Tensor:
    return delta(torch.as_strided(o, o.shape, do.stride(), o.storage_offset()), do)


def _o_do(make_do: Callable[[], Tensor] | None = None, *, turned: bool = False) -> tuple[Any, ...]:
    o = randn(16, 6, seed=98).T if turned else randn(6, 16, seed=98)
    return here(o, randn(6, 16, seed=99) if make_do is None else make_do())


FIX_STRIDES = Exercise(
    id="05.fix_strides",
    title=Text("Mend: the gradient of a sum", "改错：sum 的梯度"),
    spec=Text(
        "Given: Delta = rowsum(o · do), as the backward pass needs it. It is right for random "
        "gradients and wrong for the gradient of o.sum(), which is one number seen through strides "
        "(0, 0). Find the line and mend it.",
        "给出反向要用的 Delta = rowsum(o · do)。随机梯度时它对；o.sum() 的梯度却错，"
        "那是一个数，用步长 (0, 0) 铺开的。找出这一行并改好。",
    ),
    formula="Delta[r] = Σ_d o[r, d] · do[r, d]",
    passage=Passage(5, Text("Two dimensions are strides", "二维全靠步长")),
    entry="row_delta",
    call="row_delta(o, do) -> Delta [rows]",
    reference=delta,
    outputs=(Output("Delta", dtype="float32"),),
    allowed=lambda o, do: [32 * _EPS * delta(o.double().abs(), do.double().abs()) + _EPS],
    cases=[
        Case("value", Text("both contiguous", "都连续"), _o_do),
        Case(
            "strides",
            Text("do transposed", "do 转置"),
            lambda: _o_do(lambda: randn(16, 6, seed=99).T),
        ),
        Case("strides", Text("o transposed", "o 转置"), lambda: _o_do(turned=True)),
        Case(
            "strides",
            Text("do of a row sum, strides (1, 0)", "行求和的 do，步长 (1, 0)"),
            lambda: _o_do(lambda: randn(6, 1, seed=99).expand(6, 16)),
        ),
        Case(
            "strides",
            Text("do of o.sum(), strides (0, 0)", "o.sum() 的 do，步长 (0, 0)"),
            lambda: _o_do(lambda: torch.ones(()).expand(6, 16)),
        ),
    ],
    rules=(Rule("own-work", _o_do, forbidden=TORCH_MATHS | {"contiguous", "clone", "expand_as"}),),
    variants=(
        Variant(
            "o-strides-for-both",
            Text(
                "do is read with the strides of o. It has strides of its own: stride_dom, "
                "stride_don.",
                "do 用了 o 的步长来读。它有自己的步长：stride_dom、stride_don。",
            ),
            _like_o,
        ),
        Variant(
            "contiguous-assumed",
            Text("o and do are read as if they were contiguous.", "o 和 do 都当成连续的来读了。"),
            _as_contiguous,
        ),
        Variant(
            "do-strides-for-both",
            Text("o is read with the strides of do now.", "现在 o 用了 do 的步长来读。"),
            _like_do,
        ),
    ),
    hints=(
        Text(
            "What are the strides of torch.ones(()).expand(6, 16)?",
            "torch.ones(()).expand(6, 16) 的步长是多少？",
        ),
        Text(
            "Two tensors of one shape may lie in memory in two ways. Each pointer needs its own "
            "strides.",
            "形状相同的两个张量，在内存里的排法可以不同。每个指针用自己的步长。",
        ),
        Text(
            "do_ptr + row * stride_dom + offs_d * stride_don",
            "do_ptr + row * stride_dom + offs_d * stride_don",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (FIX_WIDTH, FIX_STRIDES)
