"""Softmax four ways over the last axis: naive, safe, online, and one that is wrong on purpose.

Each function can report how many times it walks over its input. Nothing here knows of attention;
the running state of attention, which carries an output too, is `tiled.SoftmaxState`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..language import Text

MINUS_INF = float("-inf")


class PassCounter:
    """Counts how often an algorithm walks over all of its input.

    Example:
        >>> passes = PassCounter()
        >>> _ = safe_softmax(torch.tensor([1.0, 2.0]), passes=passes)
        >>> passes.count
        3
    """

    def __init__(self) -> None:
        self.count = 0

    def walk(self) -> None:
        """Say that a pass over the whole input begins."""
        self.count += 1


def _walk(passes: PassCounter | None) -> None:
    if passes is not None:
        passes.walk()


def naive_softmax(x: Tensor, *, passes: PassCounter | None = None) -> Tensor:
    """e^x over its sum, as the formula stands: two passes, and it overflows.

        y_i = e^(x_i) / sum_j e^(x_j)

    In float32 e^x is infinite from x = 88.8 on, and infinity over infinity is NaN.

    Example:
        >>> naive_softmax(torch.tensor([100.0, 0.0]))
        tensor([nan, 0.])
    """
    _walk(passes)
    total = torch.exp(x).sum(-1, keepdim=True)
    _walk(passes)
    return torch.exp(x) / total


def safe_softmax(x: Tensor, *, passes: PassCounter | None = None) -> Tensor:
    """Softmax with the row maximum subtracted first: three passes, no overflow.

        m = max_j x_j        y_i = e^(x_i - m) / sum_j e^(x_j - m)

    A row of nothing but -inf has no largest number and comes out NaN, as `torch.softmax` has it.

    Example:
        >>> safe_softmax(torch.tensor([100.0, 100.0]))
        tensor([0.5000, 0.5000])
    """
    if x.shape[-1] == 0:
        return torch.empty_like(x)
    _walk(passes)
    m = x.amax(-1, keepdim=True)
    _walk(passes)
    total = torch.exp(x - m).sum(-1, keepdim=True)
    _walk(passes)
    return torch.exp(x - m) / total


def online_softmax(x: Tensor, block: int = 1, *, passes: PassCounter | None = None) -> Tensor:
    """Softmax whose maximum and sum come out of one pass: two passes in all.

    The sum so far is right for a row that ends here. When a block raises the maximum from m to
    m_new, every term of the old sum is too large by the same factor, so one multiplication
    repairs it, however long the sum is.

        m_new = max(m, max of the block)
        l     = l * e^(m - m_new) + sum over the block of e^(x_j - m_new)

    Args:
        block: elements looked at together.

    Raises:
        ArgumentError: if `block` is smaller than 1.

    Example:
        >>> online_softmax(torch.tensor([1.0, 2.0, 3.0, 4.0]), block=2)
        tensor([0.0321, 0.0871, 0.2369, 0.6439])
    """
    if block < 1:
        raise ArgumentError("block", expected=Text("1 or more", "不小于 1 的整数"), got=repr(block))
    m = x.new_full(x.shape[:-1], MINUS_INF)
    l = torch.zeros_like(m)  # noqa: E741  (the letter of the formula)
    _walk(passes)
    for start in range(0, x.shape[-1], block):
        part = x[..., start : start + block]
        m_new = torch.maximum(m, part.amax(-1))
        pivot = m_new.masked_fill(m_new == MINUS_INF, 0.0)  # never -inf minus -inf
        l = l * torch.exp(m - pivot) + torch.exp(part - pivot[..., None]).sum(-1)  # noqa: E741
        m = m_new
    _walk(passes)
    return torch.exp(x - m[..., None]) / l[..., None]


@dataclass(frozen=True, slots=True)
class BlockState:
    """What online softmax knows once a block has been folded in.

    Args:
        start, stop: the elements of the block, half open.
        block_max: largest element of the block alone.
        block_sum: sum of e^(x - block_max) over the block alone.
        factor: e^(old m - new m), by which the sum so far was multiplied; 0 for the first block,
            where there is nothing to carry over.
        m: running maximum after this block.
        l: running denominator after this block.
    """

    start: int
    stop: int
    block_max: float
    block_sum: float
    factor: float
    m: float
    l: float  # noqa: E741  (the letter of the formula)


def split_blocks(length: int, blocks: int | Sequence[int]) -> list[tuple[int, int]]:
    """Half-open ranges of a row of `length` cut into `blocks` parts, or parts of the given lengths.

    A number of parts that does not divide the length makes the first parts one longer.

    Raises:
        ArgumentError: if there is no part, or the lengths do not add up.

    Example:
        >>> split_blocks(5, 2), split_blocks(5, [1, 4])
        ([(0, 3), (3, 5)], [(0, 1), (1, 5)])
    """
    if isinstance(blocks, int):
        if blocks < 1:
            expected = Text("1 or more", "不小于 1 的整数")
            raise ArgumentError("blocks", expected=expected, got=repr(blocks))
        short, longer = divmod(length, blocks)
        blocks = [short + (i < longer) for i in range(blocks)]
    if sum(blocks) != length or min(blocks, default=0) < 0:
        expected = Text(f"lengths that add up to {length}", f"各块长度之和为 {length}")
        raise ArgumentError("blocks", expected=expected, got=repr(list(blocks)))
    stops = [sum(blocks[: i + 1]) for i in range(len(blocks))]
    return [(stop - size, stop) for stop, size in zip(stops, blocks, strict=True)]


def online_softmax_states(
    x: Tensor | Sequence[float], blocks: int | Sequence[int]
) -> list[BlockState]:
    """The running (m, l) of one row after each block, in float64.

    Args:
        x: one row.
        blocks: how many blocks, or the length of each.

    Example:
        >>> first, second = online_softmax_states([1, 2, 3, 4], 2)
        >>> (first.m, second.m, round(second.factor, 4), round(second.l, 4))
        (2.0, 4.0, 0.1353, 1.553)
    """
    row = _row(x)
    states: list[BlockState] = []
    m, l = MINUS_INF, 0.0  # noqa: E741
    for start, stop in split_blocks(len(row), blocks):
        part = row[start:stop]
        block_max = _largest(part)
        block_sum = sum(math.exp(value - block_max) for value in part if value > MINUS_INF)
        m_new = _largest((m, block_max))
        factor, own = (math.exp(old - m_new) if old > MINUS_INF else 0.0 for old in (m, block_max))
        m, l = m_new, l * factor + block_sum * own  # noqa: E741
        states.append(BlockState(start, stop, block_max, block_sum, factor, m, l))
    return states


def subtracting_softmax(x: Tensor | Sequence[float], blocks: int | Sequence[int]) -> Tensor:
    """WRONG on purpose: repairs earlier numerators by subtracting the rise of the maximum.

    The slip is to read "subtract the new maximum" outside the exponent, where it belongs inside:

        wrong:  e^(x - m) - (m_new - m)        right:  e^(x - m) * e^(m - m_new)

    Run it beside `online_softmax` to see it fail; nothing else uses it.
    """
    row = torch.tensor(_row(x), dtype=torch.float64)
    numerators = torch.zeros(0, dtype=torch.float64)
    m = MINUS_INF
    for start, stop in split_blocks(len(row), blocks):
        part = row[start:stop]
        m_new = _largest((m, *part.tolist()))
        rise = m_new - m if m > MINUS_INF else 0.0
        numerators = torch.cat((numerators - rise, torch.exp(part - m_new)))
        m = m_new
    return numerators / numerators.sum()


def _row(x: Tensor | Sequence[float]) -> list[float]:
    row = torch.as_tensor(x, dtype=torch.float64)
    if row.ndim != 1:
        expected = Text("one row (one axis)", "一行（一维）")
        raise ArgumentError("x", expected=expected, got=str(tuple(row.shape)))
    values: list[float] = row.tolist()
    return values


def _largest(values: Sequence[float]) -> float:
    """The maximum, NaN if any value is NaN, -inf of nothing."""
    return math.nan if any(map(math.isnan, values)) else max(values, default=MINUS_INF)
