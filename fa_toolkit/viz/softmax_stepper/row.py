"""What a reader may type: a row of numbers, where it is cut, and V. Parsing and limits only.

`static/softmax_typed.js` reads the same text in the browser and refuses the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import ArgumentError
from ...language import Text
from ...reference import split_blocks
from .frames import default_values

MAX_LENGTH = 16
MAX_SIZE = 10_000.0
MAX_WIDTH = 3  # columns of V

_ROW = Text("numbers separated by commas, such as 1, 2, 3, 4", "用逗号隔开的数，例如 1, 2, 3, 4")
_BLOCKS = Text(
    "how many blocks, such as 2, or the length of each, such as 1, 3",
    "分成几块，例如 2；或逐块写出长度，例如 1, 3",
)
_VALUES = Text(
    "one row of V for each number, such as 1, 0; 0, 1", "每个数对应 V 的一行，例如 1, 0; 0, 1"
)


def _pieces(text: str) -> list[str]:
    text = text.strip().strip("[]()（）【】").replace("−", "-")
    return [piece for piece in re.split(r"[\s,，、;；]+", text) if piece]


def _untensored(value: Any) -> Any:
    """A tensor or an array as lists of numbers, or as the one number that it holds."""
    return value.tolist() if hasattr(value, "tolist") else value


def read_row(value: str | Sequence[float]) -> list[float]:
    """The row as floats.

    Raises:
        ArgumentError: if it is empty, too long for labelled bars, or holds anything but finite
            numbers of ordinary size.

    Example:
        >>> read_row("[1, 2 3，4]")
        [1.0, 2.0, 3.0, 4.0]
    """
    value = _untensored(value)
    if not isinstance(value, (str, Iterable)):  # one number is no row
        raise ArgumentError("x", expected=_ROW, got=repr(value)[:60])
    pieces = _pieces(value) if isinstance(value, str) else list(value)
    if len(pieces) > MAX_LENGTH:
        raise _too_many("x", len(pieces))
    row = [_number("x", piece, _ROW) for piece in pieces]
    if not row:
        raise _too_many("x", 0)
    return row


def read_values(
    value: str | Sequence[float] | Sequence[Sequence[float]] | None, length: int
) -> list[list[float]]:
    """V, one row for each of `length` numbers; a flat list is one column, None is the default.

    Raises:
        ArgumentError: if there are more or fewer rows, or they are not equally long.

    Example:
        >>> read_values("1, 0; 0, 1", 2), read_values([5, 6], 2)
        ([[1.0, 0.0], [0.0, 1.0]], [[5.0], [6.0]])
    """
    value = _untensored(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return default_values(length)
    if isinstance(value, str):
        lines = [_pieces(line) for line in re.split(r"[;；]", value) if _pieces(line)]
        if len(lines) == 1 and length > 1:  # one column, written in a row
            lines = [[piece] for piece in lines[0]]
        given: list[Any] = [list(line) for line in lines]
    elif isinstance(value, Iterable):
        given = [list(r) if isinstance(r, Iterable) else [r] for r in value]
    else:
        raise ArgumentError("v", expected=_VALUES, got=repr(value)[:60])
    if len(given) != length:
        expected = Text(f"{length} rows, one for each number of x", f"{length} 行，x 的每个数一行")
        got = Text(f"{len(given):,} rows", f"{len(given):,} 行")
        raise ArgumentError("v", expected=expected, got=got, hint=_VALUES)
    widths = {len(line) for line in given}
    if len(widths) != 1 or not 1 <= max(widths) <= MAX_WIDTH:
        raise ArgumentError(
            "v",
            expected=Text(
                f"rows of the same length, 1 to {MAX_WIDTH}", f"每行一样长，1 到 {MAX_WIDTH} 个数"
            ),
            got=", ".join(map(str, sorted(widths))),
        )
    return [[_number("v", piece, _VALUES) for piece in line] for line in given]


def _number(name: str, piece: Any, expected: Text) -> float:
    """One finite number of ordinary size."""
    try:
        number = float(piece)
    except (TypeError, ValueError):
        raise ArgumentError(name, expected=expected, got=repr(piece)[:60]) from None
    if not math.isfinite(number) or abs(number) > MAX_SIZE:
        raise ArgumentError(
            name,
            expected=Text(
                "finite numbers between −10,000 and 10,000, so that their labels fit",
                "−10,000 到 10,000 之间的有限数，否则标签放不下",
            ),
            got=str(piece)[:60],
        )
    return number


def _too_many(name: str, count: int) -> ArgumentError:
    return ArgumentError(
        name,
        expected=Text(
            f"1 to {MAX_LENGTH} numbers, so that every bar keeps its label",
            f"1 到 {MAX_LENGTH} 个数，这样每根柱子都标得下",
        ),
        got=Text(f"{count:,} numbers", f"{count:,} 个"),
    )


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
