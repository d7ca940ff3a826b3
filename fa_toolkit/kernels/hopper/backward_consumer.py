"""A consumer of the Hopper backward: four warps and 64 keys, with dK and dV in registers to the end.

    issue S^T and dP^T | P^T from S^T, beside dP^T | issue dV | dS^T from P^T and dP^T, beside dV
    dS^T to shared memory | issue dQ of the step before, and dK | dQ to the sums, beside dK

dQ needs the dS^T of both groups. Taken a step late, neither waits for the other: one is at its
exponentials while the other has the tensor cores.
"""

from __future__ import annotations

from .backward_products import (
    as_left,
    grads_layout,
    issue_grad_p,
    issue_grad_q,
    issue_scores,
    of_queries,
    probabilities,
    rounded,
    scores_layout,
)
from .backward_schedule import queries_of
from .backward_sums import add_grad_q
from .gluon import fence_async_shared, gl, gluon, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from .protocol import advance, named_barrier, release, told, unknown_zero

FINAL_BARRIER = gl.constexpr(7)  # the highest that Triton leaves free below ours
HALF_BARRIERS = gl.constexpr(8)  # a number for each group and slot
TURN_BARRIERS = gl.constexpr(14)


@gluon.constexpr_function
def meeting_text(action):
    """PTX of a named barrier of both groups whose number is in a register."""
    return f"bar.{action} $1, 256; mov.b32 $0, $1;"


@gluon.jit
def half_written(ACTION: gl.constexpr, which, GROUP: gl.constexpr, plan: gl.constexpr):
    """dS^T of GROUP lies in its slot: that group says so ("arrive"), the other one waits ("sync").

    `which` is the slot, or the number after the last one: there is no step before.
    """
    number = HALF_BARRIERS + GROUP * (plan.stages + 1) + which
    x = gl.full([128], number, gl.int32, gl.BlockedLayout([1], [32], [4], [0]))
    TEXT: gl.constexpr = meeting_text(ACTION)
    gl.inline_asm_elementwise(TEXT, "=r,r", [x], dtype=gl.int32, is_pure=False, pack=1)


@gluon.jit
def turn(ACTION: gl.constexpr, GROUP: gl.constexpr, plan: gl.constexpr):
    """Wait until the tensor cores are for GROUP ("sync"), or leave them to it ("arrive")."""
    if plan.turns:
        named_barrier(ACTION, TURN_BARRIERS + GROUP, 256)


@gluon.jit
def scores_and_grad_p(s, shared, slot, phase, GROUP: gl.constexpr, plan: gl.constexpr):
    """S^T, done, unless the step before has made it; dP^T, on its way; the log-sum-exp of the queries."""
    if not plan.prefetch:
        mbarrier.wait(shared.q_full.index(slot), phase)
        turn("sync", GROUP, plan)
        s = issue_scores(shared, slot, GROUP, plan)
    lse = statistics(shared, slot, 0, plan)
    mbarrier.wait(shared.do_full.index(slot), phase)
    if plan.prefetch:
        turn("sync", GROUP, plan)
    dp = issue_grad_p(shared, slot, GROUP, plan)
    turn("arrive", 1 - GROUP, plan)
    if not plan.prefetch:
        s = warpgroup_mma_wait(1, deps=(s,))
    return s, dp, lse


@gluon.jit
def statistics(shared, slot, WHICH: gl.constexpr, plan: gl.constexpr):
    """One number for each query of a slot: 0 log-sum-exp in base 2, 1 Delta."""
    PLAIN: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    both = shared.stats.index(slot)._reinterpret(gl.float32, [2 * plan.block_m], PLAIN)
    return both.slice(WHICH * plan.block_m, plan.block_m).load(of_queries(plan))


@gluon.jit
def slot_before(slot, plan: gl.constexpr):
    """The slot of the step before."""
    return gl.where(slot == 0, plan.stages - 1, slot - 1)


@gluon.jit
def step(
    sums_desc, shared, work, s, dk, dv, slot, phase, link, place_before, place, key, row,
    GROUP: gl.constexpr, LAST: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """One tile of queries, whose slot of Q is full; `before` names what is of the step before."""
    DTYPE: gl.constexpr = shared.q.dtype
    before = slot_before(slot, plan)
    q = shared.q.index(slot).reshape(plan.q_tile)
    do = shared.do.index(slot).reshape(plan.q_tile)
    # step: recompute, beside dP
    s, dp, lse = scores_and_grad_p(s, shared, slot, phase, GROUP, plan)
    p = probabilities(s, lse, key + unknown_zero(slot, plan.fresh), row, work, plan)
    p_low = rounded(p, DTYPE, plan)

    # step: grad_v
    p_left = as_left(p_low, plan)
    dv = warpgroup_mma(p_left, do, dv, is_async=True)
    # step: grad_p
    delta = statistics(shared, slot, 1, plan)
    dp = warpgroup_mma_wait(1, deps=(dp,))
    # step: grad_s, beside dV
    if plan.rounded_p:
        p = p_low.to(gl.float32)
    ds = (p * (dp - delta[None, :])).to(DTYPE)
    if plan.late:
        # the other half of the step before is written, and the one before that is read
        half_written("sync", link, 1 - GROUP, plan)
    shared.ds.index(slot).slice(GROUP * plan.kv_tile[0], plan.kv_tile[0], dim=0).store(ds)
    fence_async_shared()
    if not plan.late:
        named_barrier("sync", FINAL_BARRIER, 256)  # both halves are written
        before = slot
        place_before = place

    # step: grad_q, of the step before, and grad_k
    dq = issue_grad_q(shared, before, GROUP, plan)
    ds_left = as_left(ds, plan)
    dk = warpgroup_mma(ds_left, q, dk, is_async=True)
    dv, p_left, dq = warpgroup_mma_wait(1, deps=(dv, p_left, dq))
    release(shared.do_empty.index(slot))
    if plan.late:
        half_written("arrive", slot, GROUP, plan)
    next_slot, next_phase = advance(slot, phase, plan.stages)
    if plan.prefetch and not LAST:
        mbarrier.wait(shared.q_full.index(next_slot), next_phase)
        s = issue_scores(shared, next_slot, GROUP, plan)
    add_grad_q(sums_desc, shared, dq, place_before, GROUP, plan)
    # nothing may be in flight where the loop begins again: the assembler would serialise it all
    if plan.prefetch and not LAST:
        s, dk, ds_left = warpgroup_mma_wait(0, deps=(s, dk, ds_left))
    else:
        dk, ds_left = warpgroup_mma_wait(0, deps=(dk, ds_left))
    release(shared.q_empty.index(slot))
    return s, dk, dv, next_slot, next_phase


@gluon.jit
def walk(
    sums_desc, shared, work, b, h_kv, key, slot, phase, GROUP: gl.constexpr, plan: gl.constexpr
):  # fmt: skip
    """All queries that see these keys, of all heads of the group: dK and dV."""
    BLOCK_M: gl.constexpr = plan.block_m
    first, n = queries_of(key, work, plan)
    row = first * BLOCK_M
    end = work.query_tiles * BLOCK_M
    place = (b * work.heads_kv + h_kv) * work.group * end + row  # in the sums
    key = key + GROUP * plan.kv_tile[0]
    link = gl.to_tensor(plan.stages)
    place_before = gl.to_tensor(-BLOCK_M)  # nowhere: there is no step before
    dk = gl.full(plan.kv_tile, 0.0, gl.float32, grads_layout(plan))
    dv = gl.full(plan.kv_tile, 0.0, gl.float32, grads_layout(plan))
    s = gl.full(plan.s_tile, 0.0, gl.float32, scores_layout(plan))
    if plan.late:
        half_written("arrive", link, GROUP, plan)
    if plan.prefetch:
        mbarrier.wait(shared.q_full.index(slot), phase)
        s = warpgroup_mma_wait(0, deps=(issue_scores(shared, slot, GROUP, plan),))
    for _ in range(0, n * work.group - (1 if plan.prefetch else 0)):
        s, dk, dv, next_slot, phase = step(
            sums_desc, shared, work, s, dk, dv, slot, phase, link, place_before, place, key, row,
            GROUP, False, plan,
        )  # fmt: skip
        link = slot
        slot = next_slot
        place_before = place
        row += BLOCK_M
        place += BLOCK_M
        ended = row == end  # the next head of the group
        row = gl.where(ended, first * BLOCK_M, row)
        place = gl.where(ended, place + row, place)
    if plan.prefetch:
        s, dk, dv, next_slot, phase = step(
            sums_desc, shared, work, s, dk, dv, slot, phase, link, place_before, place, key, row,
            GROUP, True, plan,
        )  # fmt: skip
        place_before = place
        slot = next_slot
    if plan.late:
        before = slot_before(slot, plan)
        half_written("sync", before, 1 - GROUP, plan)
        dq = warpgroup_mma_wait(0, deps=(issue_grad_q(shared, before, GROUP, plan),))
    if plan.persistent:
        release(shared.kv_empty)
    if plan.late:
        add_grad_q(sums_desc, shared, dq, place_before, GROUP, plan)
    return dk, dv, slot, phase


@gluon.jit
def store_grads(dk_desc, dv_desc, shared, dk, dv, at, GROUP: gl.constexpr, plan: gl.constexpr):
    """dK and dV leave: from a buffer of their own, one after the other, or else in the place of K and V."""
    DTYPE: gl.constexpr = shared.q.dtype
    dk_tile = shared.k.index(GROUP)
    dv_tile = shared.v.index(GROUP)
    if plan.persistent:
        dk_tile = shared.out.index(GROUP)
        dv_tile = dk_tile
        tma.store_wait(0)
    else:
        # the other group may still read K for its dQ
        named_barrier("sync", FINAL_BARRIER, 256)
    dv_tile.reshape(plan.kv_tile).store(dv.to(DTYPE))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, at, dv_tile)
    if plan.persistent:
        tma.store_wait(0)
    dk_tile.reshape(plan.kv_tile).store(dk.to(DTYPE))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, at, dk_tile)


@gluon.jit
def backward_consumer(
    GROUP: gl.constexpr, dk_desc, dv_desc, sums_desc, shared, work, plan: gl.constexpr
):  # fmt: skip
    """dK and dV of this group's keys, and its share of the dQ of every query that sees any key here."""
    slot = gl.to_tensor(0)
    phase = gl.to_tensor(0)
    tile = gl.to_tensor(0)
    if GROUP == 1:
        turn("arrive", 0, plan)
    mbarrier.wait(shared.kv_full, 0)
    key = told(shared.place.index(2), 4)
    while key >= 0:
        b = told(shared.place.index(0), 4)
        h_kv = told(shared.place.index(1), 4)
        dk, dv, slot, phase = walk(
            sums_desc, shared, work, b, h_kv, key, slot, phase, GROUP, plan
        )  # fmt: skip
        # step: store
        at = [b, h_kv, key + GROUP * plan.kv_tile[0], 0]
        store_grads(dk_desc, dv_desc, shared, dk * work.scale, dv, at, GROUP, plan)
        tile += 1
        key = gl.to_tensor(-1)
        if plan.persistent:
            mbarrier.wait(shared.kv_full, tile % 2)
            key = told(shared.place.index(2), 4)
    tma.store_wait(0)
