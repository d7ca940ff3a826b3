"""What a reader may type: a row of numbers and where it is cut. Parsing and limits only."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from ...errors import ArgumentError
from ...language import Text
from ...reference import split_blocks

MAX_LENGTH = 16
MAX_SIZE = 10_000.0

_ROW = Text("numbers separated by commas, such as 1, 2, 3, 4", "用逗号隔开的数，例如 1, 2, 3, 4")
_BLOCKS = Text(
    "how many blocks, such as 2, or the length of each, such as 1, 3",
    "分成几块，例如 2；或逐块写出长度，例如 1, 3",
)


def _pieces(text: str) -> list[str]:
    text = text.strip().strip("[]()（）【】").replace("−", "-")
    return [piece for piece in re.split(r"[\s,，、;；]+", text) if piece]


def read_row(value: str | Sequence[float]) -> list[float]:
    """The row as floats.

    Raises:
        ArgumentError: if it is empty, too long for labelled bars, or holds anything but finite
            numbers of ordinary size.

    Example:
        >>> read_row("[1, 2 3，4]")
        [1.0, 2.0, 3.0, 4.0]
    """
    if not isinstance(value, (str, Iterable)):  # one number is no row
        raise ArgumentError("x", expected=_ROW, got=repr(value)[:60])
    pieces = _pieces(value) if isinstance(value, str) else list(value)
    row: list[float] = []
    for piece in pieces:
        try:
            number = float(piece)
        except (TypeError, ValueError):
            raise ArgumentError("x", expected=_ROW, got=repr(piece)) from None
        if not math.isfinite(number) or abs(number) > MAX_SIZE:
            raise ArgumentError(
                "x",
                expected=Text(
                    "finite numbers between −10,000 and 10,000, so that their labels fit",
                    "−10,000 到 10,000 之间的有限数，否则标签放不下",
                ),
                got=str(piece),
            )
        row.append(number)
    if not 1 <= len(row) <= MAX_LENGTH:
        raise ArgumentError(
            "x",
            expected=Text(
                f"1 to {MAX_LENGTH} numbers, so that every bar keeps its label",
                f"1 到 {MAX_LENGTH} 个数，这样每根柱子都标得下",
            ),
            got=Text(f"{len(row)} numbers", f"{len(row)} 个"),
        )
    return row


def read_blocks(value: str | int | Sequence[int], length: int) -> list[int]:
    """Block lengths that cut a row of `length` numbers completely.

    One number says how many blocks, several say how long each is: the rule of
    `reference.online_softmax_states`.

    Raises:
        ArgumentError: if a number is not whole and in 1..`length`, or lengths do not add up.

    Example:
        >>> read_blocks(2, 4), read_blocks("1, 3", 4)
        ([2, 2], [1, 3])
    """
    pieces = _pieces(value) if isinstance(value, str) else value
    if isinstance(value, str) and len(pieces) == 1:  # type: ignore[arg-type]
        pieces = _whole(pieces[0], length)  # type: ignore[index]
    if not isinstance(pieces, Sequence):
        cuts = split_blocks(length, _whole(pieces, length))
        return [stop - start for start, stop in cuts]
    sizes = [_whole(piece, length) for piece in pieces]
    if not sizes:
        raise ArgumentError("blocks", expected=_BLOCKS, got=Text("nothing", "空"))
    if sum(sizes) != length:
        raise ArgumentError(
            "blocks",
            expected=Text(
                f"lengths that add up to {length}, the length of the row",
                f"加起来等于行长 {length} 的几个块长",
            ),
            got=f"{' + '.join(map(str, sizes))} = {sum(sizes)}",
            hint=_BLOCKS,
        )
    return sizes


def _whole(piece: object, length: int) -> int:
    try:
        size = int(str(piece))
    except ValueError:
        raise ArgumentError("blocks", expected=_BLOCKS, got=repr(piece)) from None
    if not 1 <= size <= length:
        raise ArgumentError(
            "blocks",
            expected=Text(
                f"whole numbers from 1 to {length}, the length of the row",
                f"1 到 {length} 之间的整数，{length} 是行长",
            ),
            got=str(piece),
        )
    return size
