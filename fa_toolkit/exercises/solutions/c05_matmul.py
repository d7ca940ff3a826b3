"""Solution of 05.matmul."""

# mypy: ignore-errors
# ruff: noqa: N803, N806  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def my_matmul_kernel(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn, M, N, K, BLOCK: tl.constexpr
):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]  # [BLOCK, 1]
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]  # [1, BLOCK]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        offs_k = start + tl.arange(0, BLOCK)
        # solution:begin
        row_k, col_k = offs_k[None, :], offs_k[:, None]
        a_ptrs = a_ptr + offs_m * stride_am + row_k * stride_ak
        b_ptrs = b_ptr + col_k * stride_bk + offs_n * stride_bn
        a = tl.load(a_ptrs, mask=(offs_m < M) & (row_k < K), other=0.0)
        b = tl.load(b_ptrs, mask=(col_k < K) & (offs_n < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        # solution:end
    tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


def my_matmul(a, b):
    """A @ B in float32, with A [M, K] and B [K, N] of any strides."""
    # stub: raise NotImplementedError  # remove this line when the kernel is written
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    my_matmul_kernel[grid](a, b, c, *a.stride(), *b.stride(), M, N, K, BLOCK=16)
    return c
