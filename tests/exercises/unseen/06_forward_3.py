"""06.forward, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: E741, N803, N806
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.forward"

BUGS = {
    # Inside the loop v is read with stride_kn and stride_kd instead of its own stride_vn and
    # stride_vd; right only while k and v have the same layout.
    "flash_asp": {"v-by-strides-of-k"},
}
RIGHT = ["flash_from_right"]


@triton.jit
def _flash_asp(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd, stride_vb, stride_vh, stride_vn, stride_vd,
    len_q, len_k, D, scale, HEADS_Q: tl.constexpr, GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    pid_m, pid_bh = tl.program_id(0), tl.program_id(1)
    b, h = pid_bh // HEADS_Q, pid_bh % HEADS_Q
    offs_m, offs_d = pid_m * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK_D)
    mask_m, mask_d = offs_m < len_q, offs_d < D
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h // GROUP * stride_kh
    v_ptr += b * stride_vb + h // GROUP * stride_vh
    q = tl.load(
        q_ptr + offs_m[:, None] * stride_qn + offs_d[None, :] * stride_qd,
        mask=mask_m[:, None] & mask_d[None, :], other=0.0,
    )  # fmt: skip
    m_i = tl.full([BLOCK], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, BLOCK_D], tl.float32)
    diagonal = len_k - len_q
    stop = len_k
    if IS_CAUSAL:
        stop = tl.maximum(0, tl.minimum(len_k, (pid_m + 1) * BLOCK + diagonal))
    for start_n in range(0, stop, BLOCK):
        offs_n = start_n + tl.arange(0, BLOCK)
        mask_n = offs_n < len_k
        tile = offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd
        mask_kv = mask_n[:, None] & mask_d[None, :]
        k = tl.load(k_ptr + tile, mask=mask_kv, other=0.0)
        v = tl.load(v_ptr + tile, mask=mask_kv, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        visible = mask_n[None, :]
        if IS_CAUSAL:
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + diagonal)
        s = tl.where(visible, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        pivot = tl.where(m_new == -float("inf"), 0.0, m_new)
        alpha, p = tl.exp(m_i - pivot), tl.exp(s - pivot[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    safe = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc / safe[:, None]
    lse = tl.where(l_i == 0.0, -float("inf"), m_i + tl.log(safe))
    rows = pid_bh * len_q + offs_m
    tl.store(
        o_ptr + rows[:, None] * D + offs_d[None, :], o.to(o_ptr.dtype.element_ty),
        mask=mask_m[:, None] & mask_d[None, :],
    )  # fmt: skip
    tl.store(lse_ptr + rows, lse, mask=mask_m)


def flash_asp(q, k, v, causal):
    """o and lse; heads may share keys."""
    (B, Hq, len_q, D), (Hkv, len_k) = q.shape, k.shape[1:3]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], device=q.device)
    strides = (*q.stride(), *k.stride(), *v.stride())
    sizes = {"BLOCK": 16, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    _flash_asp[(triton.cdiv(len_q, 16), B * Hq)](
        q, k, v, o, lse, *strides, len_q, len_k, D, D**-0.5,
        HEADS_Q=Hq, GROUP=Hq // Hkv, IS_CAUSAL=causal, **sizes,
    )  # fmt: skip
    return o, lse


@triton.jit
def _flash_from_right(
    Q, K, V, O, L, qb, qh, qn, qd, kb, kh, kn, kd, vb, vh, vn, vd, Nq, Nk, D, scale_log2,
    HEADS: tl.constexpr, GROUP: tl.constexpr, CAUSAL: tl.constexpr, T: tl.constexpr, TD: tl.constexpr,
):  # fmt: skip
    tile_id, h, b = tl.program_id(2), tl.program_id(1), tl.program_id(0)
    i = tile_id * T + tl.arange(0, T)
    d = tl.arange(0, TD)
    d_ok = d < D
    qt = tl.load(
        Q + b * qb + h * qh + d[:, None] * qd + i[None, :] * qn,
        mask=d_ok[:, None] & (i < Nq)[None, :], other=0.0,
    ).to(tl.float32)  # fmt: skip
    top = tl.full([T], -float("inf"), tl.float32)
    den = tl.zeros([T], tl.float32)
    num = tl.zeros([TD, T], tl.float32)  # output, transposed
    n_tiles = (Nk + T - 1) // T
    kv = h // GROUP
    for back in range(0, n_tiles):
        j = (n_tiles - 1 - back) * T + tl.arange(0, T)
        j_ok = j < Nk
        k = tl.load(
            K + b * kb + kv * kh + j[:, None] * kn + d[None, :] * kd,
            mask=j_ok[:, None] & d_ok[None, :], other=0.0,
        ).to(tl.float32)  # fmt: skip
        vt = tl.load(
            V + b * vb + kv * vh + d[:, None] * vd + j[None, :] * vn,
            mask=d_ok[:, None] & j_ok[None, :], other=0.0,
        ).to(tl.float32)  # fmt: skip
        st = tl.dot(k, qt, input_precision="ieee") * scale_log2  # [keys, queries], base 2
        hide = j[:, None] >= Nk
        if CAUSAL:
            hide = hide | (Nq - i[None, :] > Nk - j[:, None])
        st = tl.where(hide, -float("inf"), st)
        peak = tl.maximum(top, tl.max(st, axis=0))
        ground = tl.where(peak > -float("inf"), peak, 0.0)
        w = tl.exp2(st - ground[None, :])
        fade = tl.exp2(top - ground)
        den = den * fade + tl.sum(w, axis=0)
        num = num * fade[None, :] + tl.dot(vt, w, input_precision="ieee")
        top = peak
    seen = den > 0.0
    den1 = tl.where(seen, den, 1.0)
    line = (b * HEADS + h) * Nq + i
    tl.store(
        O + line[None, :] * D + d[:, None], (num / den1[None, :]).to(O.dtype.element_ty),
        mask=d_ok[:, None] & (i < Nq)[None, :],
    )  # fmt: skip
    natural = tl.where(seen, top * 0.6931471805599453 + tl.log(den1), -float("inf"))
    tl.store(L + line, natural, mask=i < Nq)


def flash_from_right(q, k, v, causal):
    """Keys from the last to the first, everything transposed, powers of two."""
    B, Hq, Nq, D = q.shape
    Hkv, Nk = k.shape[1], k.shape[2]
    o = torch.empty((B, Hq, Nq, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, Hq, Nq), dtype=torch.float32, device=q.device)
    _flash_from_right[(B, Hq, triton.cdiv(Nq, 16))](
        q, k, v, o, lse, *q.stride(), *k.stride(), *v.stride(), Nq, Nk, D, D**-0.5 * 1.4426950408889634,
        HEADS=Hq, GROUP=Hq // Hkv, CAUSAL=causal, T=16, TD=max(16, triton.next_power_of_2(D)),
    )  # fmt: skip
    return o, lse
