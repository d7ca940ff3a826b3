"""Which tile? A grid of BLOCK_M × BLOCK_N beside the roofline of a GPU, as a player."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...hardware import GPU
from ...language import Text
from .. import taking

if TYPE_CHECKING:
    from .widget import BlockChooser


@taking.takes(
    n=taking.whole, head_dim=taking.whole, causal=taking.yes_or_no,
    kernels=taking.are("capability", "head_dim", of=Text("compiled kernels", "编译好的 kernel")),
    predict=taking.yes_or_no,
)  # fmt: skip
def block_chooser(
    gpu: GPU | str = "a100-40",
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
    from ... import measured
    from .widget import BlockChooser

    rows = measured.compiled_tiles() if kernels is None else tuple(kernels)
    return BlockChooser(
        taking.card("gpu", gpu), rows, n=n, head_dim=head_dim, causal=causal, predict=predict,
        lang=lang,
    )  # fmt: skip
