"""Solution of 05.lean."""

# mypy: ignore-errors
# ruff: noqa: N803  (constexprs and sizes are upper case in Triton)
import torch

from fa_toolkit.exercises.triton_names import tl, triton


# cell
@triton.jit
def causal_rows_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    seen, inside = offs <= row, offs < N
    x_ptrs = x_ptr + row * N + offs
    # solution:begin fix
    # stub: x = tl.load(x_ptrs, mask=inside, other=0.0)
    # stub: m = tl.max(tl.where(seen, x, -float("inf")), axis=0)
    # stub: x = tl.load(x_ptrs, mask=inside, other=0.0)
    # stub: total = tl.sum(tl.where(seen, tl.exp(x - m), 0.0), axis=0)
    # stub: x = tl.load(x_ptrs, mask=inside, other=0.0)
    # stub: tl.store(out_ptr + row * N + offs, tl.where(seen, tl.exp(x - m), 0.0) / total, mask=inside)
    x = tl.load(x_ptrs, mask=seen & inside, other=-float("inf"))
    p = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * N + offs, p / tl.sum(p, axis=0), mask=inside)
    # solution:end


def causal_rows(x):
    """Softmax of each row of a contiguous x [N, N] over columns 0 .. row, 0 to their right."""
    # stub: raise NotImplementedError  # remove this line: what follows is right, and moves too much
    out = torch.empty_like(x)
    causal_rows_kernel[(len(x),)](x, out, len(x), BLOCK=triton.next_power_of_2(len(x)))
    return out
