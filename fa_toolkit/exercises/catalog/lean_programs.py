"""Kernels that are right and move too many bytes, or the other way round; for `lean_kernels`.

Imported only when one of them is about to run.
"""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from ..triton_names import tl, triton


@triton.jit
def _rows_kernel(
    x_ptr, out_ptr, N, LOADS: tl.constexpr, HALF: tl.constexpr, FILL: tl.constexpr,
    SKIP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    seen, inside = offs <= row, offs < N
    wanted = (seen & inside) if HALF else inside
    x = tl.load(x_ptr + row * N + offs, mask=wanted, other=0.0)
    for _ in range(LOADS - 1):
        x = tl.load(x_ptr + row * N + offs, mask=wanted, other=0.0)
    x = tl.where(seen, x, FILL)
    p = tl.exp(x - tl.max(x, axis=0))
    stored = wanted if SKIP else inside
    tl.store(out_ptr + row * N + offs, p / tl.sum(p, axis=0), mask=stored)


def rows(x, *, loads=1, half=True, fill=-float("inf"), skip=False):
    """Causal softmax of rows with `loads` loads of the visible half or of everything."""
    out = torch.full_like(x, float("nan"))
    block = triton.next_power_of_2(len(x))
    _rows_kernel[(len(x),)](
        x, out, len(x), LOADS=loads, HALF=half, FILL=fill, SKIP=skip, BLOCK=block
    )
    return out


@triton.jit
def _heads_kernel(
    q_ptr, k_ptr, s_ptr, len_k, GROUP: tl.constexpr, HEADS_KV: tl.constexpr, D: tl.constexpr,
    MODULO: tl.constexpr,
):  # fmt: skip
    h, offs_d = tl.program_id(0), tl.arange(0, D)
    q = tl.load(q_ptr + h * D + offs_d)
    h_kv = h % HEADS_KV if MODULO else h // GROUP
    for start_n in range(0, len_k, 16):
        cols = start_n + tl.arange(0, 16)
        kv = h_kv * len_k * D + cols[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=(cols < len_k)[:, None], other=0.0)
        tl.store(s_ptr + h * len_k + cols, tl.sum(k * q[None, :], axis=1), mask=cols < len_k)


@triton.jit
def _group_kernel(
    q_ptr, k_ptr, s_ptr, len_k, GROUP: tl.constexpr, D: tl.constexpr, AGAIN: tl.constexpr,
    STEP: tl.constexpr,
):  # fmt: skip
    h_kv, offs_d, lanes = tl.program_id(0), tl.arange(0, D), tl.arange(0, 16)
    mask_g = (lanes < GROUP)[:, None]
    heads = h_kv * GROUP + lanes if STEP else h_kv + lanes * tl.num_programs(0)
    q_ptrs = q_ptr + heads[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptrs, mask=mask_g, other=0.0)
    for start_n in range(0, len_k, 16):
        cols = start_n + tl.arange(0, 16)
        if AGAIN:
            q = tl.load(q_ptrs, mask=mask_g, other=0.0)
        kv = h_kv * len_k * D + cols[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=(cols < len_k)[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s_ptrs = s_ptr + heads[:, None] * len_k + cols[None, :]
        tl.store(s_ptrs, s, mask=mask_g & (cols < len_k)[None, :])


def heads(q, k, *, modulo=False):
    """One program a query head: K is loaded once for each of them."""
    (heads_kv, len_k, d), group = k.shape, len(q) // len(k)
    s = torch.empty(len(q), len_k, device=q.device)
    _heads_kernel[(len(q),)](q, k, s, len_k, GROUP=group, HEADS_KV=heads_kv, D=d, MODULO=modulo)
    return s


def groups(q, k, *, again=False, in_a_row=True):
    """One program a key head, with its whole group of query heads."""
    (heads_kv, len_k, d), group = k.shape, len(q) // len(k)
    s = torch.empty(len(q), len_k, device=q.device)
    _group_kernel[(heads_kv,)](q, k, s, len_k, GROUP=group, D=d, AGAIN=again, STEP=in_a_row)
    return s
