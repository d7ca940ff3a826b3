"""Flash Attention backward for Hopper: dK, dV and dQ in one pass, five products for a tile.

    prepare    log-sum-exp in base 2 and Delta, whole tiles of them; the sums of dQ are set to 0
    backward   a program owns 128 keys of one key head and walks the queries that see them
    finish     the sums of dQ, scaled and rounded

Here is the middle one: what its roles share, and their launch inside one program. The roles are in
`backward_producer` and `backward_consumer`, the two small kernels in `backward_ends`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .backward_consumer import backward_consumer
from .backward_producer import backward_producer
from .backward_schedule import KeyWork
from .forward import barriers
from .gluon import gl, gluon


class BackwardShared(NamedTuple):
    """Tiles in shared memory and the barriers that say who may touch them."""

    k: Any  # [groups] tiles of keys
    v: Any
    q: Any  # [stages] tiles of queries
    do: Any
    stats: Any  # [stages] lse and Delta of those queries
    ds: Any  # [stages] dS^T of all keys of the program
    dq: Any  # [groups] shares of dQ on their way to the sums
    out: Any  # [groups] dV, then dK, on their way out where K and V must not wait for them
    place: Any  # batch, key head and first key of the tile in k and v; -1: there is none
    kv_full: Any
    kv_empty: Any
    q_full: Any
    q_empty: Any
    do_full: Any
    do_empty: Any


@gluon.jit
def backward_memory(q_desc, k_desc, do_desc, stats_desc, sums_desc, plan: gl.constexpr):
    """All of a program's shared memory."""
    DTYPE: gl.constexpr = q_desc.dtype
    STAGES: gl.constexpr = plan.stages
    keys: gl.constexpr = [2, 1, 1, plan.kv_tile[0], plan.d]
    k = gl.allocate_shared_memory(DTYPE, keys, k_desc.layout)
    v = gl.allocate_shared_memory(DTYPE, keys, k_desc.layout)
    queries: gl.constexpr = [STAGES, 1, 1, plan.block_m, plan.d]
    q = gl.allocate_shared_memory(DTYPE, queries, q_desc.layout)
    do = gl.allocate_shared_memory(DTYPE, queries, do_desc.layout)
    stats = gl.allocate_shared_memory(gl.float32, [STAGES, 1, 2 * plan.block_m], stats_desc.layout)
    scores: gl.constexpr = [plan.keys, plan.block_m]
    DS: gl.constexpr = gl.NVMMASharedLayout.get_default_for(scores, DTYPE)
    ds = gl.allocate_shared_memory(DTYPE, [STAGES, plan.keys, plan.block_m], DS)
    share: gl.constexpr = [2, plan.sums_tile[0], plan.sums_tile[1]]
    dq = gl.allocate_shared_memory(gl.float32, share, sums_desc.layout)
    out = k
    if plan.persistent:
        out = gl.allocate_shared_memory(DTYPE, keys, k_desc.layout)
    place = gl.allocate_shared_memory(gl.int32, [3, 1], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    kv_full = barriers(1, 1).index(0)
    kv_empty = barriers(1, 2).index(0)
    q_full = barriers(STAGES, 1)
    q_empty = barriers(STAGES, 2)
    do_full = barriers(STAGES, 1)
    do_empty = barriers(STAGES, 2)
    return BackwardShared(
        k,
        v,
        q,
        do,
        stats,
        ds,
        dq,
        out,
        place,
        kv_full,
        kv_empty,
        q_full,
        q_empty,
        do_full,
        do_empty,
    )


@gluon.jit(
    do_not_specialize=[
        "len_q",
        "len_k",
        "heads_kv",
        "group",
        "key_tiles",
        "query_tiles",
        "section",
        "unit",
        "scale",
        "total",
    ]
)
def hopper_backward_kernel(
    # inputs, outputs
    q_desc, k_desc, v_desc, do_desc, stats_desc, sums_desc, dk_desc, dv_desc,
    # runtime scalars, as in `KeyWork`
    len_q, len_k, heads_kv, group, key_tiles, query_tiles, section, unit, scale, total,
    counter_ptr,
    # constexprs
    plan: gl.constexpr,
):  # fmt: skip
    """A program owns 128 keys of one key head."""
    work = KeyWork(
        len_q,
        len_k,
        heads_kv,
        group,
        key_tiles,
        query_tiles,
        section,
        unit,
        scale,
        total,
        counter_ptr,
    )
    shared = backward_memory(q_desc, k_desc, do_desc, stats_desc, sums_desc, plan)
    gl.warp_specialize([
        (backward_consumer, (0, dk_desc, dv_desc, sums_desc, shared, work, plan)),
        (backward_consumer, (1, dk_desc, dv_desc, sums_desc, shared, work, plan)),
        (backward_producer, (q_desc, k_desc, v_desc, do_desc, stats_desc, shared, work, plan)),
    ], [4, 1], [plan.consumer_regs, plan.producer_regs])  # fmt: skip
