"""07.dq_kernel, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "07.dq_kernel"

BUGS = {
    # Keys past len_k are not hidden: they load as 0, s = 0 and p = e^(-lse), which the zero rows
    # of k cancel until lse is below about -88; then p is inf and inf * 0 makes the row NaN.
    "dq_jay": {"absent-keys"},
}
RIGHT = ["dq_transposed"]


@triton.jit
def _dq_jay(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
            len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    rows = tl.program_id(0) * 16 + offs
    at, mask_m = rows[:, None] * D + offs_d, rows < len_q
    q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0)
    do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
    lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
    dq = tl.zeros([16, D], tl.float32)
    for start_n in range(0, len_k, 16):
        cols = start_n + offs
        kv = cols[:, None] * D + offs_d
        k = tl.load(k_ptr + kv, mask=(cols < len_k)[:, None], other=0.0)
        v = tl.load(v_ptr + kv, mask=(cols < len_k)[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee") * scale  # k is 0 past the end
    tl.store(dq_ptr + at, dq, mask=mask_m[:, None])


def dq_jay(q, k, v, do, lse, delta, scale):
    """dq of one head."""
    dq, grid = torch.empty_like(q), (triton.cdiv(len(q), 16),)
    _dq_jay[grid](q, k, v, do, lse, delta, dq, len(q), len(k), scale, D=q.shape[1])
    return dq


@triton.jit
def _dq_transposed(Q, K, V, DO, LSE, DELTA, DQ, nq, nk, scale, D: tl.constexpr, TN: tl.constexpr):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    d = tl.arange(0, D)
    i_ok = i < nq
    cols_of_q = d[:, None] + i[None, :] * D  # [D, 16]
    qt = tl.load(Q + cols_of_q, mask=i_ok[None, :], other=0.0) * scale
    dot_ = tl.load(DO + cols_of_q, mask=i_ok[None, :], other=0.0)
    lse = tl.load(LSE + i, mask=i_ok, other=0.0)
    delta = tl.load(DELTA + i, mask=i_ok, other=0.0)
    dqt = tl.zeros([D, 16], tl.float32)
    j = tl.arange(0, TN)
    while_tiles = tl.cdiv(nk, TN)
    for _ in range(0, while_tiles):
        j_ok = j < nk
        k = tl.load(K + j[:, None] * D + d[None, :], mask=j_ok[:, None], other=0.0)
        v = tl.load(V + j[:, None] * D + d[None, :], mask=j_ok[:, None], other=0.0)
        gap = tl.dot(v, dot_, input_precision="ieee") - delta[None, :]  # [TN, 16]
        logp = tl.dot(k, qt, input_precision="ieee") - lse[None, :]
        dst = tl.exp(tl.where(j_ok[:, None], logp, -float("inf"))) * gap
        dqt = tl.dot(tl.trans(k), dst, dqt, input_precision="ieee")
        j += TN
    tl.store(DQ + cols_of_q, (dqt * scale).to(DQ.dtype.element_ty), mask=i_ok[None, :])


def dq_transposed(q, k, v, do, lse, delta, scale):
    """dq as [D, queries]; q carries the scale into the scores, dq gets its own at the end."""
    dq = torch.empty_like(q)
    _dq_transposed[(triton.cdiv(q.shape[0], 16),)](
        q, k, v, do, lse, delta, dq, q.shape[0], k.shape[0], scale, D=q.shape[1], TN=32
    )
    return dq
