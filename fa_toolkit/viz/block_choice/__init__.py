"""Which tile? A grid of BLOCK_M × BLOCK_N beside the roofline of a GPU, as a player."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError

if TYPE_CHECKING:
    from .widget import BlockChooser


def block_chooser(
    gpu: str = "a100-40",
    *,
    n: int = 4096,
    head_dim: int = 64,
    causal: bool = True,
    kernels: Iterable[Any] | None = None,
    predict: bool = True,
    lang: str | None = None,
) -> BlockChooser:
    """Choose a tile: what it costs on chip, and where it puts Flash Attention on the roofline.

    Shared memory, registers and spills are those of our forward kernel as it was compiled for the
    GPU (`measured.compiled_tiles`); bytes and FLOPs are the I/O model's. Clicking a tile chooses
    it, and "play this tile" loads it into `.player`, a tile player to show in another cell.

    Args:
        gpu: its architecture must be among the compiled ones (sm_80, sm_90).
        n: sequence length.
        head_dim: one that was compiled: 64 or 128.
        kernels: other rows of `measured.Compiled` to choose from.
        predict: stop at the questions.

    Raises:
        ArgumentError: if no kernel was compiled for this GPU and head dimension.

    Example:
        >>> chooser = block_chooser("a100-40", lang="en")
        >>> chooser.step = 4
        >>> chooser.tile, round(chooser.intensity)
        (TileShape(block_m=128, block_n=64), 117)
    """
    from ... import hardware, measured
    from .widget import BlockChooser

    for name, value in (("n", n), ("head_dim", head_dim)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(name, expected="int", got=repr(value))
    rows = measured.compiled_tiles() if kernels is None else tuple(kernels)
    return BlockChooser(
        hardware.gpu(gpu), rows, n=n, head_dim=head_dim, causal=bool(causal), predict=predict,
        lang=lang,
    )  # fmt: skip
