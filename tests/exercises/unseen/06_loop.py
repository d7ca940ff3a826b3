"""06.loop, from its specification alone."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.loop"

BUGS = {
    "factor_from_the_updated_maximum": {"nothing-rescaled"},
    "denominator_of_the_last_step": {"l-last-step-only"},
    "division_inside": {"normalised-each-step"},
    "accumulator_left_alone": {"acc-not-rescaled"},
}
RIGHT = ["sums_by_dot"]


@triton.jit
def run(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, len_k, scale, D: tl.constexpr, WAY: tl.constexpr):
    offs, offs_d = tl.arange(0, 16), tl.arange(0, D)
    tile = offs[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + tile)
    m_i, l_i = tl.full([16], -float("inf"), tl.float32), tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start in range(0, len_k, 16):
        there = (start + offs < len_k)[:, None]
        k = tl.load(k_ptr + start * D + tile, mask=there, other=0.0)
        v = tl.load(v_ptr + start * D + tile, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where((start + offs < len_k)[None, :], s, -float("inf"))
        if WAY == 1:
            m_i = tl.maximum(m_i, tl.max(s, 1))
            alpha, p = tl.exp(m_i - m_i), tl.exp(s - m_i[:, None])
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        else:
            new = tl.maximum(m_i, tl.max(s, 1))
            alpha, p = tl.exp(m_i - new), tl.exp(s - new[:, None])
            here = tl.sum(p, 1)
            l_i = here if WAY == 2 else l_i * alpha + here
            faded = acc if WAY == 4 else acc * alpha[:, None]
            acc = faded + tl.dot(p, v, input_precision="ieee")
            if WAY == 3:
                acc = acc / l_i[:, None]
            m_i = new
    if WAY == 3:
        tl.store(o_ptr + tile, acc)
    else:
        tl.store(o_ptr + tile, acc / l_i[:, None])
    tl.store(lse_ptr + offs, m_i + tl.log(l_i))


def _launch(q, k, v, scale, way):
    o, lse = torch.empty_like(q), torch.empty(16, device=q.device)
    run[(1,)](q, k, v, o, lse, len(k), scale, D=q.shape[1], WAY=way)
    return o, lse


def factor_from_the_updated_maximum(q, k, v, scale):
    return _launch(q, k, v, scale, 1)


def denominator_of_the_last_step(q, k, v, scale):
    return _launch(q, k, v, scale, 2)


def division_inside(q, k, v, scale):
    return _launch(q, k, v, scale, 3)


def accumulator_left_alone(q, k, v, scale):
    return _launch(q, k, v, scale, 4)


def sums_by_dot(q, k, v, scale):
    return _launch(q, k, v, scale, 0)
