"""Tensors as the copy engine of Hopper reads them: whole tiles by one thread, without pointers.

Describes tensors. Which it can read and which kernels use it: `configuration`.
"""

from __future__ import annotations

import torch
from triton.tools.tensor_descriptor import TensorDescriptor


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
