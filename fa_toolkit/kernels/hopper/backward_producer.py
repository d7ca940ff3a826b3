"""The producer of the Hopper backward: one warp that brings K and V once, then all of Q and dO.

Q travels with the log-sum-exp and Delta of its rows, which are needed at the same time. Q and dO
have rings of their own: dO is done with first.
"""

from __future__ import annotations

from .backward_schedule import keys_at, queries_of
from .gluon import gl, gluon, mbarrier, tma
from .protocol import advance, tell
from .schedule import draw, number_after


@gluon.jit
def load_keys(k_desc, v_desc, shared, b, h_kv, key, plan: gl.constexpr):
    """K and V of this program, a tile for each group."""
    tell(shared.place.index(0), b, 1)
    tell(shared.place.index(1), h_kv, 1)
    tell(shared.place.index(2), key, 1)
    mbarrier.expect(shared.kv_full, 4 * k_desc.block_type.nbytes)
    for g in gl.static_range(2):
        at = [b, h_kv, key + g * plan.kv_tile[0], 0]
        tma.async_copy_global_to_shared(k_desc, at, shared.kv_full, shared.k.index(g))
        tma.async_copy_global_to_shared(v_desc, at, shared.kv_full, shared.v.index(g))


@gluon.jit
def load_queries(
    q_desc, do_desc, stats_desc, shared, slot, phase, b, h, m, stats_at, plan: gl.constexpr
):
    """One slot of both rings: the m-th tile of queries of a head."""
    at = [b, h, m * plan.block_m, 0]
    full = shared.q_full.index(slot)
    mbarrier.wait(shared.q_empty.index(slot), phase ^ 1)
    mbarrier.expect(full, q_desc.block_type.nbytes + 8 * plan.block_m)
    tma.async_copy_global_to_shared(q_desc, at, full, shared.q.index(slot))
    tma.async_copy_global_to_shared(stats_desc, [stats_at, 0], full, shared.stats.index(slot))
    full = shared.do_full.index(slot)
    mbarrier.wait(shared.do_empty.index(slot), phase ^ 1)
    mbarrier.expect(full, do_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(do_desc, at, full, shared.do.index(slot))


@gluon.jit
def backward_producer(
    q_desc, k_desc, v_desc, do_desc, stats_desc, shared, work, plan: gl.constexpr
):  # fmt: skip
    """Brings what this program reads: for its keys every tile of queries of every head of the group."""
    slot = gl.to_tensor(0)
    phase = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    number = gl.program_id(0)
    while number < work.total:
        # the ticket travels while this tile is loaded
        ticket = draw(work, plan.schedule)
        b, h_kv, tile = keys_at(number, work)
        key = tile * plan.keys
        first, n = queries_of(key, work, plan)
        # step: load_kv
        mbarrier.wait(shared.kv_empty, turn % 2 ^ 1)
        load_keys(k_desc, v_desc, shared, b, h_kv, key, plan)
        # step: load_q
        h = h_kv * work.group
        m = first
        for _ in range(0, n * work.group):
            stats_at = (b * work.heads_kv * work.group + h) * work.query_tiles + m
            load_queries(q_desc, do_desc, stats_desc, shared, slot, phase, b, h, m, stats_at, plan)
            slot, phase = advance(slot, phase, plan.stages)
            m += 1
            last = m == work.query_tiles
            h = gl.where(last, h + 1, h)
            m = gl.where(last, first, m)
        turn += 1
        number = number_after(ticket, turn, work, plan.schedule)
    if plan.persistent:
        # the news that there is no next tile
        mbarrier.wait(shared.kv_empty, turn % 2 ^ 1)
        tell(shared.place.index(2), -1, 1)
        mbarrier.expect(shared.kv_full, 0)
