"""06.scores, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803
import torch
import triton
import triton.language as tl

EXERCISE = "06.scores"


@triton.jit
def scores_bias_kernel(
    q_ptr, k_ptr, s_ptr, len_q, len_k, scale, D: tl.constexpr, BLOCK: tl.constexpr
):
    offs_m, offs_n, offs_d = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, D)
    q = tl.load(
        q_ptr + (offs_m * D)[:, None] + offs_d[None, :], mask=(offs_m < len_q)[:, None], other=0.0
    )
    # k is read the other way round, as [D, BLOCK], so no transpose is needed
    kt = tl.load(
        k_ptr + (offs_n * D)[None, :] + offs_d[:, None], mask=(offs_n < len_k)[None, :], other=0.0
    )
    bias = tl.where(offs_n < len_k, 0.0, -float("inf"))
    s = tl.dot(q, kt, input_precision="ieee") * scale + bias[None, :]
    s_ptrs = s_ptr + offs_m[:, None] * BLOCK + offs_n[None, :]
    tl.store(s_ptrs, s, mask=(offs_m < len_q)[:, None])


def scores_bias(q, k, scale):
    """s [Nq, 32] = scale * q k^T, with -inf in the columns past Nk; Nq, Nk <= 32."""
    s = torch.empty(len(q), 32, device=q.device)
    scores_bias_kernel[(1,)](q, k, s, len(q), len(k), scale, D=q.shape[1], BLOCK=32)
    return s


BUGS = {}
RIGHT = ("scores_bias",)
