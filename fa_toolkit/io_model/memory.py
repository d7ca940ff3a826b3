"""What attention keeps in HBM beside its inputs and outputs, and how long a sequence fits where."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from ..errors import ArgumentError
from ..hardware import GPU
from ..problem import ITEMSIZE, AttentionProblem
from .forward import STATISTIC


def standard_extra_memory(problem: AttentionProblem, *, training: bool = False) -> int:
    """Bytes of N x N intermediates that standard attention holds at its peak.

    Forward: S and P. Training: P was kept, and the backward pass holds dP and dS beside it. Eager
    code that scales and masks in launches of its own holds more.

        2 B H Nq Nk e,  in training 3 B H Nq Nk e

    Example:
        >>> standard_extra_memory(AttentionProblem(heads_q=8, heads_kv=8, len_q=8192, len_k=8192))
        2147483648
    """
    scores = problem.batch * problem.heads_q * problem.len_q * problem.len_k * problem.itemsize
    return (3 if training else 2) * scores


def flash_extra_memory(problem: AttentionProblem, *, training: bool = False) -> int:
    """Bytes that Flash Attention holds beside inputs and outputs: float32 vectors, one or two.

    The log-sum-exp of each row; in training also Delta = rowsum(dO * O).

        4 B H Nq,  in training 8 B H Nq

    Example:
        >>> flash_extra_memory(AttentionProblem(heads_q=8, heads_kv=8, len_q=8192, len_k=8192))
        262144
    """
    return (2 if training else 1) * STATISTIC * problem.batch * problem.heads_q * problem.len_q


@dataclass(frozen=True)
class Fits:
    """The longest sequence of one head that a memory of `capacity` bytes holds.

    Args:
        place: "block" (shared memory of one program), "shared" (of the chip), "l2" or "hbm".
        inputs: largest N for Q, K, V and O together, N x d each.
        scores: largest N for one N x N matrix alone.
        everything: largest N for Q, K, V, O, S and P together.
    """

    place: str
    capacity: int
    inputs: int
    scores: int
    everything: int


def fits_table(gpu: GPU, *, head_dim: int = 64, dtype: str = "float16") -> tuple[Fits, ...]:
    """How long a sequence fits where on `gpu`: one row for each memory whose size is known.

    The point of the table: Q, K, V and O of thousands of rows fit on chip, the score matrix of a
    few hundred does not fit in the memory of one program.

    Raises:
        ArgumentError: if head_dim is below 1 or the dtype is not one of `AttentionProblem`.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> fits_table(gpu("a100-40"))[0]
        Fits(place='block', capacity=166912, inputs=326, scores=288, everything=150)
    """
    if dtype not in ITEMSIZE:
        raise ArgumentError("dtype", expected=" | ".join(ITEMSIZE), got=repr(dtype))
    if head_dim < 1:
        raise ArgumentError("head_dim", expected=">= 1", got=repr(head_dim))
    places = {
        "block": gpu.shared_per_block,
        "shared": gpu.shared,
        "l2": gpu.l2,
        "hbm": gpu.hbm_bytes,
    }
    return tuple(
        _fits(place, capacity, head_dim, ITEMSIZE[dtype])
        for place, capacity in places.items()
        if capacity is not None
    )


def _fits(place: str, capacity: int, head_dim: int, itemsize: int) -> Fits:
    elements = capacity // itemsize
    # 2 N^2 + 4 N d <= elements, solved for N: N + d <= sqrt(elements / 2 + d^2)
    everything = isqrt(elements // 2 + head_dim**2) - head_dim
    return Fits(place, capacity, elements // (4 * head_dim), isqrt(elements), everything)
