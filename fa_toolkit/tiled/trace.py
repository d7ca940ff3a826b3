"""What a tiled algorithm did, as typed events. Draws nothing and computes nothing.

An event is one load, store or piece of work of one program, in the order it happened. Widgets play
events, the ledger adds up their bytes, and a kernel recorded in the interpreter yields the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch


class Step(StrEnum):
    """The steps of all algorithms; a kernel labels its lines with them (`# step: update`)."""

    LOAD_Q = "load_q"
    LOAD_KV = "load_kv"
    LOAD_S = "load_s"
    LOAD_P = "load_p"
    LOAD_O = "load_o"
    SCORES = "scores"
    MASK = "mask"
    SOFTMAX = "softmax"
    UPDATE = "update"
    DELTA = "delta"
    RECOMPUTE = "recompute"
    GRAD_V = "grad_v"
    GRAD_P = "grad_p"
    GRAD_S = "grad_s"
    GRAD_K = "grad_k"
    GRAD_Q = "grad_q"
    MERGE = "merge"
    STORE = "store"


Algorithm = Literal["standard", "flash_forward", "flash_backward", "decode"]

#: Each algorithm is a list of phases (one kernel launch each); each phase a list of steps in order.
PHASES: Mapping[Algorithm, Mapping[str, tuple[Step, ...]]] = {
    "standard": {
        "scores": (Step.LOAD_Q, Step.LOAD_KV, Step.SCORES, Step.MASK, Step.STORE),
        "softmax": (Step.LOAD_S, Step.SOFTMAX, Step.STORE),
        "output": (Step.LOAD_P, Step.LOAD_KV, Step.UPDATE, Step.STORE),
    },
    "flash_forward": {
        "forward": (
            Step.LOAD_Q,
            Step.LOAD_KV,
            Step.SCORES,
            Step.MASK,
            Step.UPDATE,
            Step.STORE,
        ),
    },
    "flash_backward": {
        "delta": (Step.LOAD_O, Step.DELTA, Step.STORE),
        "dkdv": (
            Step.LOAD_KV,
            Step.LOAD_Q,
            Step.RECOMPUTE,
            Step.MASK,
            Step.GRAD_V,
            Step.GRAD_P,
            Step.GRAD_S,
            Step.GRAD_K,
            Step.STORE,
        ),
        "dq": (
            Step.LOAD_Q,
            Step.LOAD_KV,
            Step.RECOMPUTE,
            Step.MASK,
            Step.GRAD_P,
            Step.GRAD_S,
            Step.GRAD_Q,
            Step.STORE,
        ),
    },
    "decode": {
        "split": (
            Step.LOAD_Q,
            Step.LOAD_KV,
            Step.SCORES,
            Step.MASK,
            Step.UPDATE,
            Step.STORE,
        ),
        "merge": (Step.LOAD_O, Step.MERGE, Step.STORE),
    },
}

Kind = Literal["load", "store", "work"]
Box = tuple[tuple[int, int], tuple[int, int]]  # ((row_start, row_stop), (col_start, col_stop))


@dataclass(frozen=True, slots=True)
class Event:
    """One thing one program did.

    Args:
        phase: the kernel launch it belongs to, a key of `PHASES[algorithm]`.
        step: the step of that phase.
        kind: "load" and "store" cross the HBM boundary and carry bytes; "work" carries none.
        program: which program did it, e.g. (batch, head, row tile); in decoding (batch, key head,
            row tile, split) and (batch, key head, row).
        tensor: the tensor touched, "Q", "K", "V", "S", "P", "O", "lse", "dO", "Delta", "dQ" ...;
            "" for work.
        box: rows and columns of that tensor (within its batch and head); for work, the rows of Q
            and of K whose scores are meant. In decoding rows are packed, row r being head
            r % group of query r // group; of O_parts and lse_parts it is rows and parts.
        head: (batch, head) of the tensor touched (the key/value head for K and V, and for every
            tensor in decoding).
        bytes: bytes requested from or sent to HBM (caches ignored).
        values: small copies of what was on chip ("s", "p", "m", "l", "acc", "alpha" ...) in
            natural units, if the trace was asked to keep them.
    """

    phase: str
    step: Step
    kind: Kind
    program: tuple[int, ...]
    tensor: str
    box: Box
    head: tuple[int, int] = (0, 0)
    bytes: int = 0
    values: Mapping[str, torch.Tensor] = field(default_factory=dict)
