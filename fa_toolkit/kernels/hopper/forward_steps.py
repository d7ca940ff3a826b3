"""The steps of a Hopper consumer: one tile of keys each, for 64 rows.

A step issues the scores of its own tile of keys and, right behind, P V of the tile before; while
the tensor cores are at the second, softmax turns the first into the next P.
"""

from __future__ import annotations

from .gluon import gl, gluon, mbarrier, warpgroup_mma, warpgroup_mma_wait
from .pairs import from_pairs, pairs_of
from .protocol import PLACE, advance, pass_turn, pin, release, take_turn, told, unknown_zero
from .softmax import masked_scores, row_sums, softmax_start, softmax_step


@gluon.constexpr_function
def scores_layout(plan, columns=None):
    """Where S lives: rows over the four warps, all columns in each."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns or plan.block_n, 16])


@gluon.constexpr_function
def output_layout(plan):
    """Where O lives."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, plan.d, 16])


@gluon.constexpr_function
def left_layout(layout):
    """Where the left factor of a product lives if it comes from registers: just where S was."""
    return gl.DotOperandLayout(0, layout, 2)


@gluon.constexpr_function
def first_columns(plan, group):
    """Columns of the first scores of a tile of rows."""
    return plan.first_columns(group)


@gluon.jit
def buffer_of(turn, GROUP: gl.constexpr, plan: gl.constexpr):
    """Which buffer of Q the rows of this turn are in."""
    return turn % plan.q_buffers * plan.groups + GROUP


@gluon.jit
def give_back_queries(shared, turn, GROUP: gl.constexpr, plan: gl.constexpr):
    """Q of this turn, in registers, has been in a product: nobody reads its buffer any more.

    Not before: a load that is issued may still be waiting to read, and the assembler lets barriers
    and arrivals pass it. Rows that do not exist are zeros, which the copy engine writes at once.
    """
    if plan.q_regs:
        release(shared.q_empty.index(buffer_of(turn, GROUP, plan)))


@gluon.jit
def give_back_keys(shared, slot, plan: gl.constexpr):
    """The scores of this slot are made: its keys may go while its values are still read."""
    if plan.early_k:
        release(shared.empty.index(slot))


@gluon.jit
def give_back_values(shared, slot, plan: gl.constexpr):
    """P V of this slot is done, and if its keys did not go before, they go with its values."""
    release(shared.empty.index(slot + (plan.parts - 1) * plan.stages))


@gluon.jit
def place_of(shared, turn, WHAT: gl.constexpr, GROUP: gl.constexpr, plan: gl.constexpr):
    """One of the numbers that place the rows of this turn."""
    return told(shared.place.index(PLACE * (turn % plan.places * plan.groups + GROUP) + WHAT), 4)


@gluon.jit
def queries(
    shared, turn, held, slot, GROUP: gl.constexpr, FRESH: gl.constexpr, plan: gl.constexpr
):  # fmt: skip
    """Q of this turn, as a product takes it."""
    if plan.q_regs:
        q = held
    else:
        buffer = buffer_of(turn, GROUP, plan) + unknown_zero(slot, FRESH)
        q = shared.q.index(buffer).reshape(plan.q_tile)
    return q


@gluon.jit
def issue_scores(q, shared, slot, COLUMNS: gl.constexpr, plan: gl.constexpr):
    """S = Q K^T with the first COLUMNS keys of a tile, on its way."""
    k = shared.k.index(slot).reshape(plan.kv_tile).slice(0, COLUMNS).permute((1, 0))
    zero = gl.full([plan.q_tile[0], COLUMNS], 0.0, gl.float32, scores_layout(plan, COLUMNS))
    return warpgroup_mma(q, k, zero, use_acc=False, is_async=True)


@gluon.jit
def factor(pairs, shared, plan: gl.constexpr):
    """P as the left factor of P V."""
    return from_pairs(pairs, shared.v.dtype, left_layout(output_layout(plan)))


@gluon.jit
def issue_values(p16, acc, shared, slot, plan: gl.constexpr):
    """O += P V, on its way."""
    v = shared.v.index(slot).reshape(plan.kv_tile)
    return warpgroup_mma(p16, v, acc, is_async=True)


@gluon.jit
def step(
    turn, held, shared, work, pairs, acc, m_i, l_i, slot, phase, diagonal, col,
    GROUP: gl.constexpr, MASKED: gl.constexpr, plan: gl.constexpr,
):  # fmt: skip
    """One more tile of keys, whose slot is full: the step before has waited for it."""
    O_L: gl.constexpr = output_layout(plan)
    p16 = factor(pairs, shared, plan)
    take_turn(GROUP, plan.pingpong)
    # step: scores
    # ptxas 12.8 sets a descriptor that two loops share before the first alone: this loop has its own
    q = queries(shared, turn, held, slot, GROUP, MASKED, plan)
    s = issue_scores(q, shared, slot, plan.block_n, plan)
    if plan.overlap:
        acc = issue_values(p16, acc, shared, slot, plan)
        pass_turn(GROUP, plan.groups, plan.pingpong)
        s = warpgroup_mma_wait(1, deps=(s,))
        give_back_keys(shared, slot, plan)
    else:
        s = warpgroup_mma_wait(0, deps=(s,))
        give_back_keys(shared, slot, plan)
        acc = issue_values(p16, acc, shared, slot, plan)
        pass_turn(GROUP, plan.groups, plan.pingpong)
        acc, p16 = warpgroup_mma_wait(0, deps=(acc, p16))

    # step: mask
    if MASKED:
        s = masked_scores(s, diagonal, col, work, plan.causal, scores_layout(plan))
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
    give_back_values(shared, slot, plan)
    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, O_L), assert_trivial=True)[:, None]
    return pairs_of(p, shared.v.dtype), acc, m_i, l_i, next_slot, next_phase


@gluon.jit
def begin_rows(s, shared, turn, work, GROUP: gl.constexpr, plan: gl.constexpr):
    """P, m and l of the last tile of keys, the first in time; columns not made are zeros of P."""
    COLUMNS: gl.constexpr = first_columns(plan, GROUP)
    S_L: gl.constexpr = scores_layout(plan, COLUMNS)
    if plan.ragged:
        diagonal = place_of(shared, turn, 3, GROUP, plan)
        col = (place_of(shared, turn, 4, GROUP, plan) - 1) * plan.block_n
        s = masked_scores(s, diagonal, col, work, plan.causal, S_L)
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
    q, shared, work, slot, phase, turn, GROUP: gl.constexpr, plan: gl.constexpr
):  # fmt: skip
    """The first tile of keys with nothing beside it: P, m, l, and the slot after it, full if there is one."""
    s = issue_scores(q, shared, slot, first_columns(plan, GROUP), plan)
    s = warpgroup_mma_wait(0, deps=(s,))
    release(shared.empty.index(slot))
    give_back_queries(shared, turn, GROUP, plan)
    p, m_i, l_i = begin_rows(s, shared, turn, work, GROUP, plan)
    slot, phase = advance(slot, phase, plan.stages)
    more = place_of(shared, turn, 4, GROUP, plan) > 0
    mbarrier.wait(shared.full.index(slot), phase, pred=more)
    return pairs_of(p, shared.v.dtype), m_i, l_i, slot, phase
