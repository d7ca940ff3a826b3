"""07.dkdv_kernel, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "07.dkdv_kernel"

BUGS = {
    # In the transposed ds (keys down, queries across) delta is broadcast as delta[:, None], along
    # the keys, instead of delta[None, :]; dv is right, dk is not.
    "dkdv_gnu": {"edit-broadcast"},
    # q is multiplied by scale at the load, and dk, which is summed with this scaled q, is
    # multiplied by scale again at the store; dv is right, dk is too small by the factor scale.
    "dkdv_ape": {"scaled-twice"},
}
RIGHT = ["dkdv_wide"]


@triton.jit
def _dkdv_gnu(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
              len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    cols = tl.program_id(0) * 16 + offs
    kv, mask_n = cols[:, None] * D + offs_d, (cols < len_k)[:, None]
    k = tl.load(k_ptr + kv, mask=mask_n, other=0.0)
    v = tl.load(v_ptr + kv, mask=mask_n, other=0.0)
    dk, dv = tl.zeros([16, D], tl.float32), tl.zeros([16, D], tl.float32)
    for start_m in range(0, len_q, 16):
        rows = start_m + offs
        at, mask_m = rows[:, None] * D + offs_d, rows < len_q
        q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0)
        do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
        lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
        st = scale * tl.dot(k, tl.trans(q), input_precision="ieee")  # [keys, queries]
        pt = tl.exp(st - lse[None, :])
        dv += tl.dot(pt, do, input_precision="ieee")
        dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
        dst = pt * (dpt - delta[:, None])
        dk += scale * tl.dot(dst, q, input_precision="ieee")
    tl.store(dk_ptr + kv, dk, mask=mask_n)
    tl.store(dv_ptr + kv, dv, mask=mask_n)


def dkdv_gnu(q, k, v, do, lse, delta, scale):
    """dk and dv, scores transposed as in the package."""
    dk, dv, grid = torch.empty_like(k), torch.empty_like(v), (triton.cdiv(len(k), 16),)
    _dkdv_gnu[grid](q, k, v, do, lse, delta, dk, dv, len(q), len(k), scale, D=q.shape[1])
    return dk, dv


@triton.jit
def _dkdv_ape(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
              len_q, len_k, scale, D: tl.constexpr):  # fmt: skip
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)[None, :]
    cols = tl.program_id(0) * 16 + offs
    kv, mask_n = cols[:, None] * D + offs_d, (cols < len_k)[:, None]
    k = tl.load(k_ptr + kv, mask=mask_n, other=0.0)
    v = tl.load(v_ptr + kv, mask=mask_n, other=0.0)
    dk, dv = tl.zeros([16, D], tl.float32), tl.zeros([16, D], tl.float32)
    for start_m in range(0, len_q, 16):
        rows = start_m + offs
        at, mask_m = rows[:, None] * D + offs_d, rows < len_q
        q = tl.load(q_ptr + at, mask=mask_m[:, None], other=0.0) * scale  # once, not per score
        do = tl.load(do_ptr + at, mask=mask_m[:, None], other=0.0)
        lse = tl.load(lse_ptr + rows, mask=mask_m, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=mask_m, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        dv = tl.dot(tl.trans(p), do, acc=dv, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk = tl.dot(tl.trans(ds), q, acc=dk, input_precision="ieee")
    tl.store(dk_ptr + kv, dk * scale, mask=mask_n)
    tl.store(dv_ptr + kv, dv, mask=mask_n)


def dkdv_ape(q, k, v, do, lse, delta, scale):
    """dk and dv with the scale folded into q."""
    dk, dv, grid = torch.empty_like(k), torch.empty_like(v), (triton.cdiv(len(k), 16),)
    _dkdv_ape[grid](q, k, v, do, lse, delta, dk, dv, len(q), len(k), scale, D=q.shape[1])
    return dk, dv


@triton.jit
def _dkdv_wide(Q, K, V, DO, LSE, DELTA, DK, DV, nq, nk, scale, D: tl.constexpr, TQ: tl.constexpr):
    j = tl.program_id(0) * 16 + tl.arange(0, 16)
    d = tl.arange(0, D)
    j_ok = j < nk
    kt = tl.load(K + d[:, None] + j[None, :] * D, mask=j_ok[None, :], other=0.0)  # [D, 16]
    vt = tl.load(V + d[:, None] + j[None, :] * D, mask=j_ok[None, :], other=0.0)
    dkt = tl.zeros([D, 16], tl.float32)
    dvt = tl.zeros([D, 16], tl.float32)
    steps = (nq + TQ - 1) // TQ
    for left in range(0, steps):
        i = (steps - 1 - left) * TQ + tl.arange(0, TQ)  # last queries first
        i_ok = i < nq
        at = i[:, None] * D + d[None, :]
        q = tl.load(Q + at, mask=i_ok[:, None], other=0.0)
        do = tl.load(DO + at, mask=i_ok[:, None], other=0.0)
        lse = tl.load(LSE + i, mask=i_ok, other=float("inf"))  # absent queries: p = e^-inf = 0
        delta = tl.load(DELTA + i, mask=i_ok, other=0.0)
        z = tl.dot(q, kt, input_precision="ieee") * scale - lse[:, None]
        p = tl.where(j_ok[None, :], tl.exp2(z * 1.4426950408889634), 0.0)  # [TQ, 16]
        dvt += tl.dot(tl.trans(do), p, input_precision="ieee")
        ds = (tl.dot(do, vt, input_precision="ieee") - delta[:, None]) * p
        dkt += tl.dot(tl.trans(q), ds, input_precision="ieee")
    out = d[:, None] + j[None, :] * D
    tl.store(DK + out, (dkt * scale).to(DK.dtype.element_ty), mask=j_ok[None, :])
    tl.store(DV + out, dvt.to(DV.dtype.element_ty), mask=j_ok[None, :])


def dkdv_wide(q, k, v, do, lse, delta, scale):
    """32 queries a step from the end, gradients held as [D, keys]."""
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _dkdv_wide[(triton.cdiv(k.shape[0], 16),)](
        q, k, v, do, lse, delta, dk, dv, q.shape[0], k.shape[0], scale, D=q.shape[1], TQ=32
    )
    return dk, dv
