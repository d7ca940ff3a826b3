"""06.loop, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.loop"


@triton.jit
def loop_assign_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)  # one tile: 16 rows of Q, 16 keys a step
    q = tl.load(q_ptr + offs[:, None] * D + offs_d[None, :])
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        mask_n = start_n + offs < len_k
        kv = (start_n + offs)[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(mask_n[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        m_i = m_new
        alpha = tl.exp(m_i - m_new)
        l_i = alpha * l_i + tl.sum(p, axis=1)
        acc = alpha[:, None] * acc + tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + offs[:, None] * D + offs_d[None, :], acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i + tl.log(l_i))


def loop_assign(q, k, v, scale):
    """o [16, D] and lse [16] of one tile of 16 queries over all keys."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    loop_assign_kernel[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse


@triton.jit
def loop_current_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)  # one tile: 16 rows of Q, 16 keys a step
    q = tl.load(q_ptr + offs[:, None] * D + offs_d[None, :])
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        mask_n = start_n + offs < len_k
        kv = (start_n + offs)[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(mask_n[None, :], s, -float("inf"))
        m_ij = tl.max(s, 1)
        p = tl.exp(s - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc += tl.dot(p, v, input_precision="ieee")
        m_i = m_ij
    tl.store(o_ptr + offs[:, None] * D + offs_d[None, :], acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i + tl.log(l_i))


def loop_current(q, k, v, scale):
    """o [16, D] and lse [16] of one tile of 16 queries over all keys."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    loop_current_kernel[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse


@triton.jit
def loop_pairs_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)  # one tile: 16 rows of Q, 16 keys a step
    q = tl.load(q_ptr + offs[:, None] * D + offs_d[None, :])
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        mask_n = start_n + offs < len_k
        kv = (start_n + offs)[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + kv, mask=mask_n[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(mask_n[None, :], s, -float("inf"))
        # finish the block by itself, normalised; then merge two finished halves. acc stays normalised
        # while l counts 1, until the weights are put back at the end of the step.
        m_b = tl.max(s, axis=1)
        p = tl.exp(s - m_b[:, None])
        l_b = tl.sum(p, axis=1)
        o_b = tl.dot(p / l_b[:, None], v, input_precision="ieee")
        top = tl.maximum(m_i, m_b)
        w_old, w_new = l_i * tl.exp(m_i - top), l_b * tl.exp(m_b - top)
        mean_old = acc / tl.where(l_i > 0.0, l_i, 1.0)[:, None]
        l_i = w_old + w_new
        acc = mean_old * w_old[:, None] + o_b * w_new[:, None]
        m_i = top
    tl.store(o_ptr + offs[:, None] * D + offs_d[None, :], acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i + tl.log(l_i))


def loop_pairs(q, k, v, scale):
    """o [16, D] and lse [16] of one tile of 16 queries over all keys."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    loop_pairs_kernel[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse


BUGS = {
    # m_i is overwritten with m_new before alpha is computed, so alpha is always e^0 = 1 and what
    # was summed under the old maximum is never rescaled.
    "loop_assign": {"nothing-rescaled"},
    # the new maximum is that of the current block only, without tl.maximum with m_i, so alpha =
    # e^(m_i - m_ij) overflows when an earlier block's scores were much larger.
    "loop_current": {"edit-missing"},
}
RIGHT = ("loop_pairs",)
