"""The lanes of one access: where each stands in its tensor, and which of them the mask lets through.

Part of `recording`. A masked-off lane requests nothing, but it is there: it is what a block that
reaches past the end of a tensor costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Lanes:
    """A block of lanes.

    Args:
        shape: of the block of pointers, () for a single one.
        axes: for each axis of the block the axis of the tensor it walks along, one element a lane;
            -1 where it does not walk or does so in another way.
        start: indices of lane 0 in the tensor.
        bits: one bit a lane in row order, set where the mask is true; packed.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    start: tuple[int, ...]
    bits: bytes

    @property
    def on(self) -> np.ndarray:
        """The mask, in the shape of the block.

        Example:
            >>> Lanes((3,), (0,), (8,), bytes([0b11000000])).on.tolist()
            [True, True, False]
        """
        count = int(np.prod(self.shape, dtype=int))
        flat = np.unpackbits(np.frombuffer(self.bits, "u1"), count=count).astype(bool)
        return flat.reshape(self.shape)

    @property
    def off(self) -> int:
        """How many lanes are masked off."""
        return int((~self.on).sum())


def lanes_of(tensor: Any, elements: np.ndarray, on: np.ndarray) -> Lanes:
    """The lanes whose offsets into `tensor` are `elements`, `on` where the mask is true."""
    import torch

    from .recording import indices_of

    plain = tensor if isinstance(tensor, torch.Tensor) else getattr(tensor, "base", tensor)
    shape = tuple(int(n) for n in elements.shape)
    corner = elements[(0,) * elements.ndim]
    start = tuple(int(i) for i in indices_of(tensor, np.asarray(corner)))
    axes = []
    for axis, extent in enumerate(shape):
        if extent < 2:
            axes.append(-1)
            continue
        step = int(elements.take(1, axis=axis).flat[0] - elements.take(0, axis=axis).flat[0])
        walked = [a for a in range(plain.ndim) if plain.stride(a) == step and plain.shape[a] > 1]
        axes.append(walked[-1] if walked else -1)
    return Lanes(shape, tuple(axes), start, np.packbits(on.ravel()).tobytes())
