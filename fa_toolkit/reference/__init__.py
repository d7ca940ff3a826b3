"""Dull truth in plain torch: what every faster version is judged by. Nothing here is fast."""

from .attention import Gradients, attention, attention_backward
from .decode import decode_attention
from .dropout import check_dropout, kept, philox
from .inputs import compute_dtype, problem_of, visible_pairs
from .softmax import (
    BlockState,
    PassCounter,
    naive_softmax,
    online_softmax,
    online_softmax_states,
    safe_softmax,
    split_blocks,
    subtracting_softmax,
)
from .varlen import varlen_attention

__all__ = [
    "BlockState",
    "Gradients",
    "PassCounter",
    "attention",
    "attention_backward",
    "check_dropout",
    "compute_dtype",
    "decode_attention",
    "kept",
    "naive_softmax",
    "online_softmax",
    "online_softmax_states",
    "philox",
    "problem_of",
    "safe_softmax",
    "split_blocks",
    "subtracting_softmax",
    "varlen_attention",
    "visible_pairs",
]
