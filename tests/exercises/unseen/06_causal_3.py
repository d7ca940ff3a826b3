"""06.causal, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.causal"

BUGS = {
    # stop is not held at 0 from below: tiles whose rows all stand before the first key (Nq > Nk)
    # get a negative stop; the scores are right.
    "causal_yak": {"edit-missing"},
}
RIGHT = []


@triton.jit
def _causal_yak(q_ptr, k_ptr, s_ptr, stop_ptr, len_q, len_k, D: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_m, offs_d = pid_m * 16 + tl.arange(0, 16), tl.arange(0, D)
    mask_m, diagonal = offs_m < len_q, len_k - len_q
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=mask_m[:, None], other=0.0)
    last_row = tl.minimum(pid_m * 16 + 15, len_q - 1)
    stop = tl.minimum(last_row + diagonal + 1, len_k)
    tl.store(stop_ptr + pid_m, stop)
    for start_n in range(0, stop, 16):
        cols = start_n + tl.arange(0, 16)
        mask_n = cols < len_k
        k = tl.load(k_ptr + cols[:, None] * D + offs_d[None, :], mask=mask_n[:, None], other=0.0)
        visible = cols[None, :] - offs_m[:, None] <= diagonal
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(visible & mask_n[None, :], s, -float("inf"))
        s_ptrs = s_ptr + offs_m[:, None] * len_k + cols[None, :]
        tl.store(s_ptrs, s, mask=mask_m[:, None] & mask_n[None, :])


def causal_yak(q, k):
    """Causal scores and where each tile of rows may stop."""
    s = torch.full([len(q), len(k)], -float("inf"), device=q.device)
    stops = torch.zeros(triton.cdiv(len(q), 16), dtype=torch.int32, device=q.device)
    _causal_yak[(len(stops),)](q, k, s, stops, len(q), len(k), D=q.shape[1])
    return s, stops
