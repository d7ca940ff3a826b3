"""The producer of the Hopper forward: one warp that does nothing but ask the copy engine.

It walks the same tiles as the consumers, ahead of them by as many slots as the ring has. A step of
the consumers needs the keys of its own tile and the values of the tile before; those two share a
slot, and so the ring runs on without a gap from the rows of one tile to the rows of the next.
"""

from __future__ import annotations

from .gluon import gl, gluon, mbarrier, tma
from .protocol import PLACE, advance, tell
from .schedule import draw, key_tiles, number_after, rows_at


@gluon.jit
def load_kv(k_desc, v_desc, shared, slot, phase, k_at, v_at, has_k, has_v, plan: gl.constexpr):
    """One slot of the ring: keys at k_at, values at v_at = (batch, head, row). Gives the next slot."""
    K_BYTES: gl.constexpr = k_desc.block_type.nbytes
    full = shared.full.index(slot)
    mbarrier.wait(shared.empty.index(slot), phase ^ 1)
    # one arrival a slot: the first has no values yet, the last no keys any more
    mbarrier.expect(full, 2 * K_BYTES, pred=has_k & has_v)
    mbarrier.expect(full, K_BYTES, pred=has_k ^ has_v)
    k = shared.k.index(slot)
    v = shared.v.index(slot)
    tma.async_copy_global_to_shared(k_desc, [k_at[0], k_at[1], k_at[2], 0], full, k, pred=has_k)
    if plan.early_k:
        mbarrier.wait(shared.empty.index(plan.stages + slot), phase ^ 1, pred=has_v)
    tma.async_copy_global_to_shared(v_desc, [v_at[0], v_at[1], v_at[2], 0], full, v, pred=has_v)
    return advance(slot, phase, plan.stages)


@gluon.jit
def load_q(q_desc, shared, work, turn, b, h, row, n, plan: gl.constexpr):
    """The tiles of Q of one turn, one for each group, each with its place; n = 0: there is none."""
    GROUPS: gl.constexpr = plan.groups
    buffer = turn % plan.q_buffers * GROUPS
    parity = turn // plan.q_buffers % 2
    place = turn % plan.places * GROUPS
    diagonal = row + work.len_k - work.len_q
    for g in gl.static_range(GROUPS):
        full = shared.q_full.index(buffer + g)
        mbarrier.wait(shared.q_empty.index(buffer + g), parity ^ 1)
        first = row + g * plan.rows
        # thread 0 stores these too, before its arrival
        at = PLACE * (place + g)
        tell(shared.place.index(at), b, 1)
        tell(shared.place.index(at + 1), h, 1)
        tell(shared.place.index(at + 2), first, 1)
        tell(shared.place.index(at + 3), diagonal + g * plan.rows, 1)
        tell(shared.place.index(at + 4), n, 1)
        mbarrier.expect(full, q_desc.block_type.nbytes, pred=n > 0)
        mbarrier.expect(full, 0, pred=n == 0)
        q = shared.q.index(buffer + g)
        tma.async_copy_global_to_shared(q_desc, [b, h, first, 0], full, q, pred=n > 0)


@gluon.jit
def place_of(number, work, plan: gl.constexpr):
    """Number in the schedule -> batch, head, first row, tiles of keys; 0 tiles where there is none."""
    ROWS: gl.constexpr = plan.rows * plan.groups
    b, h, tile = rows_at(number, work, plan.causal)
    n = key_tiles(tile * ROWS, ROWS, work, plan.causal, plan.block_n)
    return b, h, tile * ROWS, gl.where(number < work.total, n, 0)


@gluon.jit
def producer(q_desc, k_desc, v_desc, shared, work, plan: gl.constexpr):
    """Brings Q, K and V of every tile of rows that this program draws."""
    slot = gl.to_tensor(0)
    phase = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    zero = gl.to_tensor(0)
    v_at = (zero, zero, zero)
    yes = zero == 0
    b, h, row, n = place_of(gl.program_id(0), work, plan)
    next_b, next_h, next_row, next_n = b, h, row, n
    if plan.early_q:
        # step: load_q
        load_q(q_desc, shared, work, turn, b, h, row, n, plan)
    while n > 0:
        # the ticket travels while this tile is loaded
        ticket = draw(work, plan.schedule)
        for i in range(0, n):
            # step: load_kv, from the last tile to the first
            k_at = (b, h // work.group, (n - 1 - i) * plan.block_n)
            has_v = (turn > 0) | (i > 0)
            slot, phase = load_kv(k_desc, v_desc, shared, slot, phase, k_at, v_at, yes, has_v, plan)
            v_at = k_at
            if plan.early_q:
                if i == gl.minimum(n - 1, 1):
                    # Q of the next rows is there long before these are done
                    number = number_after(ticket, turn + 1, work, plan.schedule)
                    next_b, next_h, next_row, next_n = place_of(number, work, plan)
                    load_q(q_desc, shared, work, turn + 1, next_b, next_h, next_row, next_n, plan)
            else:
                if i == 0:
                    load_q(q_desc, shared, work, turn, b, h, row, n, plan)
        turn += 1
        if plan.early_q:
            b, h, row, n = next_b, next_h, next_row, next_n
        else:
            number = number_after(ticket, turn, work, plan.schedule)
            b, h, row, n = place_of(number, work, plan)
    # the last values, and the news that there are no more rows
    load_kv(k_desc, v_desc, shared, slot, phase, v_at, v_at, yes ^ True, yes, plan)
    if not plan.early_q:
        load_q(q_desc, shared, work, turn, zero, zero, zero, zero, plan)
