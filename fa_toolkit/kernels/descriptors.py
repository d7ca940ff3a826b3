"""Tensors as the copy engine of Hopper reads them: whole tiles by one thread, without pointers.

Says which tensors it can read and describes them. Which kernels use it: `configuration`.
"""

from __future__ import annotations

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

ALIGNMENT = 16  # bytes: of the first element, and of every step but the innermost


def readable(*tensors: torch.Tensor) -> bool:
    """Whether the copy engine can read all of them: aligned, dense along the last axis, no gaps."""
    return all(_readable(x) for x in tensors)


def _readable(x: torch.Tensor) -> bool:
    *outer, inner = x.stride()
    aligned = all(step > 0 and step * x.itemsize % ALIGNMENT == 0 for step in outer)
    return aligned and inner == 1 and x.data_ptr() % ALIGNMENT == 0 and x.numel() > 0


def rows_of(x: torch.Tensor, rows: int, width: int) -> TensorDescriptor:
    """Tiles of `rows` rows of one head of x, [B, H, N, D]; `width` is D as the kernel pads it."""
    return _described(x, [1, 1, rows, width])


def statistics_of(x: torch.Tensor, rows: int) -> TensorDescriptor:
    """Tiles of `rows` numbers of one head of x, [B, H, N]."""
    return _described(x, [1, 1, rows])


def _described(x: torch.Tensor, block: list[int]) -> TensorDescriptor:
    """What `TensorDescriptor(...)` gives, less its checks: `readable` has done them."""
    made: TensorDescriptor = object.__new__(TensorDescriptor)
    made.base, made.shape, made.strides = x, list(x.shape), list(x.stride())
    made.block_shape = block
    return made
