"""06.forward, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.forward"

BUGS = {
    "heads_by_remainder": {"modulo"},
    "bound_without_offset": {"stop-top-left"},
    "lse_left_in_base_two": {"lse-base-2"},
    "rows_of_q_as_keys": {"top-left"},
}
RIGHT = ["key_blocks_backwards"]


@triton.jit
def whole(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, sqb, sqh, sqn, sqd, skb, skh, skn, skd, svb, svh, svn, svd,
    len_q, len_k, D, scale, HQ: tl.constexpr, HKV: tl.constexpr, CAUSAL: tl.constexpr,
    BUG: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0) * 16 + tl.arange(0, 16), tl.program_id(1) % HQ
    batch = tl.program_id(1) // HQ
    shared = head % HKV if BUG == 1 else head // (HQ // HKV)
    dims = tl.arange(0, BD)
    inside = (row < len_q)[:, None] & (dims < D)[None, :]
    q_at = q_ptr + batch * sqb + head * sqh + row[:, None] * sqn + dims[None, :] * sqd
    q = tl.load(q_at, mask=inside, other=0.0)
    m, total = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, BD], tl.float32)
    offset = len_k - len_q
    blocks = tl.cdiv(len_k, 16)
    if CAUSAL:
        reach = tl.program_id(0) * 16 + 16
        if BUG != 2:
            reach += offset
        blocks = tl.cdiv(tl.maximum(0, tl.minimum(len_k, reach)), 16)
    for number in range(0, blocks):
        key = (blocks - 1 - number) * 16 + tl.arange(0, 16)
        real = (key < len_k)[:, None] & (dims < D)[None, :]
        k_at = k_ptr + batch * skb + shared * skh + key[:, None] * skn + dims[None, :] * skd
        v_at = v_ptr + batch * svb + shared * svh + key[:, None] * svn + dims[None, :] * svd
        k = tl.load(k_at, mask=real, other=0.0)
        v = tl.load(v_at, mask=real, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        s = tl.where((key < len_k)[None, :], s, -float("inf"))
        if CAUSAL:
            place = row if BUG == 4 else row + offset
            s = tl.where(key[None, :] <= place[:, None], s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        base = tl.where(new > -float("inf"), new, 0.0)
        p = tl.exp2(s - base[:, None])
        fade = tl.exp2(m - base)
        total = total * fade + tl.sum(p, 1)
        acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = new
    some = total > 0.0
    out = tl.where(some[:, None], acc / tl.where(some, total, 1.0)[:, None], 0.0)
    lse = m + tl.log2(tl.where(some, total, 1.0))
    if BUG != 3:
        lse *= 0.6931471805599453
    first = tl.program_id(1) * len_q
    tl.store(o_ptr + (first + row)[:, None] * D + dims[None, :], out, mask=inside)
    tl.store(lse_ptr + first + row, lse, mask=row < len_q)


def _launch(q, k, v, causal, bug):
    batch, heads, len_q, d = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(batch, heads, len_q, device=q.device)
    whole[(triton.cdiv(len_q, 16), batch * heads)](
        q, k, v, o, lse, *q.stride(), *k.stride(), *v.stride(), len_q, k.shape[2], d, d**-0.5,
        HQ=heads, HKV=k.shape[1], CAUSAL=causal, BUG=bug, BD=max(16, triton.next_power_of_2(d)),
    )  # fmt: skip
    return o, lse


def heads_by_remainder(q, k, v, causal):
    return _launch(q, k, v, causal, 1)


def bound_without_offset(q, k, v, causal):
    return _launch(q, k, v, causal, 2)


def lse_left_in_base_two(q, k, v, causal):
    return _launch(q, k, v, causal, 3)


def rows_of_q_as_keys(q, k, v, causal):
    return _launch(q, k, v, causal, 4)


def key_blocks_backwards(q, k, v, causal):
    return _launch(q, k, v, causal, 0)
