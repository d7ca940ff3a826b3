"""Flash Attention, tile by tile: a traced run as a player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...language import Text
from ...problem import AttentionProblem, TileShape, check_tile
from .. import taking

if TYPE_CHECKING:
    from .widget import TilePlayer

PLAYED = ("flash_forward", "flash_backward", "decode")


@taking.takes(
    tile=taking.tile, backward=taking.yes_or_no, head=taking.pair, seed=taking.whole,
    predict=taking.yes_or_no,
)  # fmt: skip
def tile_player(
    what: Any = None,
    *,
    tile: TileShape | None = None,
    backward: bool = False,
    head: tuple[int, int] = (0, 0),
    gpu: str = "h100",
    detail: str = "tiles",
    predict: bool = True,
    seed: int = 7,
    lang: str | None = None,
) -> TilePlayer:
    """Play Flash Attention tile by tile: what is on chip, what it holds, what crossed to HBM.

    It plays what really ran: a trace of `tiled` (forward, backward, decoding) or of the kernels'
    recorder, or, for a problem, a run of `tiled` on random numbers. It stops at two questions:
    which tiles the mask skips, and by what factor the first larger score multiplies what was
    gathered.

    Args:
        what: a trace, an `AttentionProblem`, or None for 16 causal queries in tiles of 4 × 4. A
            trace made with keep_values=True shows its numbers.
        tile: how a problem is cut; a trace has its own.
        backward: for a problem, play the backward pass: P computed again, dV, dP, dS, dK, dQ.
        head: which (batch, head) of a trace.
        gpu: the GPU whose shared memory and registers the tiles are held against.
        detail: "tiles" (a step is a tile) or "operations" (a step is a load, a product, ...).
        predict: stop at the questions.
        seed: of the random numbers of a problem.

    Raises:
        ArgumentError: if `what` is none of these, or a trace of another algorithm.

    Example:
        >>> player = tile_player(lang="en")
        >>> player.last, player.caption(14)
        (14, 'Rows 12 to 15 are finished: acc is divided by l, and O leaves the chip once.')
    """
    from ...language import using
    from .state import DEFAULT_PROBLEM, DEFAULT_TILE, check_detail, check_lang, traced
    from .widget import TilePlayer

    error = ""
    if what is None or isinstance(what, AttentionProblem):
        problem = what or DEFAULT_PROBLEM
        if tile is not None:
            check_tile(tile)
        with using(check_lang(lang)):
            what, error = traced(problem, tile or (DEFAULT_TILE if what is None else TileShape()),
                                 backward=backward, seed=seed)  # fmt: skip
    elif getattr(what, "algorithm", None) not in PLAYED:
        raise ArgumentError(
            "what",
            expected=Text(
                f"a trace of {' or '.join(PLAYED)}, or an AttentionProblem",
                f"{' 或 '.join(PLAYED)} 的轨迹，或 AttentionProblem",
            ),
            got=str(getattr(what, "algorithm", type(what).__name__)),
            hint="tiled.trace_flash_forward(q, k, v, keep_values=True)",
        )
    return TilePlayer(
        what, head=head, gpu_name=gpu, detail=check_detail(detail), error=error,
        predict=predict, lang=lang,
    )  # fmt: skip
