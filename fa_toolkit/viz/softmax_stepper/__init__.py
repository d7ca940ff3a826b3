"""Softmax over one row, one step at a time, in three ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import taking

if TYPE_CHECKING:
    from .widget import Stepper


@taking.takes(predict=taking.yes_or_no)
def stepper(
    x: str | Sequence[float] = (1, 2, 3, 4),
    blocks: str | int | Sequence[int] = 2,
    *,
    v: str | Sequence[float] | Sequence[Sequence[float]] | None = None,
    view: str = "online",
    predict: bool = True,
    lang: str | None = None,
) -> Stepper:
    """A widget that plays softmax over one row, block by block, and gathers acc on the way.

    It stops where the old sum must be corrected and asks for the factor first. The reader may type
    another row, other blocks and another V, and play the row in three passes, online, or as parts
    that are merged: all three end in the same numbers. The wrong rule, subtracting, runs beside it.

    Args:
        x: the row, numbers or text such as "1, 2, 3, 4"; at most 16.
        blocks: how many blocks, or the length of each: 2 and [2, 2] cut four numbers alike.
        v: one row of V for each number, up to three wide; None takes one whose output can be read:
            the mean position, and the weight of the odd keys.
        view: "three", "online" or "merged".
        predict: ask for the factor before it is shown.
        lang: "en" or "zh"; None takes the language in force.

    Raises:
        ArgumentError: if the row, the blocks or V cannot be drawn; inside the widget one line says
            so, and what was there stays.

    Example:
        >>> player = stepper([1, 2, 3, 4], blocks=2, lang="en")
        >>> player.run.frames[-1].m, player.caption(6)[:37]
        (4.0, 'l and acc are multiplied by 0.1353: e')
    """
    from .widget import Stepper

    return Stepper(x, blocks, v=v, view=view, predict=predict, lang=lang)
