"""02.attention, from its specification alone, in a second hand."""

# mypy: ignore-errors
import torch

EXERCISE = "02.attention"

BUGS = {
    # scale from q.shape[1], which is the width only for a 2-D q; with leading dimensions it is
    # the number of queries or heads (should be q.shape[-1])
    "attention_copied_scale": {"edit-sign", "scale-of-length"},
}
RIGHT = []


def attention_copied_scale(q, k, v, causal):
    """The three lines of the chapter, for any number of leading dimensions, with the mask."""
    s = q.float() @ k.float().transpose(-2, -1) * q.shape[1] ** -0.5
    if causal:
        n_q, n_k = s.shape[-2:]
        hidden = torch.ones(n_q, n_k, dtype=torch.bool, device=s.device).triu(n_k - n_q + 1)
        s = s.masked_fill(hidden, -torch.inf)
    p = torch.softmax(s, dim=-1).nan_to_num(0.0)
    return (p @ v.float()).to(q.dtype)
