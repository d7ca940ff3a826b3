"""06.loop, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.loop"

BUGS = {
    # m_i is overwritten with m_new before alpha = exp(m_i - m_new) is formed, so alpha is always
    # 1 and neither l nor acc is ever rescaled when a later tile raises the maximum.
    "loop_bee": {"nothing-rescaled"},
}
RIGHT = ["loop_normalised"]


@triton.jit
def _loop_bee(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)
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
        m_i = m_new
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = alpha * l_i + tl.sum(p, axis=1)
        acc = alpha[:, None] * acc + tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + offs[:, None] * D + offs_d[None, :], acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i + tl.log(l_i))


def loop_bee(q, k, v, scale):
    """o and lse of 16 queries over all keys."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    _loop_bee[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse


@triton.jit
def _loop_normalised(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr):
    r = tl.arange(0, 16)
    at = r[:, None] * D + tl.arange(0, D)[None, :]
    qt = tl.trans(tl.load(q_ptr + at))
    top = tl.full([16], -float("inf"), tl.float32)
    total = tl.zeros([16], tl.float32)
    mean = tl.zeros([16, D], tl.float32)  # always the finished output of the keys so far
    n_tiles = (len_k + 15) // 16
    for t in range(0, n_tiles):
        first = (n_tiles - 1 - t) * 16  # from the right end to the left
        real = first + r < len_k
        k = tl.load(k_ptr + first * D + at, mask=real[:, None], other=0.0)
        v = tl.load(v_ptr + first * D + at, mask=real[:, None], other=0.0)
        st = tl.dot(k, qt, input_precision="ieee") * scale  # [keys, queries]
        st = tl.where(real[:, None], st, -float("inf"))
        here = tl.max(st, axis=0)
        higher = tl.maximum(top, here)
        w = tl.exp(st - higher[None, :])
        old = total * tl.exp(top - higher)
        total = old + tl.sum(w, axis=0)
        mean = mean * (old / total)[:, None] + tl.dot(
            tl.trans(w / total[None, :]), v, input_precision="ieee"
        )
        top = higher
    tl.store(o_ptr + at, mean)
    tl.store(lse_ptr + r, tl.log(total) + top)


def loop_normalised(q, k, v, scale):
    """Keeps a finished output after every tile, as the first paper did; scores lie transposed."""
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    _loop_normalised[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1])
    return o, lse
