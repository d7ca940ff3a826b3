"""One call of attention: its tensors checked, its numbers settled, its scores; and its trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..problem import AttentionProblem, TileShape, check_tile, tile_kind
from ..reference import check_dropout, compute_dtype, kept, problem_of, visible_pairs
from ..reference.inputs import check_scalars
from .ledger import Ledger
from .program import Launch, Memory, Place, Span, record
from .trace import Algorithm, Event


@dataclass(frozen=True)
class Call:
    """What every program of one call knows besides its tiles.

    Args:
        cap: soft cap of the scores, 0 for none.
        sink: [1, Hkv, group, 1] in the compute dtype, or None.
        dropout_p: share of the probabilities that is dropped.
        seed: decides which; read from the device once.
        batch_start: the b of the first item, as dropout counts them.
    """

    problem: AttentionProblem
    tile: TileShape
    memory: Memory
    scale: float
    cap: float
    sink: Tensor | None
    dtype: torch.dtype
    device: torch.device
    dropout_p: float = 0.0
    seed: int = 0
    batch_start: int = 0

    @classmethod
    def of(
        cls,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        tile: TileShape,
        *,
        causal: bool,
        window: tuple[int, int] | None,
        softcap: float | None,
        scale: float | None,
        sink: Tensor | None,
        dropout_p: float = 0.0,
        seed: int | Tensor | None = None,
        batch_start: int = 0,
    ) -> Call:
        """Validate the arguments of a call and lay q, k and v out in memory."""
        check_tile(tile)
        problem = problem_of(q, k, v, causal=causal, window=window, sink=sink)
        scale, cap = check_scalars(problem, scale, softcap)
        memory, kind = Memory(problem), compute_dtype(q.dtype)
        for name, x in (("Q", q), ("K", k), ("V", v)):
            memory.add(name, x.detach())
        if sink is not None:
            shape = (1, problem.heads_kv, problem.group, 1)
            sink = sink.detach().to(q.device, kind).reshape(shape)
        dropout_p = check_dropout(dropout_p, seed)
        drawn = int(seed) if dropout_p and seed is not None else 0
        dropout = (dropout_p, drawn, batch_start)
        return cls(problem, tile, memory, scale, cap, sink, kind, q.device, *dropout)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """scale * q k^T, through the soft cap if there is one."""
        s = self.scale * (q @ k.mT)  # [..., M, N]
        return self.cap * torch.tanh(s / self.cap) if self.cap else s

    def slope(self, s: Tensor) -> Tensor | float:
        """Derivative of the soft cap at capped scores `s`."""
        return 1 - (s / self.cap) ** 2 if self.cap else 1.0

    def hidden(self, rows: Span, cols: Span) -> Tensor | None:
        """[rows, cols] of bool, true where a query may not look; None if it may everywhere."""
        if tile_kind(self.problem, *rows, *cols) == "full":
            return None
        return ~visible_pairs(self.problem, rows, cols, self.device)

    def dropout_factor(self, place: Place, rows: Span, cols: Span) -> Tensor | float:
        """[batches, heads, members, rows, cols]: 1 / (1 - p) where kept, 0 where dropped; or 1."""
        if not self.dropout_p:
            return 1.0
        p = self.problem
        batch = self.batch_start + torch.arange(p.batch, device=self.device)[place.batch]
        heads = torch.arange(p.heads_q, device=self.device).reshape(p.heads_kv, p.group)
        head = heads[place.head, place.member]
        i, j = (torch.arange(*span, device=self.device) for span in (rows, cols))
        at = (batch[:, None, None, None, None], head[..., None, None], i[:, None], j)
        return kept(self.seed, self.dropout_p, *at).to(self.dtype) / (1 - self.dropout_p)

    def sink_at(self, place: Place) -> Tensor | None:
        """The sinks of a place's heads, [1, heads, members, 1]."""
        return None if self.sink is None else self.sink[:, place.head, place.member]

    def new(self, name: str, like: Tensor, width: int | None = None) -> Tensor:
        """Allocate an output with the sizes of `like` and show it to the programs.

        `width` replaces the last axis; 0 drops it and makes a row statistic.
        """
        if width == 0:
            x = torch.empty(like.shape[:-1], dtype=self.dtype, device=self.device)
        else:
            shape = (*like.shape[:-1], like.shape[-1] if width is None else width)
            x = torch.empty(shape, dtype=like.dtype, device=self.device)
        return self.memory.add(name, x)

    def trace(
        self,
        algorithm: Algorithm,
        launches: Iterable[Launch],
        outputs: Mapping[str, Tensor],
        *,
        keep_values: bool,
    ) -> Trace:
        """Run `launches` one head at a time and keep every event."""
        events = list(record(launches, self.memory, keep_values=keep_values))
        return Trace(self.problem, self.tile, algorithm, events, outputs)


@dataclass(frozen=True)
class Trace:
    """One traced run.

    Args:
        events: what happened, in order.
        outputs: tensors the run left in HBM, by name.
    """

    problem: AttentionProblem
    tile: TileShape
    algorithm: Algorithm
    events: list[Event]
    outputs: Mapping[str, Tensor]

    @property
    def ledger(self) -> Ledger:
        """The bytes of the events, added up."""
        return Ledger.of(self.events)
