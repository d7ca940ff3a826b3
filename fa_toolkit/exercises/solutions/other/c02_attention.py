"""02.attention with a triangle for a mask: the mistakes of this way of writing are looked for too."""

# mypy: allow-untyped-defs
import torch


# cell
def attention(q, k, v, causal):
    len_q, len_k = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        hidden = torch.ones(len_q, len_k).triu(len_k - len_q + 1).bool()
        s = s.masked_fill(hidden, -torch.inf)
    p = torch.softmax(s, -1)
    p = torch.nan_to_num(p, 0.0)
    return p @ v
