"""The five products of the Hopper backward, and what lies between them in registers.

Scores are held transposed, keys down and queries across: so P^T and dS^T are the left factors of dV
and dK just where they were computed. Only dQ needs dS the other way round, through shared memory.
"""

from __future__ import annotations

from .gluon import gl, gluon, warpgroup_mma
from .protocol import unknown_zero


@gluon.constexpr_function
def scores_layout(plan):
    """Where S^T and dP^T live: keys over the four warps, all queries in each."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, plan.block_m, 16])


@gluon.constexpr_function
def grads_layout(plan):
    """Where dK and dV live."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, plan.d, 16])


@gluon.constexpr_function
def dq_layout(plan):
    """Where a group's share of dQ lives."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, plan.dq_tile[1], 16])


@gluon.constexpr_function
def of_queries(plan):
    """Where one number a query lives, so that it meets the scores of its column."""
    return gl.SliceLayout(0, scores_layout(plan))


@gluon.jit
def issue_scores(shared, slot, GROUP: gl.constexpr, plan: gl.constexpr):
    """S^T = K Q^T of this group's keys, on its way."""
    k = shared.k.index(GROUP + unknown_zero(slot, plan.fresh)).reshape(plan.kv_tile)
    q = shared.q.index(slot).reshape(plan.q_tile)
    zero = gl.full(plan.s_tile, 0.0, gl.float32, scores_layout(plan))
    return warpgroup_mma(k, q.permute((1, 0)), zero, use_acc=False, is_async=True)


@gluon.jit
def issue_grad_p(shared, slot, GROUP: gl.constexpr, plan: gl.constexpr):
    """dP^T = V dO^T, on its way."""
    v = shared.v.index(GROUP + unknown_zero(slot, plan.fresh)).reshape(plan.kv_tile)
    do = shared.do.index(slot).reshape(plan.q_tile)
    zero = gl.full(plan.s_tile, 0.0, gl.float32, scores_layout(plan))
    return warpgroup_mma(v, do.permute((1, 0)), zero, use_acc=False, is_async=True)


@gluon.jit
def issue_grad_q(shared, slot, GROUP: gl.constexpr, plan: gl.constexpr):
    """This group's share of dQ = dS K over all keys of the program, on its way."""
    dq = gl.full(plan.dq_tile, 0.0, gl.float32, dq_layout(plan))
    nothing = unknown_zero(slot, plan.fresh)
    for g in gl.static_range(2):
        ds = shared.ds.index(slot).slice(g * plan.kv_tile[0], plan.kv_tile[0], dim=0)
        k = shared.k.index(g + nothing).reshape(plan.kv_tile)
        if plan.split_rows:
            ds = ds.slice(GROUP * plan.dq_tile[0], plan.dq_tile[0], dim=1)
        else:
            k = k.slice(GROUP * plan.dq_tile[1], plan.dq_tile[1], dim=1)
        dq = warpgroup_mma(ds.permute((1, 0)), k, dq, use_acc=g != 0, is_async=True)
    return dq


@gluon.jit
def as_left(x, plan: gl.constexpr):
    """P^T or dS^T as the left factor of dV or dK: no value changes its lane."""
    return gl.convert_layout(x, gl.DotOperandLayout(0, grads_layout(plan), 2), assert_trivial=True)


@gluon.jit
def rounded(x, DTYPE: gl.constexpr, plan: gl.constexpr):
    """x in the type of the inputs. Opaque to the compiler where it would else keep all of x as well."""
    if not plan.rounded_p:
        y = x.to(DTYPE)
    elif gl.bfloat16 == DTYPE:
        y = gl.inline_asm_elementwise(
            "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [x], dtype=gl.bfloat16, is_pure=True, pack=2
        )
    else:
        y = gl.inline_asm_elementwise(
            "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", [x], dtype=gl.float16, is_pure=True, pack=2
        )
    return y


@gluon.jit
def masked(s, key, row, work, plan: gl.constexpr):
    """-inf where the query of a column may not see the key of a row; `masked_scores` lying down."""
    S_L: gl.constexpr = scores_layout(plan)
    cols = gl.arange(0, plan.s_tile[1], layout=gl.SliceLayout(0, S_L))
    low = cols & 7
    keys = key + gl.arange(0, plan.s_tile[0], layout=gl.SliceLayout(1, S_L))
    limit = gl.where(keys < work.len_k, 0, 1 << 30)  # the first column that sees the key
    if plan.causal:
        limit = gl.maximum(limit, keys - (work.len_k - work.len_q) - row)
    return gl.where((cols - low)[None, :] >= limit[:, None] - low[None, :], s, -float("inf"))


@gluon.jit
def probabilities(s, lse, key, row, work, plan: gl.constexpr):
    """P^T = 2^(S^T unit - lse), with lse in base 2; 0 where the mask hides the key."""
    # not whole: the last key is behind the first query's end, or does not exist
    LAST: gl.constexpr = plan.kv_tile[0] - 1
    MASKED: gl.constexpr = plan.causal or plan.ragged
    cut = key < 0
    if plan.causal:
        cut = key + LAST > row + work.len_k - work.len_q
    if plan.ragged:
        cut = cut | (key + LAST >= work.len_k)
    if MASKED and cut:
        s = masked(s, key, row, work, plan)
    return gl.exp2(s * work.unit - lse[None, :])
