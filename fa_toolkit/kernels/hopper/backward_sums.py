"""dQ is added up in float32 by the copy engine, one tile of keys after the other.

The sums lie in the order in which the tensor cores hold them, because nobody but `finish` reads
them: so a lane stores 16 bytes at once and a warp 512 in a row, without two at the same bank.
"""

from __future__ import annotations

from typing import Any

from .gluon import fence_async_shared, gl, gluon, tma

try:
    from triton._C.libtriton import ir
    from triton.experimental.gluon.language._core import builtin
except (ImportError, AttributeError):  # `gluon_names` says so
    ir: Any = None  # type: ignore[no-redef]

    def builtin(function: Any) -> Any:
        """Stand-in."""
        return function


@builtin
def add_to_global(desc: Any, coord: Any, src: Any, _semantic: Any = None) -> None:
    """The copy engine adds a tile of shared memory to global memory: in the builder, not in Gluon."""
    coord = _semantic._convert_to_ir_values(coord, require_i64=False)
    kind = ir.DESCRIPTOR_REDUCE_KIND.ADD
    _semantic.builder.create_async_tma_reduce(kind, desc.handle, coord, src.handle)


@gluon.jit
def in_register_order(dq, plan: gl.constexpr):
    """A share of dQ as rows of 128 bytes.

    Row 16 w + 8 u + r and column 8 j + 2 q + c of an accumulator are in lane 4 r + q of warp w; u and
    c tell four registers apart, and j the fours.
    """
    ROWS: gl.constexpr = plan.dq_tile[0]
    COLS: gl.constexpr = plan.dq_tile[1]
    wide = dq.reshape([ROWS // 16, 2, 8, COLS // 8, 4, 2])  # w u r j q c
    return wide.permute((3, 0, 2, 4, 1, 5)).reshape(plan.sums_tile)  # j w r q u c


@gluon.jit
def add_grad_q(sums_desc, shared, dq, place, GROUP: gl.constexpr, plan: gl.constexpr):
    """Add this group's share of dQ to the sums of the queries from `place` on, if that is not before 0."""
    tma.store_wait(0)  # the share before has been read
    own = shared.dq.index(GROUP)
    own.store(in_register_order(dq, plan))
    fence_async_shared()
    at = place * (plan.d // 32) + GROUP * plan.sums_tile[0]
    if place >= 0:  # the copy engine stores nothing outside of a tensor, but refuses to add there
        add_to_global(sums_desc, [at, 0], own)
