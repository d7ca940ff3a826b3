"""05.matmul, from its specification alone: the mistakes learners make most, and right answers.

The ids are what the check said after its gaps were mended, each read against the function: these
sets keep what was reached, they no longer measure it.
"""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch
import triton
import triton.language as tl

EXERCISE = "05.matmul"


@triton.jit
def mm_flipped_kernel(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn, M, N, K, BLOCK: tl.constexpr
):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]  # [BLOCK, 1]
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]  # [1, BLOCK]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        offs_k = start + tl.arange(0, BLOCK)
        # load both already transposed: at is [k, m], bt is [n, k];  C^T = B^T A^T
        k_down, k_across = tl.expand_dims(offs_k, 1), tl.expand_dims(offs_k, 0)
        m_across, n_down = tl.trans(offs_m), tl.trans(offs_n)
        at = tl.load(a_ptr + k_down * stride_ak + m_across * stride_am,
                     mask=(k_down < K) & (m_across < M), other=0.0)  # fmt: skip
        bt = tl.load(b_ptr + n_down * stride_bn + k_across * stride_bk,
                     mask=(n_down < N) & (k_across < K), other=0.0)  # fmt: skip
        ct = tl.dot(bt.to(tl.float32), at.to(tl.float32), input_precision="ieee")
        acc = acc + tl.trans(ct)
    tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


def mm_flipped(a, b):
    """A @ B in float32, with A [M, K] and B [K, N] of any strides."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    mm_flipped_kernel[grid](a, b, c, *a.stride(), *b.stride(), M, N, K, BLOCK=16)
    return c


BUGS = {}
RIGHT = ("mm_flipped",)
