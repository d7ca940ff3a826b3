"""Our two sets of kernels by name, for `fa bench --also`: "auto" takes now one, now the other."""

from __future__ import annotations

from torch import Tensor

from ..attention import flash_attention


def hopper(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """The kernels written for Hopper."""
    return flash_attention(q, k, v, causal=causal, impl="hopper")


def readable(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """The kernels that the course reads, for any GPU."""
    return flash_attention(q, k, v, causal=causal, impl="triton")
