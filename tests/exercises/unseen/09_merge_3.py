"""09.merge, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803, N806
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "09.merge"

BUGS = {
    # A row that no part has seen gets lse = 0 + ln 1 = 0 instead of -inf, because the guards for
    # the maximum and for the sum are used in lse as well; o is right.
    "merge_eel": {"edit-name", "guard-too-many"},
}
RIGHT = []


@triton.jit
def _merge_eel(outs_ptr, lses_ptr, o_ptr, lse_ptr, S, R, D: tl.constexpr, BLOCK_S: tl.constexpr):
    row = tl.program_id(0)
    offs_s, offs_d = tl.arange(0, BLOCK_S), tl.arange(0, D)
    outs_ptrs = outs_ptr + (offs_s[:, None] * R + row) * D + offs_d[None, :]
    lse = tl.load(lses_ptr + offs_s * R + row, mask=offs_s < S, other=-float("inf"))
    alive = lse > -float("inf")
    parts = tl.load(outs_ptrs, mask=alive[:, None], other=0.0)
    top = tl.max(lse, axis=0)
    top = tl.where(top > -float("inf"), top, 0.0)
    w = tl.exp(lse - top)
    total = tl.sum(w, axis=0)
    total = tl.where(total > 0.0, total, 1.0)  # no division by zero, no log of zero
    o = tl.sum(parts * w[:, None], axis=0) / total
    tl.store(o_ptr + row * D + offs_d, o)
    tl.store(lse_ptr + row, top + tl.log(total))


def merge_eel(outs, lses):
    """The parts of every row, weighted by e^lse."""
    S, R, D = outs.shape
    o, lse = torch.empty(R, D, device=outs.device), torch.empty(R, device=outs.device)
    _merge_eel[(R,)](outs, lses, o, lse, S, R, D=D, BLOCK_S=16)
    return o, lse
