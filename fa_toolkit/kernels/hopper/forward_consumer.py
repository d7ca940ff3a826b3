"""A consumer of the Hopper forward: four warps, 64 rows of every tile of this program.

The last P V of a tile of rows runs beside the first scores of the next one, so that the pipeline of
`forward_steps` is filled only once.
"""

from __future__ import annotations

from .forward_steps import (
    begin_rows,
    buffer_of,
    factor,
    first_columns,
    first_scores,
    give_back_keys,
    give_back_queries,
    give_back_values,
    issue_scores,
    issue_values,
    left_layout,
    output_layout,
    place_of,
    queries,
    scores_layout,
    step,
)
from .gluon import fence_async_shared, gl, gluon, mbarrier, tma, warpgroup_mma_wait
from .pairs import pairs_of
from .protocol import advance, pass_turn, pin, release, take_turn
from .softmax import softmax_end


@gluon.jit
def whole_tiles(diagonal, n, plan: gl.constexpr):
    """Tiles of keys, of those after the first step, that all rows see whole."""
    whole = n - 1
    if plan.causal:
        seen = gl.maximum(diagonal + 1, 0)  # keys that the first row sees
        whole = gl.minimum(seen // plan.block_n, whole)
    return whole


@gluon.jit
def receive(shared, turn, GROUP: gl.constexpr, plan: gl.constexpr):
    """Wait for the rows of this turn; Q if it goes to registers.

    Q in registers may still be on its way there: its buffer is given back by whoever has used it.
    """
    buffer = buffer_of(turn, GROUP, plan)
    mbarrier.wait(shared.q_full.index(buffer), turn // plan.q_buffers % 2)
    if plan.q_regs:
        q = shared.q.index(buffer).reshape(plan.q_tile)
        q = q.load(left_layout(scores_layout(plan)))
    else:
        q = gl.to_tensor(0)
    return q


@gluon.jit
def store_lse(
    lse_ptr, shared, work, m_i, l_i, turn, GROUP: gl.constexpr, plan: gl.constexpr
):  # fmt: skip
    """lse of this group's rows; gives the factor of their O."""
    b = place_of(shared, turn, 0, GROUP, plan)
    h = place_of(shared, turn, 1, GROUP, plan)
    row = place_of(shared, turn, 2, GROUP, plan)
    S_L: gl.constexpr = scores_layout(plan)
    lse, inverse = softmax_end(m_i, l_i, work.unit, S_L)
    rows = row + gl.arange(0, plan.rows, layout=gl.SliceLayout(1, S_L))
    lse_ptr += gl.cast(b * work.heads_q + h, gl.int64) * work.len_q
    gl.store(lse_ptr + rows, lse, mask=rows < work.len_q)
    return gl.convert_layout(inverse, gl.SliceLayout(1, output_layout(plan)), assert_trivial=True)


@gluon.jit
def store_rows(
    o_desc, shared, acc, inverse, turn, GROUP: gl.constexpr, plan: gl.constexpr
):  # fmt: skip
    """O of this group's rows leaves by the copy engine."""
    buffer = buffer_of(turn, GROUP, plan)
    if plan.share_qo:
        o = shared.q.index(buffer)
    else:
        o = shared.o.index(GROUP)
        tma.store_wait(0)  # the O before has left its buffer
    o.reshape(plan.q_tile).store((acc * inverse[:, None]).to(o_desc.dtype))
    fence_async_shared()
    b = place_of(shared, turn, 0, GROUP, plan)
    h = place_of(shared, turn, 1, GROUP, plan)
    row = place_of(shared, turn, 2, GROUP, plan)
    tma.async_copy_shared_to_global(o_desc, [b, h, row, 0], o)
    if plan.share_qo:
        tma.store_wait(0)
        mbarrier.arrive(shared.q_empty.index(buffer), count=1)


@gluon.jit
def next_rows(
    o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase, turn,
    GROUP: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """The last P V of these rows beside the first scores of the next, whose place is given back.

    If there are no next rows, scores of whatever is in the slot are made and forgotten.
    """
    if not plan.q_regs:
        # the last scores of these rows are done
        release(shared.q_empty.index(buffer_of(turn, GROUP, plan)))
    held = receive(shared, turn + 1, GROUP, plan)
    q = queries(shared, turn + 1, held, slot, GROUP, False, plan)

    p16 = factor(pairs, shared, plan)
    take_turn(GROUP, plan.pingpong)
    s = issue_scores(q, shared, slot, first_columns(plan, GROUP), plan)
    acc = issue_values(p16, acc, shared, slot, plan)
    pass_turn(GROUP, plan.groups, plan.pingpong)
    # step: store, of lse: beside both products, so that m_i and l_i need not wait for O
    inverse = store_lse(lse_ptr, shared, work, m_i, l_i, turn, GROUP, plan)
    s = warpgroup_mma_wait(1, deps=(s,))
    give_back_keys(shared, slot, plan)
    give_back_queries(shared, turn + 1, GROUP, plan)
    p, m_new, l_new = begin_rows(s, shared, turn + 1, work, GROUP, plan)
    if plan.pin:
        l_new = pin(l_new)
    next_slot, next_phase = advance(slot, phase, plan.stages)
    more = place_of(shared, turn + 1, 4, GROUP, plan) > 0
    mbarrier.wait(shared.full.index(next_slot), next_phase, pred=more)
    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))
    give_back_values(shared, slot, plan)
    pairs = pairs_of(p, shared.v.dtype)
    # step: store, of O
    store_rows(o_desc, shared, acc, inverse, turn, GROUP, plan)
    return held, pairs, m_new, l_new, next_slot, next_phase


@gluon.jit
def next_rows_apart(
    o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase, turn,
    GROUP: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """As `next_rows`, one after the other: where Q has one buffer and no registers."""
    if not plan.q_regs and not plan.share_qo:
        release(shared.q_empty.index(buffer_of(turn, GROUP, plan)))
    p16 = factor(pairs, shared, plan)
    take_turn(GROUP, plan.pingpong)
    acc = issue_values(p16, acc, shared, slot, plan)
    pass_turn(GROUP, plan.groups, plan.pingpong)
    # step: store
    inverse = store_lse(lse_ptr, shared, work, m_i, l_i, turn, GROUP, plan)
    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))
    if plan.early_k:
        give_back_values(shared, slot, plan)  # else the whole slot goes after the first scores
    store_rows(o_desc, shared, acc, inverse, turn, GROUP, plan)
    held = receive(shared, turn + 1, GROUP, plan)
    q = queries(shared, turn + 1, held, slot, GROUP, False, plan)
    pairs, m_i, l_i, slot, phase = first_scores(q, shared, work, slot, phase, turn + 1, GROUP, plan)
    return held, pairs, m_i, l_i, slot, phase


@gluon.jit
def consumer(GROUP: gl.constexpr, o_desc, lse_ptr, shared, work, plan: gl.constexpr):
    """This group's rows of every tile, one after the other, without a gap."""
    O_L: gl.constexpr = output_layout(plan)
    slot = gl.to_tensor(0)
    phase = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    if plan.groups - 1 == GROUP:
        pass_turn(GROUP, plan.groups, plan.pingpong)  # the first group begins

    # step: load_q
    held = receive(shared, turn, GROUP, plan)
    mbarrier.wait(shared.full.index(slot), phase)
    if plan.early_k:
        give_back_values(shared, slot, plan)  # the first slot has none
    q = queries(shared, turn, held, slot, GROUP, False, plan)
    pairs, m_i, l_i, slot, phase = first_scores(q, shared, work, slot, phase, turn, GROUP, plan)
    n = place_of(shared, turn, 4, GROUP, plan)
    while n > 0:
        diagonal = place_of(shared, turn, 3, GROUP, plan)
        whole = whole_tiles(diagonal, n, plan)
        acc = gl.full(plan.q_tile, 0.0, gl.float32, O_L)
        if plan.steps_masked:
            for j in range(0, n - 1 - whole):
                pairs, acc, m_i, l_i, slot, phase = step(
                    turn, held, shared, work, pairs, acc, m_i, l_i, slot, phase, diagonal,
                    (n - 2 - j) * plan.block_n, GROUP, True, plan,
                )  # fmt: skip
        for _ in range(0, whole):
            pairs, acc, m_i, l_i, slot, phase = step(
                turn, held, shared, work, pairs, acc, m_i, l_i, slot, phase, diagonal, 0,
                GROUP, False, plan,
            )  # fmt: skip
        if plan.joined:
            held, pairs, m_i, l_i, slot, phase = next_rows(
                o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase,
                turn, GROUP, plan,
            )  # fmt: skip
        else:
            held, pairs, m_i, l_i, slot, phase = next_rows_apart(
                o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase,
                turn, GROUP, plan,
            )  # fmt: skip
        turn += 1
        n = place_of(shared, turn, 4, GROUP, plan)
    tma.store_wait(0)
