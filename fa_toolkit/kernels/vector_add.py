"""The first kernel: one program adds one block of two vectors."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..errors import DtypeError, ShapeError
from ..language import Text
from .launching import on_device_of, require_kernels


@triton.jit
def vector_add_kernel(
    # inputs, output
    x_ptr, y_ptr, out_ptr,
    # strides, in elements
    stride_x, stride_y,
    # runtime scalars
    length,
    # constexprs
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Each program owns BLOCK consecutive elements: it loads both, adds, and stores the sum."""
    pid = tl.program_id(0).to(tl.int64)
    offs = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
    # the last block reaches past the end: those lanes neither load nor store
    mask = offs < length
    x = tl.load(x_ptr + offs * stride_x, mask=mask, other=0.0)  # [BLOCK]
    y = tl.load(y_ptr + offs * stride_y, mask=mask, other=0.0)  # [BLOCK]
    tl.store(out_ptr + offs, x + y, mask=mask)


def _flat(x: torch.Tensor) -> torch.Tensor:
    return x if x.ndim == 1 else x.reshape(-1)


def vector_add(x: torch.Tensor, y: torch.Tensor, *, block: int = 1024) -> torch.Tensor:
    """x + y, element by element.

    Reads 2·n elements and writes n; one addition for three transfers, so it runs at the speed of
    memory on any GPU.

    Shapes:
        x, y: the same shape, any strides.

    Args:
        block: elements one program owns, a power of two.

    Raises:
        ShapeError: if the shapes differ.
        DtypeError: if the types differ, or hold no real numbers.
        BackendUnavailable: if kernels cannot run here.
    """
    require_kernels(x, y)
    if x.shape != y.shape:
        raise ShapeError("y", expected=str(tuple(x.shape)), got=str(tuple(y.shape)))
    if x.dtype != y.dtype:
        raise DtypeError(
            "y",
            expected=Text(f"{x.dtype}, as x", f"与 x 相同的 {x.dtype}"),
            got=str(y.dtype),
            hint=Text("y.to(x.dtype)", "y.to(x.dtype)"),
        )
    if x.dtype == torch.bool or x.is_complex():
        expected = Text("a type of real numbers", "实数类型")
        raise DtypeError("x", expected=expected, got=str(x.dtype))
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    flat_x, flat_y = _flat(x), _flat(y)
    with on_device_of(x):
        vector_add_kernel[(triton.cdiv(out.numel(), block),)](
            flat_x, flat_y, out, flat_x.stride(0), flat_y.stride(0), out.numel(), BLOCK=block
        )
    return out
