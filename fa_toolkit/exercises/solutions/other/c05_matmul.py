"""05.matmul with pointers that move on: the mistakes of this way of writing are looked for too."""

# mypy: ignore-errors
# ruff: noqa: N803, N806  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def my_matmul_kernel(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn, M, N, K, BLOCK: tl.constexpr
):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    offs_k = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    a_ptrs = a_ptr + offs_m * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n * stride_bn
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptrs, mask=(offs_m < M) & (start + offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(start + offs_k[:, None] < K) & (offs_n < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BLOCK * stride_ak
        b_ptrs += BLOCK * stride_bk
    tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


def my_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    my_matmul_kernel[grid](a, b, c, *a.stride(), *b.stride(), M, N, K, BLOCK=16)
    return c
