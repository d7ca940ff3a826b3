"""Online softmax, one step at a time: state, words, picture data, and the thin widget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .widget import Stepper


def stepper(
    x: str | Sequence[float] = (1, 2, 3, 4),
    blocks: str | int | Sequence[int] = 2,
    *,
    lang: str | None = None,
    predict: bool = True,
) -> Stepper:
    """A widget that plays softmax over one row, block by block.

    It stops where the old sum must be corrected and asks for the factor first. The reader may type
    another row and other blocks. Everything it shows was computed by `fa_toolkit.reference`.

    Args:
        x: the row, numbers or text such as "1, 2, 3, 4".
        blocks: how many blocks, or the length of each: 2 and [2, 2] cut four numbers alike.
        lang: "en" or "zh"; None takes the language in force.
        predict: ask for the factor before it is shown.

    Raises:
        ArgumentError: if the row or the blocks cannot be drawn; inside the widget the same
            sentence stands under the input instead.

    Example:
        >>> stepper([1, 2, 3, 4], blocks=2).run.frames[-1].m
        4.0
    """
    from .widget import Stepper

    return Stepper(x, blocks, lang=lang, predict=predict)
