"""06.fix_base, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.fix_base"


@triton.jit
def base2_alltwo_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)
    rows = offs[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + rows)
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        mask_n = start_n + offs < len_k
        k = tl.load(k_ptr + start_n * D + rows, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + start_n * D + rows, mask=mask_n[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        s = tl.where(mask_n[None, :], s, -float("inf"))  # base-2 units
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha, p = tl.exp2(m_i - m_new), tl.exp2(s - m_new[:, None])
        l_i, m_i = l_i * alpha + tl.sum(p, axis=1), m_new
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + rows, acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i * 0.6931471805599453 + tl.log2(l_i))


def base2_alltwo(q, k, v, scale):
    """o [16, D] and natural lse [16] of 16 queries; inside, powers of 2."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    base2_alltwo_kernel[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse


BUGS = {
    # lse adds log2(l) to m · ln 2; the logarithm of l must be the natural one (or be multiplied
    # with ln 2 as well).
    "base2_alltwo": {"l-in-base-2"},
}
RIGHT = ()
