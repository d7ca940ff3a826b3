"""A consumer of the Hopper forward: four warps, 64 rows of every tile of this program.

Each step issues the scores of its own tile of keys and, right behind, P V of the tile before; while
the tensor cores are at the second, softmax turns the first into the next P. The last P V of a tile
of rows runs beside the first scores of the next one, so that this pipeline is filled only once.
"""

from __future__ import annotations

from .gluon import fence_async_shared, gl, gluon, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from .protocol import advance, pass_turn, pin, release, take_turn
from .schedule import key_tiles, rows_at
from .pairs import from_pairs, pairs_of
from .softmax import masked_scores, row_sums, softmax_end, softmax_start, softmax_step


@gluon.constexpr_function
def scores_layout(plan, columns=None):
    """Where S lives: rows over the four warps, all columns in each."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns or plan.block_n, 16])


@gluon.constexpr_function
def first_columns(plan, group):
    """Columns of the first scores of a tile of rows."""
    return plan.first_columns(group)


@gluon.constexpr_function
def output_layout(plan):
    """Where O lives."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, plan.d, 16])


@gluon.constexpr_function
def left_layout(layout):
    """Where the left factor of a product lives if it comes from registers: just where S was."""
    return gl.DotOperandLayout(0, layout, 2)


@gluon.jit
def place(number, work, GROUP: gl.constexpr, plan: gl.constexpr):
    """Batch, head, first row of this group, and the tiles of keys that all groups walk."""
    ROWS: gl.constexpr = plan.rows * plan.groups
    b, h, tile = rows_at(number, work, plan.causal)
    n = key_tiles(tile * ROWS, ROWS, work, plan.causal, plan.block_n)
    return b, h, tile * ROWS + GROUP * plan.rows, n


@gluon.jit
def whole_tiles(row, n, work, plan: gl.constexpr):
    """Tiles of keys, of those after the first step, that row and the rows below it see whole."""
    whole = n - 1
    if plan.causal:
        seen = gl.maximum(row + work.len_k - work.len_q + 1, 0)  # keys that the first row sees
        whole = gl.minimum(seen // plan.block_n, whole)
    return whole


@gluon.jit
def receive(shared, turn, GROUP: gl.constexpr, plan: gl.constexpr):
    """Wait for the Q of this turn: its number in the schedule, and itself if it goes to registers."""
    buffer = turn % plan.q_buffers * plan.groups + GROUP
    mbarrier.wait(shared.q_full.index(buffer), turn // plan.q_buffers % 2)
    ONE: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    number = gl.max(shared.number.index(buffer).load(ONE), axis=0)
    if plan.q_regs:
        q = shared.q.index(buffer).reshape(plan.q_tile)
        q = q.load(left_layout(scores_layout(plan)))
        mbarrier.arrive(shared.q_empty.index(buffer), count=1)
    else:
        q = gl.to_tensor(0)
    return number, q


@gluon.jit
def queries(shared, turn, held, GROUP: gl.constexpr, plan: gl.constexpr):
    """Q of this turn, as a product takes it."""
    if plan.q_regs:
        q = held
    else:
        buffer = turn % plan.q_buffers * plan.groups + GROUP
        q = shared.q.index(buffer).reshape(plan.q_tile)
    return q


@gluon.jit
def issue_scores(q, shared, slot, COLUMNS: gl.constexpr, plan: gl.constexpr):
    """S = Q K^T with the first COLUMNS keys of a tile, on its way."""
    k = shared.k.index(slot).reshape(plan.kv_tile).slice(0, COLUMNS).permute((1, 0))
    zero = gl.full([plan.q_tile[0], COLUMNS], 0.0, gl.float32, scores_layout(plan, COLUMNS))
    return warpgroup_mma(q, k, zero, use_acc=False, is_async=True)


@gluon.jit
def issue_values(p16, acc, shared, slot, plan: gl.constexpr):
    """O += P V, on its way."""
    v = shared.v.index(slot).reshape(plan.kv_tile)
    return warpgroup_mma(p16, v, acc, is_async=True)


@gluon.jit
def step(
    q, shared, work, pairs, acc, m_i, l_i, slot, phase, row, col,
    GROUP: gl.constexpr, MASKED: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """One more tile of keys, whose slot is full: the step before has waited for it."""
    O_L: gl.constexpr = output_layout(plan)
    p16 = from_pairs(pairs, shared.v.dtype, left_layout(output_layout(plan)))
    take_turn(GROUP, plan.pingpong)
    # step: scores
    s = issue_scores(q, shared, slot, plan.block_n, plan)
    if plan.overlap:
        acc = issue_values(p16, acc, shared, slot, plan)
        pass_turn(GROUP, plan.groups, plan.pingpong)
        s = warpgroup_mma_wait(1, deps=(s,))
    else:
        s = warpgroup_mma_wait(0, deps=(s,))
        acc = issue_values(p16, acc, shared, slot, plan)
        pass_turn(GROUP, plan.groups, plan.pingpong)
        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))

    # step: mask
    if MASKED:
        s = masked_scores(s, row, col, work, plan.causal, scores_layout(plan))
    # step: update, beside P V on the tensor cores
    m_i, l_i, p, alpha = softmax_step(s, m_i, l_i, work.unit, MASKED, plan.fma_columns)
    if plan.pin:
        l_i = pin(l_i)

    # the next slot is awaited here and not where it is used: the loop of this wait is an edge that
    # keeps the assembler from moving the wait for P V up before the exponentials
    next_slot, next_phase = advance(slot, phase, plan.stages)
    mbarrier.wait(shared.full.index(next_slot), next_phase)
    if plan.overlap:
        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))
    release(shared.empty.index(slot))
    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, O_L), assert_trivial=True)[:, None]
    return pairs_of(p, shared.v.dtype), acc, m_i, l_i, next_slot, next_phase


@gluon.jit
def begin_rows(s, row, col, work, GROUP: gl.constexpr, plan: gl.constexpr):
    """P, m and l of the first tile of keys; columns that were not made are zeros of P."""
    COLUMNS: gl.constexpr = first_columns(plan, GROUP)
    S_L: gl.constexpr = scores_layout(plan, COLUMNS)
    if plan.ragged:
        s = masked_scores(s, row, col, work, plan.causal, S_L)
    m_i, l_i, p = softmax_start(s, work.unit, plan.ragged, plan.fma_columns)
    if plan.block_n > COLUMNS:
        whole = gl.full([plan.q_tile[0], plan.block_n], 0.0, gl.float32, scores_layout(plan))
        l_i = gl.convert_layout(l_i, row_sums(whole).type.layout, assert_trivial=True)
        m_i = gl.convert_layout(m_i, gl.SliceLayout(1, scores_layout(plan)), assert_trivial=True)
        p = (
            gl.join(p, gl.full(p.shape, 0.0, gl.float32, p.type.layout))
            .permute((0, 2, 1))
            .reshape([plan.q_tile[0], plan.block_n])
        )
        p = gl.convert_layout(p, scores_layout(plan), assert_trivial=True)
    return p, m_i, l_i


@gluon.jit
def first_scores(
    q, shared, work, slot, phase, row, col, more, GROUP: gl.constexpr, plan: gl.constexpr
):
    """The first tile of keys with nothing beside it: P, m, l, and the slot after it, full if there is more."""
    s = issue_scores(q, shared, slot, first_columns(plan, GROUP), plan)
    s = warpgroup_mma_wait(0, deps=(s,))
    release(shared.empty.index(slot))
    p, m_i, l_i = begin_rows(s, row, col, work, GROUP, plan)
    slot, phase = advance(slot, phase, plan.stages)
    mbarrier.wait(shared.full.index(slot), phase, pred=more)
    return pairs_of(p, shared.v.dtype), m_i, l_i, slot, phase


@gluon.jit
def store_rows(
    o_desc, lse_ptr, shared, work, acc, m_i, l_i, turn, b, h, row,
    GROUP: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """O and lse of this group's rows; O leaves by the copy engine."""
    S_L: gl.constexpr = scores_layout(plan)
    O_L: gl.constexpr = output_layout(plan)
    lse, inverse = softmax_end(m_i, l_i, work.unit, S_L)
    rows = row + gl.arange(0, plan.rows, layout=gl.SliceLayout(1, S_L))
    lse_ptr += gl.cast(b * work.heads_q + h, gl.int64) * work.len_q
    gl.store(lse_ptr + rows, lse, mask=rows < work.len_q)
    inverse = gl.convert_layout(inverse, gl.SliceLayout(1, O_L), assert_trivial=True)
    buffer = turn % plan.q_buffers * plan.groups + GROUP
    if plan.share_qo:
        o = shared.q.index(buffer)
    else:
        o = shared.o.index(GROUP)
        tma.store_wait(0)  # the O before has left its buffer
    o.reshape(plan.q_tile).store((acc * inverse[:, None]).to(o_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [b, h, row, 0], o)
    if plan.share_qo:
        tma.store_wait(0)
        mbarrier.arrive(shared.q_empty.index(buffer), count=1)


@gluon.jit
def next_rows(
    o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase, turn, b, h, row,
    GROUP: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """The last P V of these rows beside the first scores of the next, whose number is given back.

    If there are no next rows, scores of whatever is in the slot are made and forgotten.
    """
    buffer = turn % plan.q_buffers * plan.groups + GROUP
    if not plan.q_regs:
        release(shared.q_empty.index(buffer))  # the last scores of these rows are done
    number, held = receive(shared, turn + 1, GROUP, plan)
    q = queries(shared, turn + 1, held, GROUP, plan)
    _, _, next_row, n = place(number, work, GROUP, plan)

    p16 = from_pairs(pairs, shared.v.dtype, left_layout(output_layout(plan)))
    take_turn(GROUP, plan.pingpong)
    s = issue_scores(q, shared, slot, first_columns(plan, GROUP), plan)
    acc = issue_values(p16, acc, shared, slot, plan)
    pass_turn(GROUP, plan.groups, plan.pingpong)
    s = warpgroup_mma_wait(1, deps=(s,))
    p, m_new, l_new = begin_rows(s, next_row, (n - 1) * plan.block_n, work, GROUP, plan)
    if plan.pin:
        l_new = pin(l_new)
    next_slot, next_phase = advance(slot, phase, plan.stages)
    mbarrier.wait(shared.full.index(next_slot), next_phase, pred=number < work.total)
    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))
    release(shared.empty.index(slot))
    pairs = pairs_of(p, shared.v.dtype)
    # step: store
    store_rows(o_desc, lse_ptr, shared, work, acc, m_i, l_i, turn, b, h, row, GROUP, plan)
    return number, held, pairs, m_new, l_new, next_slot, next_phase


@gluon.jit
def next_rows_apart(
    o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase, turn, b, h, row,
    GROUP: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """As `next_rows`, one after the other: where Q has one buffer and no registers."""
    buffer = turn % plan.q_buffers * plan.groups + GROUP
    if not plan.q_regs and not plan.share_qo:
        release(shared.q_empty.index(buffer))
    p16 = from_pairs(pairs, shared.v.dtype, left_layout(output_layout(plan)))
    take_turn(GROUP, plan.pingpong)
    acc = issue_values(p16, acc, shared, slot, plan)
    pass_turn(GROUP, plan.groups, plan.pingpong)
    acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))
    # step: store
    store_rows(o_desc, lse_ptr, shared, work, acc, m_i, l_i, turn, b, h, row, GROUP, plan)
    number, held = receive(shared, turn + 1, GROUP, plan)
    q = queries(shared, turn + 1, held, GROUP, plan)
    _, _, next_row, n = place(number, work, GROUP, plan)
    pairs, m_i, l_i, slot, phase = first_scores(
        q,
        shared,
        work,
        slot,
        phase,
        next_row,
        (n - 1) * plan.block_n,
        number < work.total,
        GROUP,
        plan,
    )
    return number, held, pairs, m_i, l_i, slot, phase


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
    number, held = receive(shared, turn, GROUP, plan)
    _, _, row, n = place(number, work, GROUP, plan)
    mbarrier.wait(shared.full.index(slot), phase)
    pairs, m_i, l_i, slot, phase = first_scores(
        queries(shared, turn, held, GROUP, plan), shared, work, slot, phase, row,
        (n - 1) * plan.block_n, number < work.total, GROUP, plan,
    )  # fmt: skip
    while number < work.total:
        q = queries(shared, turn, held, GROUP, plan)
        b, h, row, n = place(number, work, GROUP, plan)
        whole = whole_tiles(row, n, work, plan)
        acc = gl.full(plan.q_tile, 0.0, gl.float32, O_L)
        if plan.steps_masked:
            for j in range(0, n - 1 - whole):
                pairs, acc, m_i, l_i, slot, phase = step(
                    q, shared, work, pairs, acc, m_i, l_i, slot, phase, row, (n - 2 - j) * plan.block_n,
                    GROUP, True, plan,
                )  # fmt: skip
        for _ in range(0, whole):
            pairs, acc, m_i, l_i, slot, phase = step(
                q, shared, work, pairs, acc, m_i, l_i, slot, phase, row, 0, GROUP, False, plan
            )
        if plan.joined:
            number, held, pairs, m_i, l_i, slot, phase = next_rows(
                o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase,
                turn, b, h, row, GROUP, plan,
            )  # fmt: skip
        else:
            number, held, pairs, m_i, l_i, slot, phase = next_rows_apart(
                o_desc, lse_ptr, shared, work, pairs, acc, m_i, l_i, slot, phase,
                turn, b, h, row, GROUP, plan,
            )  # fmt: skip
        turn += 1
    tma.store_wait(0)
