"""05.matmul, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "05.matmul"

BUGS = {
    # The K mask compares offs_k, which already contains start, with K - start: from the second
    # slice on lanes that exist are switched off, so most of the sum past the first tile is lost.
    "mm_owl": {"start-counted-twice"},
    # The accumulator has the dtype of the input (float16 for half inputs) instead of float32;
    # each step rounds the running sum to half.
    "mm_elk": {"dtype-rounding", "wrong-dtype"},
}
RIGHT = ["mm_backwards"]


@triton.jit
def _mm_owl(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn, M, N, K, BLOCK: tl.constexpr
):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        offs_k = start + tl.arange(0, BLOCK)
        left = offs_k < K - start  # what remains of the sum
        a = tl.load(
            a_ptr + offs_m * stride_am + offs_k[None, :] * stride_ak,
            mask=(offs_m < M) & left[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + offs_k[:, None] * stride_bk + offs_n * stride_bn,
            mask=left[:, None] & (offs_n < N),
            other=0.0,
        )
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


def mm_owl(a, b):
    """A @ B in float32."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    _mm_owl[grid](a, b, c, *a.stride(), *b.stride(), M, N, K, BLOCK=16)
    return c


@triton.jit
def _mm_elk(A, B, C, sam, sak, sbk, sbn, M, N, K, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    k = tl.arange(0, T)
    a_ptrs = A + i[:, None] * sam + k[None, :] * sak
    b_ptrs = B + k[:, None] * sbk + j[None, :] * sbn
    out_ok = (i < M)[:, None] & (j < N)[None, :]
    acc = tl.zeros([T, T], A.dtype.element_ty)
    for done in range(0, K, T):
        in_k = k < K - done
        a = tl.load(a_ptrs, mask=(i < M)[:, None] & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (j < N)[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)
        a_ptrs += T * sak
        b_ptrs += T * sbk
    tl.store(C + i[:, None] * N + j[None, :], acc.to(tl.float32), mask=out_ok)


def mm_elk(a, b):
    """Product of a and b, float32 out, moving pointers."""
    c = torch.empty(a.shape[0], b.shape[1], device=a.device)
    grid = (triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16))
    _mm_elk[grid](a, b, c, *a.stride(), *b.stride(), a.shape[0], b.shape[1], a.shape[1], T=16)
    return c


@triton.jit
def _mm_backwards(A, B, C, sam, sak, sbk, sbn, M, N, K, tiles_n, T: tl.constexpr):
    pid = tl.program_id(0)
    i = (pid // tiles_n) * T + tl.arange(0, T)
    j = (pid % tiles_n) * T + tl.arange(0, T)
    acc_t = tl.zeros([T, T], tl.float32)  # C transposed: [n, m]
    n_steps = (K + T - 1) // T
    for step in range(0, n_steps):
        k = (n_steps - 1 - step) * T + tl.arange(0, T)
        k_ok = k < K
        at = tl.load(
            A + k[:, None] * sak + i[None, :] * sam,
            mask=k_ok[:, None] & (i < M)[None, :],
            other=0.0,
        )
        bt = tl.load(
            B + j[:, None] * sbn + k[None, :] * sbk,
            mask=(j < N)[:, None] & k_ok[None, :],
            other=0.0,
        )
        acc_t = tl.dot(bt, at, acc_t, input_precision="ieee")
    tl.store(C + j[:, None] + i[None, :] * N, acc_t, mask=(j < N)[:, None] & (i < M)[None, :])


def mm_backwards(a, b):
    """C^T = B^T A^T, last slice of K first, one flat grid."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=torch.float32, device=a.device)
    tiles_m, tiles_n = triton.cdiv(M, 16), triton.cdiv(N, 16)
    _mm_backwards[(tiles_m * tiles_n,)](a, b, c, *a.stride(), *b.stride(), M, N, K, tiles_n, T=16)
    return c
