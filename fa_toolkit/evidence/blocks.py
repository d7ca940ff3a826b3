"""S09 to S12 and S22: softmax in blocks, its merge, the wrong repair, and how exact it is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from .. import reference, tiled
from ..language import Text
from ..problem import TileShape
from ..viz.numbers import plain
from .bars import Bar, bars
from .record import RAN, Check, Found, claim

ROW = (1.0, 2.0, 3.0, 4.0)  # the row of the article
#: Rounding of float64 sums of a few hundred terms, with room: far below any mistake.
ROUNDING = 1e-12


def _global(row: tuple[float, ...] = ROW) -> Tensor:
    return torch.softmax(torch.tensor(row, dtype=torch.float64), 0)


@claim("S09")
def only_local() -> Found:
    """A block's own maximum and sum are not the row's; merging two numbers makes them so."""
    from ..viz.figures.softmax import softmax_bars

    first, second = reference.online_softmax_states(ROW, 2)
    total = sum(math.exp(x - max(ROW)) for x in ROW)
    local = (first.block_max, first.block_sum)
    return Found(
        stated=(
            Check(
                Text(
                    f"The first block alone has maximum {plain(local[0])} and sum "
                    f"{plain(local[1])}; the row has {plain(max(ROW))} and {plain(total)}.",
                    f"第一块自己的最大值是 {plain(local[0])}，和是 {plain(local[1])}；"
                    f"整行的是 {plain(max(ROW))} 和 {plain(total)}。",
                ),
                local != (max(ROW), total),
            ),
            Check(
                Text(
                    "Merged block by block, m and l come out as those of the row.",
                    "逐块合并之后，m 和 l 与整行的一致。",
                ),
                second.m == max(ROW) and abs(second.l - total) < ROUNDING,
            ),
        ),
        numbers={"local_max": local[0], "local_sum": local[1], "l": second.l, "m": second.m},
        short=Text(
            f"two numbers a row are merged: l = {plain(first.l)} becomes {plain(second.l)}",
            f"每行合并两个数：l 从 {plain(first.l)} 变成 {plain(second.l)}",
        ),
        source=RAN,
        draw=lambda: softmax_bars(ROW, 2),
    )


@claim("S10")
def the_row_of_four() -> Found:
    """The worked row of the article, in float64 against the closed forms."""
    from ..viz.figures.softmax import softmax_bars

    first, second = reference.online_softmax_states(ROW, 2)
    wanted = math.exp(-1) + 1
    return Found(
        stated=(
            Check(
                Text(
                    f"Local maxima {plain(first.block_max)} and {plain(second.block_max)}.",
                    f"局部最大值 {plain(first.block_max)} 和 {plain(second.block_max)}。",
                ),
                (first.block_max, second.block_max) == (2.0, 4.0),
            ),
            Check(
                Text(
                    f"Local sums {first.block_sum:.6f} and {second.block_sum:.6f}; "
                    f"e⁻¹ + 1 = {wanted:.6f}.",
                    f"局部和 {first.block_sum:.6f} 和 {second.block_sum:.6f}；"
                    f"e⁻¹ + 1 = {wanted:.6f}。",
                ),
                max(abs(state.block_sum - wanted) for state in (first, second)) < ROUNDING,
            ),
            Check(
                Text(f"Global maximum {plain(second.m)}.", f"全局最大值 {plain(second.m)}。"),
                second.m == 4.0,
            ),
        ),
        numbers={"sum_1": first.block_sum, "sum_2": second.block_sum, "m": second.m},
        short=Text(
            f"maxima 2 and 4, both sums {first.block_sum:.4f} = e⁻¹ + 1",
            f"最大值 2 和 4，两个和都是 {first.block_sum:.4f} = e⁻¹ + 1",
        ),
        source=RAN,
        draw=lambda: softmax_bars(ROW, 2),
    )


@claim("S11")
def multiply_not_subtract() -> Found:
    """The right repair and the wrong one beside each other, and acc left without it."""
    right, wanted = reference.online_softmax(torch.tensor(ROW, dtype=torch.float64), 2), _global()
    wrong = reference.subtracting_softmax(ROW, 2)
    factor = reference.online_softmax_states(ROW, 2)[1].factor
    error = float((wrong - wanted).abs().max())
    values = torch.arange(1.0, 5.0, dtype=torch.float64)
    unrepaired = _acc_not_repaired(values)
    acc_error = abs(unrepaired - float(wanted @ values))
    return Found(
        stated=(
            Check(
                Text(
                    f"The factor is e^(2 − 4) = {factor:.4f}, and multiplying gives the softmax "
                    "of the row.",
                    f"因子是 e^(2 − 4) = {factor:.4f}，乘上它就得到整行的 softmax。",
                ),
                abs(factor - math.exp(-2)) < ROUNDING
                and float((right - wanted).abs().max()) < ROUNDING,
            ),
            Check(
                Text(
                    f"Subtracting the difference misses by {plain(error)}; one probability even "
                    f"comes out as {plain(float(wrong.min()))}.",
                    f"减去差值则差了 {plain(error)}，甚至有一个概率是 {plain(float(wrong.min()))}。",
                ),
                error > 0.05,
            ),
            Check(
                Text(
                    f"acc needs the same factor, which the article does not say: without it the "
                    f"output is off by {plain(acc_error)}.",
                    f"acc 也要乘同一个因子，文章没有提：不乘，输出就错 {plain(acc_error)}。",
                ),
                acc_error > 0.05,
            ),
        ),
        numbers={"factor": factor, "error_of_subtracting": error, "error_of_acc": acc_error},
        short=Text(
            f"times e⁻² = {factor:.4f} is exact; subtracting misses by {plain(error)}; "
            f"acc needs it too (else off by {plain(acc_error)})",
            f"乘 e⁻² = {factor:.4f} 精确；减差值错 {plain(error)}；"
            f"acc 也要乘（否则错 {plain(acc_error)}）",
        ),
        source=RAN,
        draw=lambda: bars(
            Text("[1, 2, 3, 4] in two blocks: the largest error", "[1, 2, 3, 4] 分两块：最大误差"),
            Text("The sum and acc both need the factor e⁻².", "和与 acc 都要乘因子 e⁻²。"),
            [
                Bar(Text("multiplied", "相乘"), 0.0, "stat", "< 10⁻¹²"),
                Bar(Text("2 subtracted", "减去 2"), error),
                Bar(Text("l multiplied, acc not", "l 乘了，acc 没乘"), acc_error, "acc"),
            ],
            axis=Text("error (V = 1, 2, 3, 4 for acc)", "误差（acc 用 V = 1、2、3、4）"),
            where=RAN,
        ),
    )


def _acc_not_repaired(values: Tensor) -> float:
    """The output of the row if l is repaired and acc is not."""
    first, second = reference.online_softmax_states(ROW, 2)
    row = torch.tensor(ROW, dtype=torch.float64)
    acc = sum(
        float((row[s.start : s.stop] - s.m).exp() @ values[s.start : s.stop])
        for s in (first, second)
    )
    return acc / second.l


def _rows(count: int = 200) -> Iterator[tuple[Tensor, int]]:
    """Rows of random lengths and sizes, some with −inf, and a random block."""
    generator = torch.Generator().manual_seed(12)
    for i in range(count):
        n, block = (int(torch.randint(1, top, (1,), generator=generator)) for top in (65, 17))
        x = torch.randn(n, generator=generator, dtype=torch.float64) * 10 ** (i % 4)
        x[1:][torch.rand(n - 1, generator=generator) < 0.1] = -math.inf
        yield x, block


@claim("S12")
def exactly_the_global_softmax() -> Found:
    """Random rows and cuts: equal to rounding in float64, other bits in float32."""
    cases = list(_rows())
    worst = max(
        float((reference.online_softmax(x, block) - torch.softmax(x, 0)).abs().max())
        for x, block in cases
    )
    other = sum(
        not torch.equal(
            reference.online_softmax(x.float(), block), reference.safe_softmax(x.float())
        )
        for x, block in cases
    )
    return Found(
        stated=(
            Check(
                Text(
                    f"{len(cases)} random rows and cuts in float64: the largest difference is "
                    "below 10⁻¹².",
                    f"float64 下 {len(cases)} 组随机的行与切法：最大差别小于 10⁻¹²。",
                ),
                worst < ROUNDING,
            ),
        ),
        conditions=(
            Check(
                Text(
                    "In float32 many of the same rows differ in their last bits: sums are taken in "
                    "another order.",
                    "换成 float32，其中不少行末尾几位不同：求和的次序变了。",
                ),
                other > 0,
            ),
        ),
        numbers={"cases": len(cases), "worst_float64": worst, "differ_float32": other},
        short=Text(
            f"{len(cases)} random rows and cuts: equal to 10⁻¹² in float64, other last bits in "
            "float32",
            f"{len(cases)} 组随机的行与切法：float64 下差别小于 10⁻¹²，float32 下末位不同",
        ),
        source=RAN,
    )


@claim("S22")
def same_attention() -> Found:
    """The same for the output of attention, over tiles of many shapes."""
    generator = torch.Generator().manual_seed(22)
    q, k, v = (torch.randn(1, 2, 61, 16, generator=generator, dtype=torch.float64) for _ in "qkv")
    wanted, _ = reference.attention(q, k, v, causal=True)
    tiles = [TileShape(m, n) for m in (8, 16, 64) for n in (8, 16, 64)]
    outs = [tiled.flash_forward(q, k, v, tile=t, causal=True)[0] for t in tiles]
    worst = max(float((o - wanted).abs().max()) for o in outs)
    halves = [
        tiled.flash_forward(*(x.float() for x in (q, k, v)), tile=t, causal=True)[0] for t in tiles
    ]
    kinds = len({h.numpy().tobytes() for h in halves})
    return Found(
        stated=(
            Check(
                Text(
                    f"{len(tiles)} tile shapes in float64: the output differs from attention over "
                    "whole rows by less than 10⁻¹².",
                    f"float64 下 {len(tiles)} 种块形状：输出与整行注意力相差不到 10⁻¹²。",
                ),
                worst < ROUNDING,
            ),
        ),
        conditions=(
            Check(
                Text(
                    "In float32 the tile shape changes the last bits: the outputs are not all "
                    "the same.",
                    "换成 float32，块的形状会改变末尾几位：输出并不全同。",
                ),
                kinds > 1,
            ),
        ),
        numbers={"tiles": len(tiles), "worst_float64": worst, "kinds_float32": kinds},
        short=Text(
            f"{len(tiles)} tile shapes: output equal to 10⁻¹² in float64, other last bits in float32",
            f"{len(tiles)} 种块形状：float64 下输出差别小于 10⁻¹²，float32 下末位不同",
        ),
        source=RAN,
    )
