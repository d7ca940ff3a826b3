"""06.lean, from its specification alone, in a third hand."""

# mypy: ignore-errors
# ruff: noqa: N803
import torch

from fa_toolkit.exercises.triton_names import tl, triton

EXERCISE = "06.lean"

BUGS = {
    # Key head h is given the query heads h, h + Hkv, h + 2 Hkv, ... (interleaved) instead of the
    # neighbours h*GROUP .. h*GROUP + GROUP - 1; bytes are right, scores are not.
    "grouped_emu": {"heads-not-neighbours"},
}
RIGHT = []


@triton.jit
def _grouped_emu(
    q_ptr, k_ptr, s_ptr, len_k, GROUP: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr
):
    kv_head, n_kv = tl.program_id(0), tl.num_programs(0)
    member, offs_n, offs_d = tl.arange(0, ROWS), tl.arange(0, 16), tl.arange(0, D)
    ok = member < GROUP
    heads = member * n_kv + kv_head  # the query heads that this key head serves
    q = tl.load(q_ptr + heads[:, None] * D + offs_d[None, :], mask=ok[:, None], other=0.0)
    k_ptr += kv_head * len_k * D
    for start_n in range(0, len_k, 16):
        cols = start_n + offs_n
        inside = cols < len_k
        k = tl.load(k_ptr + cols[:, None] * D + offs_d[None, :], mask=inside[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        tl.store(
            s_ptr + heads[:, None] * len_k + cols[None, :], s, mask=ok[:, None] & inside[None, :]
        )


def grouped_emu(q, k):
    """Scores of one token, K loaded once a group."""
    (heads_kv, len_k, d), group = k.shape, len(q) // len(k)
    s = torch.empty(len(q), len_k, device=q.device)
    rows = max(16, triton.next_power_of_2(group))
    _grouped_emu[(heads_kv,)](q, k, s, len_k, GROUP=group, ROWS=rows, D=d)
    return s
