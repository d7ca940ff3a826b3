"""Matrix product in tiles: the loop over k that every attention kernel contains twice."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..errors import DtypeError, ShapeError
from ..language import Text
from .launching import on_device_of, require_kernels
from .precision import dot_precision


@triton.jit
def matmul_kernel(
    # inputs, output
    a_ptr, b_ptr, c_ptr,
    # strides, in elements
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    # runtime scalars
    len_m, len_n, len_k,
    # constexprs
    DOT_PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Each program owns one tile of C and streams a strip of A and a strip of B past it."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    # index vectors in 64 bits: an index times a stride may pass 2^31
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m, mask_n = offs_m < len_m, offs_n < len_n
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)  # [BLOCK_M, BLOCK_N]
    for start_k in range(0, len_k, BLOCK_K):
        offs_k = start_k + tl.arange(0, BLOCK_K).to(tl.int64)
        mask_k = offs_k < len_k
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        # what lies past an edge loads as 0 and adds nothing
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)  # [BLOCK_M, BLOCK_K]
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)  # [BLOCK_K, BLOCK_N]
        acc = tl.dot(a, b, acc, input_precision=DOT_PRECISION)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


def matmul(
    a: torch.Tensor, b: torch.Tensor, *, blocks: tuple[int, int, int] = (64, 64, 32)
) -> torch.Tensor:
    """a @ b, accumulated in float32.

    A taller and wider tile of C re-reads A and B less often: with tiles of BLOCK_M by BLOCK_N the
    kernel reads M·K·(N / BLOCK_N) elements of A and K·N·(M / BLOCK_M) of B.

    Shapes:
        a: [M, K]; b: [K, N]; result: [M, N]; any strides.

    Args:
        blocks: (BLOCK_M, BLOCK_N, BLOCK_K), powers of two, on a GPU at least 16.

    Raises:
        ShapeError: if they are not matrices or K differs.
        DtypeError: if the types differ or are not float16, bfloat16 or float32.
        BackendUnavailable: if kernels cannot run here.
    """
    require_kernels(a, b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ShapeError(
            "b",
            expected=Text("[K, N] beside a: [M, K]", "a 为 [M, K] 时是 [K, N]"),
            got=f"a {tuple(a.shape)}, b {tuple(b.shape)}",
        )
    if a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise DtypeError(
            "a, b",
            expected=Text(
                "both float16, bfloat16 or float32", "都是 float16、bfloat16 或 float32 之一"
            ),
            got=f"{a.dtype}, {b.dtype}",
        )
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, dtype=a.dtype, device=a.device)
    if not c.numel():
        return c
    block_m, block_n, block_k = blocks
    with on_device_of(a):
        matmul_kernel[(triton.cdiv(m, block_m), triton.cdiv(n, block_n))](
            a, b, c, *a.stride(), *b.stride(), *c.stride(), m, n, k,
            DOT_PRECISION=dot_precision(a),
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k,
        )  # fmt: skip
    return c
