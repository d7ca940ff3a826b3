"""HBM traffic of standard attention and Flash Attention, side by side, as a player."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ArgumentError
from ...problem import AttentionProblem, TileShape, check_tile
from .. import taking

if TYPE_CHECKING:
    from .widget import TrafficPlayer

DETAILS = ("programs", "tiles")


@taking.takes(problem=taking.problem, tile=taking.tile, predict=taking.yes_or_no)
def traffic_player(
    problem: AttentionProblem | None = None,
    *,
    tile: TileShape | None = None,
    gpu: str = "a100-40",
    detail: str = "programs",
    predict: bool = True,
    lang: str | None = None,
) -> TrafficPlayer:
    """Play what crosses between HBM and chip: three phases beside one, the same problem and clock.

    It begins with the loads and stores of both algorithms as `tiled` traced them. Its sliders go
    on without a kernel: the browser walks the same tiles for other sizes, and the tests compare
    every event of both.

    Args:
        problem: one head, N queries and N keys, or one query; 512 × 64 in fp16 if None.
        tile: how it is cut; 128 × 128 if None.
        gpu: whose bandwidth and peak rate make the modelled time.
        detail: "programs" (a step is a row of tiles) or "tiles".
        predict: stop at the question.

    Raises:
        ArgumentError: if the problem has several heads, a window, or other lengths.

    Example:
        >>> player = traffic_player(lang="en")
        >>> {name: bill.transfers for name, bill in player.bills.items()}
        {'standard': 6, 'flash': 2}
    """
    from .state import DEFAULT_PROBLEM, DEFAULT_TILE, check_problem
    from .widget import TrafficPlayer

    if detail not in DETAILS:
        raise ArgumentError("detail", expected=" | ".join(DETAILS), got=repr(detail))
    if tile is not None:
        check_tile(tile)
    return TrafficPlayer(
        check_problem(problem or DEFAULT_PROBLEM), tile or DEFAULT_TILE, gpu_name=gpu,
        detail=detail, predict=predict, lang=lang,
    )  # fmt: skip
