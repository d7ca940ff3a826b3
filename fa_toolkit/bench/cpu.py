"""What can honestly be measured without a GPU: bytes, and tiled torch against eager.

Times of a CPU say nothing about a GPU kernel. Bytes do: they are counted by the same ledger. And
memory does: the N x N matrix is as real here as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..io_model import flash_forward_traffic, standard_forward_traffic
from ..measured import Bill
from ..problem import AttentionProblem, TileShape
from .providers import EAGER, Attend, Provider

_TILE = TileShape(64, 64)
_BILL_LENGTHS = (256, 512)
_LENGTHS = {"quick": (512, 1024), "default": (512, 1024, 2048), "full": (512, 1024, 2048, 4096)}


def problems(extent: str, asked: Sequence[AttentionProblem] = ()) -> list[AttentionProblem]:
    """The cases that were asked for, or modest lengths, four heads of 64, causal; in float32."""
    if asked:
        return [replace(p, dtype="float32") for p in asked]
    return [
        AttentionProblem(1, 4, 4, n, n, 64, dtype="float32", causal=True) for n in _LENGTHS[extent]
    ]


def _tiled() -> Callable[[AttentionProblem], Attend]:
    from ..attention import flash_attention

    def make(problem: AttentionProblem) -> Attend:
        return lambda q, k, v: flash_attention(q, k, v, causal=problem.causal, impl="tiled")

    return make


#: what is timed on a CPU
ON_CPU = (Provider("ours_tiled", _tiled), EAGER)


def bills() -> Iterator[Bill]:
    """Bytes counted in traced runs of both algorithms, beside what the I/O model says."""
    from ..tiled import trace_flash_forward, trace_standard_forward

    for length in _BILL_LENGTHS:
        problem = AttentionProblem(1, 1, 1, length, length, 64, dtype="float32")
        q, k, v = _inputs(problem)
        runs: dict[str, tuple[Any, Any]] = {
            "standard_forward": (trace_standard_forward, standard_forward_traffic),
            "flash_forward": (trace_flash_forward, flash_forward_traffic),
        }
        for name, (trace, model) in runs.items():
            ledger = trace(q, k, v, tile=_TILE).ledger
            bill = model(problem, _TILE)
            yield Bill(
                name,
                problem,
                (_TILE.block_m, _TILE.block_n),
                (int(ledger.reads), int(ledger.writes)),
                (bill.reads, bill.writes),
            )


def _inputs(problem: AttentionProblem) -> tuple[Tensor, Tensor, Tensor]:
    shape = (problem.batch, problem.heads_q, problem.len_q, problem.head_dim)
    generator = torch.Generator().manual_seed(problem.len_q)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    return q, k, v
