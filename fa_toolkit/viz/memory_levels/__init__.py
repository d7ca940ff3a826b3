"""The memories of a GPU, one under the other, and where a tensor fits: as a player."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ArgumentError
from ...hardware import GPU
from .. import taking

if TYPE_CHECKING:
    from .widget import MemoryLadder


@taking.takes(n=taking.whole, head_dim=taking.whole, predict=taking.yes_or_no)
def memory_ladder(
    gpu: GPU | str = "a100-40",
    *,
    tensor: str = "s",
    n: int = 4096,
    head_dim: int = 64,
    predict: bool = True,
    lang: str | None = None,
) -> MemoryLadder:
    """Walk down the memories of a GPU: registers, shared memory, L2, HBM, host.

    Size, bandwidth and latency of each stand on one scale; a tensor of your choice stands beside
    them, with the time that one pass over it takes at every level. It stops at one question: which
    level holds the tensor first.

    Args:
        gpu: a record or a name that `hardware.gpu` knows; others can be chosen in the widget.
        tensor: "q" (a tile of 128 queries), "k" (the keys of a head), "s" (the scores of a head)
            or "heads" (the scores of 32 heads), in fp16.
        n: sequence length.
        predict: stop at the question.

    Raises:
        UnknownNameError: if no GPU has that name.
        ArgumentError: if `tensor` is none of these, or a size is no whole number.

    Example:
        >>> ladder = memory_ladder("a100-40", tensor="s", n=4096, lang="en")
        >>> ladder.bytes, ladder.first
        (33554432, 'l2')
    """
    from .levels import TENSORS
    from .widget import MemoryLadder

    if tensor not in TENSORS:
        raise ArgumentError("tensor", expected=" | ".join(TENSORS), got=repr(tensor))
    return MemoryLadder(
        taking.card("gpu", gpu), tensor=tensor, n=n, head_dim=head_dim, predict=predict, lang=lang
    )  # fmt: skip
