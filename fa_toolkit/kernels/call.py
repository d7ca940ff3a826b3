"""One call of an attention kernel: its sizes, its options and how they reach the kernel.

Checks that the tensors fit each other, since a kernel computes addresses; allocates nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import torch

from ..errors import DtypeError, ShapeError
from ..language import Text
from ..problem import AttentionProblem, known_problem
from .configuration import LaunchPlan

LONGEST_AXIS = 65_535  # programs along the second and the third axis of a CUDA grid
RANDOM_BITS = 31  # of a random number that decide about one entry


def problem_of(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    window: tuple[int, int] | None = None,
) -> AttentionProblem:
    """The sizes and the mask of a call, whose tensors must fit each other.

    Raises:
        ShapeError, DtypeError: if they do not.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise ShapeError(name, expected="[B, H, N, D]", got=str(list(x.shape)))
        if x.dtype not in (torch.float16, torch.bfloat16, torch.float32) or x.dtype != q.dtype:
            raise DtypeError(
                name,
                expected=Text(
                    "float16, bfloat16 or float32, all three alike",
                    "float16、bfloat16 或 float32，三者相同",
                ),
                got=str(x.dtype),
            )
    (b, hq, nq, d), (hkv, nk, dv) = q.shape, v.shape[1:]
    for name, x, fitting in (("k", k, (b, hkv, nk, d)), ("v", v, (b, hkv, nk, dv))):
        if x.shape != fitting or 0 in (d, dv):
            raise ShapeError(name, expected=str(list(fitting)), got=str(list(x.shape)))
    dtype: Any = str(q.dtype).removeprefix("torch.")
    return known_problem(b, hq, hkv, nq, nk, d, dv, dtype, causal=causal, window=window)


def output_like(x: torch.Tensor, width: int | None = None) -> torch.Tensor:
    """A dense [B, H, N, width] whose heads and rows lie in the order of those of `x`.

    So a model that keeps its heads beside each other, [B, N, H, D], gets them back that way.
    """
    b, h, n, d = x.shape
    width = d if width is None else width
    if x.stride(1) < x.stride(2):
        return torch.empty(b, n, h, width, dtype=x.dtype, device=x.device).transpose(1, 2)
    return torch.empty(b, h, n, width, dtype=x.dtype, device=x.device)


def grid_of(
    tiles: int, heads: int, batch: int, side: int = 1, on_axes: bool = True
) -> tuple[int, ...]:
    """An axis for each: a program then finds its place without a division.

    One axis for all if not `on_axes`, or where CUDA would refuse that; `tiles.place_of_program`
    reads both.

    Args:
        side: heads that take turns along the first axis; a divisor of `heads`.
    """
    axes = (tiles * side, heads // side, batch)
    return axes if on_axes and max(axes[1:]) <= LONGEST_AXIS else (math.prod(axes),)


@dataclass(frozen=True)
class Call:
    """What the kernels of one call are told besides q, k and v.

    Args:
        softcap: 0 for none.
        sink: [Hq], float32, contiguous, or None.
        seed: one int64 on the device, only looked at under dropout.
        cu_seqlens: (queries, keys), where packed sequences begin and end; q, k and v are then one
            batch that holds them all. None for a dense call.
    """

    problem: AttentionProblem
    scale: float
    softcap: float
    sink: torch.Tensor | None
    dropout_p: float
    seed: torch.Tensor | None
    cu_seqlens: tuple[torch.Tensor, torch.Tensor] | None = None

    @classmethod
    def of(
        cls,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        *,
        causal: bool = False,
        window: tuple[int, int] | None = None,
        softcap: float | None = None,
        scale: float | None = None,
        sink: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        seed: torch.Tensor | None = None,
        cu_seqlens: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> Call:
        """Check what a kernel would read past its end, and settle the defaults."""
        problem = problem_of(q, k, v, causal, window)
        if sink is not None and sink.shape != (problem.heads_q,):
            raise ShapeError("sink", expected=f"[{problem.heads_q}]", got=str(list(sink.shape)))
        scale = 1 / math.sqrt(problem.head_dim) if scale is None else float(scale)
        sink = None if sink is None else sink.detach().float().contiguous()
        seed = seed if dropout_p else None
        return cls(problem, scale, float(softcap or 0.0), sink, dropout_p, seed, cu_seqlens)

    @property
    def offsets(self) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Where packed sequences begin, of queries and of keys; None twice for a dense call."""
        return self.cu_seqlens or (None, None)

    @property
    def sequences(self) -> int:
        """Sequences of the call: packed ones, or the batch."""
        return self.problem.batch if self.cu_seqlens is None else len(self.cu_seqlens[0]) - 1

    def grid(
        self, heads: int, length: int, block: int, side: int, on_axes: bool
    ) -> tuple[int, ...]:
        """The grid of a launch in which each program owns one tile of `block` of one head."""
        if self.cu_seqlens is None:
            return grid_of(-(-length // block), heads, self.problem.batch, side, on_axes)
        # a tile more for each sequence, and one for what belongs to nobody: see `sequence_at`
        return grid_of(length // block + self.sequences + 1, heads, 1, side, on_axes)

    def has_edge(self, plan: LaunchPlan) -> bool:
        """`plan.has_edge`, where packed sequences may end anywhere."""
        return self.cu_seqlens is not None or plan.has_edge(self.problem)

    def strides(self, *tensors: torch.Tensor) -> tuple[int, ...]:
        """Strides of all tensors; along the batch, packed sequences are all found at offset 0."""
        if self.cu_seqlens is None:
            return tuple(chain.from_iterable(x.stride() for x in tensors))
        return tuple(chain.from_iterable((0, *x.stride()[1:]) for x in tensors))

    @property
    def scalars(self) -> tuple[Any, ...]:
        """lengths and runtime options, in the order of the kernels' signatures."""
        return (self.sequences, *_scalars(self.problem, self.scale, self.softcap, self.dropout_p))

    @property
    def flags(self) -> dict[str, Any]:
        """The constexpr arguments that say which features a kernel is compiled with."""
        return {
            "HEAD_DIM": self.problem.head_dim,
            "HEAD_DIM_V": self.problem.head_dim_v,
            "IS_PACKED": self.cu_seqlens is not None,
            "HAS_LEFT": self.problem.left is not None,
            "HAS_RIGHT": self.problem.right is not None,
            "HAS_SOFTCAP": self.softcap > 0,
            "HAS_DROPOUT": self.dropout_p > 0,
        }


@lru_cache(maxsize=4096)
def _scalars(
    problem: AttentionProblem, scale: float, softcap: float, dropout_p: float
) -> tuple[Any, ...]:
    p = problem
    everything = p.len_q + p.len_k  # a bound as far as this hides nothing and fits 32 bits
    left = everything if p.left is None else min(p.left, everything)
    right = everything if p.right is None else min(p.right, everything)
    threshold = min(round(dropout_p * 2**RANDOM_BITS), 2**RANDOM_BITS - 1)
    return (p.len_q, p.len_k, left, right, scale, softcap, threshold, 1 / (1 - dropout_p))
