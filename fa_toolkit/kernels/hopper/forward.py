"""Flash Attention forward for Hopper: one producer warp, two or three consumer warp groups.

    producer   waits for an empty slot and asks the copy engine for tiles of Q, K and V
    consumer   S = Q K^T and O += P V on the tensor cores, softmax between: 64 rows each

Roles are in `forward_producer` and `forward_consumer`; here is what they share, and the launch of
both inside one program. q [B, Hq, Nq, D], k and v [B, Hkv, Nk, D], o as q, lse [B, Hq, Nq].
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .forward_consumer import consumer
from .forward_producer import producer
from .gluon import gl, gluon, mbarrier
from .protocol import PLACE
from .schedule import Work


class Shared(NamedTuple):
    """Tiles in shared memory and the barriers that say who may touch them."""

    q: Any  # [buffers * groups] tiles of rows
    k: Any  # [stages] tiles of keys: those of one step ...
    v: Any  # [stages] tiles of values: ... and those of the step before
    o: Any  # [groups] tiles of rows
    place: Any  # [places * groups * PLACE] where the rows of a turn are
    q_full: Any
    q_empty: Any
    full: Any
    empty: Any  # [stages], or [2 * stages]: those of the keys, then those of the values


@gluon.jit
def barriers(COUNT: gl.constexpr, ARRIVALS: gl.constexpr):
    """COUNT barriers, each of which turns after ARRIVALS."""
    bars = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(COUNT):
        mbarrier.init(bars.index(i), count=ARRIVALS)
    return bars


@gluon.jit
def shared_memory(q_desc, k_desc, v_desc, o_desc, plan: gl.constexpr):
    """All of a program's shared memory."""
    DTYPE: gl.constexpr = q_desc.dtype
    Q: gl.constexpr = plan.q_buffers * plan.groups
    q = gl.allocate_shared_memory(DTYPE, [Q, 1, 1, plan.rows, plan.d], q_desc.layout)
    keys: gl.constexpr = [plan.stages, 1, 1, plan.block_n, plan.d]
    k = gl.allocate_shared_memory(DTYPE, keys, k_desc.layout)
    v = gl.allocate_shared_memory(DTYPE, keys, v_desc.layout)
    o = q
    if not plan.share_qo:
        o = gl.allocate_shared_memory(DTYPE, [plan.groups, 1, 1, plan.rows, plan.d], o_desc.layout)
    place = gl.allocate_shared_memory(
        gl.int32, [PLACE * plan.places * plan.groups, 1], gl.SwizzledSharedLayout(1, 1, 1, [0])
    )
    q_full = barriers(Q, 1)
    q_empty = barriers(Q, 1)
    full = barriers(plan.stages, 1)
    empty = barriers(plan.stages * plan.parts, plan.groups)
    return Shared(q, k, v, o, place, q_full, q_empty, full, empty)


@gluon.jit(
    do_not_specialize=[
        "len_q",
        "len_k",
        "heads_q",
        "group",
        "row_tiles",
        "total",
        "section",
        "unit",
    ]
)
def hopper_forward_kernel(
    # inputs, outputs
    q_desc, k_desc, v_desc, o_desc, lse_ptr, counter_ptr,
    # runtime scalars, as in `Work`
    len_q, len_k, heads_q, group, row_tiles, total, section, unit,
    # constexprs
    plan: gl.constexpr,
):  # fmt: skip
    """Each program works on tiles of rows until none is left."""
    work = Work(len_q, len_k, heads_q, group, row_tiles, total, section, unit, counter_ptr)
    shared = shared_memory(q_desc, k_desc, v_desc, o_desc, plan)
    if plan.groups == 1:
        gl.warp_specialize([
            (consumer, (0, o_desc, lse_ptr, shared, work, plan)),
            (producer, (q_desc, k_desc, v_desc, shared, work, plan)),
        ], [1], [plan.producer_regs])  # fmt: skip
    elif plan.groups == 2:
        gl.warp_specialize([
            (consumer, (0, o_desc, lse_ptr, shared, work, plan)),
            (consumer, (1, o_desc, lse_ptr, shared, work, plan)),
            (producer, (q_desc, k_desc, v_desc, shared, work, plan)),
        ], [4, 1], [plan.consumer_regs, plan.producer_regs])  # fmt: skip
    else:
        gl.warp_specialize([
            (consumer, (0, o_desc, lse_ptr, shared, work, plan)),
            (consumer, (1, o_desc, lse_ptr, shared, work, plan)),
            (consumer, (2, o_desc, lse_ptr, shared, work, plan)),
            (producer, (q_desc, k_desc, v_desc, shared, work, plan)),
        ], [4, 4, 1], [plan.consumer_regs, plan.consumer_regs, plan.producer_regs])  # fmt: skip
