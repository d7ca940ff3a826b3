"""bf16 made right in the interpreter, which keeps it as bits and then computes with the bits.

Values are widened to float32, computed there and rounded to nearest even. Part of the adapter in
`interpreter`; nothing here runs when kernels are compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as private


def widen(bits: np.ndarray) -> np.ndarray:
    """bf16 bits as float32 values."""
    return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32)


def narrow(values: np.ndarray) -> np.ndarray:
    """float32 values as bf16 bits, rounded to nearest even."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    bits = values.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)


def _is_bf16(handle: Any) -> bool:
    return getattr(handle, "dtype", None) is not None and handle.dtype.scalar == tl.bfloat16


def _wide(handle: Any) -> Any:
    """`handle` in float32 if it holds bf16, else itself."""
    if not _is_bf16(handle):
        return handle
    return private.TensorHandle(widen(handle.data).reshape(np.shape(handle.data)), tl.float32)


def _bf16(data: np.ndarray) -> Any:
    """A bf16 handle; a comparison keeps its booleans."""
    data = np.asarray(data)
    bits = data if data.dtype == np.bool_ else narrow(data).reshape(data.shape)
    return private.TensorHandle(bits, tl.bfloat16)


def _wrap(name: str) -> None:
    """Let a builder method compute bf16 operands in float32."""
    method = getattr(private.InterpreterBuilder, name)

    def widened(self: Any, *args: Any, **named: Any) -> Any:
        if np.where in args or not any(map(_is_bf16, args)):  # a select only moves bits
            return method(self, *args, **named)
        return _bf16(method(self, *map(_wide, args), **named).data)

    setattr(private.InterpreterBuilder, name, widened)


def _wrap_casts() -> None:
    builder = private.InterpreterBuilder
    cast, convert = builder.cast_impl, builder.create_fp_to_fp

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if src.dtype.scalar == dst_type.scalar:
            return cast(self, src, dst_type)
        if dst_type.scalar == tl.bfloat16:
            return _bf16(np.asarray(_wide(src).data).astype(np.float32))
        return cast(self, _wide(src), dst_type)

    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, rounding: Any) -> Any:
        nearest = rounding is None or rounding == private._ir.ROUNDING_MODE.RTNE
        if dst_type.scalar == tl.bfloat16 and src.dtype.scalar == tl.float32 and nearest:
            return _bf16(src.data)
        return convert(self, src, dst_type, rounding)

    def get_bf16(self: Any, value: float) -> Any:
        return _bf16(np.array([value], dtype=np.float32))

    builder.cast_impl, builder.create_fp_to_fp = cast_impl, create_fp_to_fp
    builder.get_bf16 = get_bf16


def _wrap_dot_and_print() -> None:
    builder = private.InterpreterBuilder
    dot, show = builder.create_dot, builder.create_print

    def create_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any, **named: Any) -> Any:
        return dot(self, _wide(a), _wide(b), d, *rest, **named)

    def create_print(self: Any, prefix: Any, hex: Any, values: Any, *rest: Any) -> Any:
        return show(self, prefix, hex, values if hex else [*map(_wide, values)], *rest)

    builder.create_dot, builder.create_print = create_dot, create_print


def _wrap_reductions() -> None:
    home = private.ReduceScanOpInterface
    apply = home.apply

    def widened(self: Any, operand: Any) -> Any:
        if not isinstance(operand, tuple):
            return widened(self, (operand,))[0]
        narrowed = [_is_bf16(t.handle) for t in operand]
        if not any(narrowed):
            return apply(self, operand)
        results = apply(self, tuple(_tensor(_wide(t.handle), t.type) for t in operand))
        return tuple(
            _tensor(_bf16(r.handle.data), r.type, tl.bfloat16) if was else r
            for r, was in zip(results, narrowed, strict=True)
        )

    home.apply = widened


def _tensor(handle: Any, like: Any, scalar: Any = None) -> Any:
    scalar = scalar or handle.dtype.scalar
    kind = tl.block_type(scalar, list(like.shape)) if like.is_block() else scalar
    return tl.core.tensor(handle, kind)


def install() -> None:
    """Replace the builder's methods that would compute with bits."""
    for name in ("binary_op", "ternary_op", "unary_op", "create_fma", "create_erf", "create_rsqrt"):
        _wrap(name)
    _wrap_casts()
    _wrap_dot_and_print()
    _wrap_reductions()
