"""Dull truth in plain torch: what every faster version is judged by. Nothing here is fast."""

from .attention import Gradients, attention, attention_backward
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

__all__ = [
    "BlockState",
    "Gradients",
    "PassCounter",
    "attention",
    "attention_backward",
    "compute_dtype",
    "naive_softmax",
    "online_softmax",
    "online_softmax_states",
    "problem_of",
    "safe_softmax",
    "split_blocks",
    "subtracting_softmax",
    "visible_pairs",
]
