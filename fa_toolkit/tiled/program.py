"""How a tiled algorithm is run: programs that ask for tiles, and the two ways to serve them.

A program is a generator. It says `q = yield Load(...)`, computes, and says `yield Store(...)`. Run
fast, a load is a slice over many heads at once; traced, it is a slice of one head and leaves an
event behind. The program cannot tell which, so both runs are the same algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from ..problem import AttentionProblem, TileShape
from ..reference import compute_dtype
from .trace import Box, Event, Step

Span = tuple[int, int]
ROW_STATISTICS = ("lse", "Delta", "dlse")  # one number a row
PARTS = (
    "O_parts",
    "lse_parts",
)  # float32; the last axis counts the parts, O_parts' [.., Dv, parts]
STATISTIC_BYTES = 4  # counted as float32 whatever they are computed in
PER_KEY_HEAD = ("K", "V", "dK", "dV")
BATCHED_ELEMENTS = 1 << 18  # of one tile over all heads of a lot: stays in a core's cache


class Load(NamedTuple):
    """Bring rows `span` of `tensor` on chip; all columns, or those of `cols`.

    `member` picks one query head of the group where a program serves a key/value head.
    """

    step: Step
    tensor: str
    span: Span
    cols: Span | None = None
    member: int | None = None


class Store(NamedTuple):
    """Write `tile` to rows `span` of `tensor`, rounding to its dtype."""

    step: Step
    tensor: str
    span: Span
    tile: Tensor
    cols: Span | None = None


class Work(NamedTuple):
    """A step done on chip, for the scores of rows x cols; `values` in natural units."""

    step: Step
    rows: Span
    cols: Span
    values: Mapping[str, Tensor]


Request = Load | Store | Work
Program = Generator[Request, Tensor, None]


class Place(NamedTuple):
    """Which batches, key/value heads and members of their groups a program works on."""

    batch: slice
    head: slice
    member: slice


@dataclass(frozen=True)
class Launch:
    """One kernel launch: a grid of programs, one per span and head.

    Args:
        spans: the row tiles, or the column tiles, of the grid.
        per_key_head: one program per key/value head instead of per query head.
        body: the program of a span at a place.
    """

    phase: str
    spans: tuple[Span, ...]
    per_key_head: bool
    body: Callable[[Span, Place], Program]


@dataclass(frozen=True)
class Memory:
    """HBM: the tensors of one call, each seen as [B, Hkv, group, N, ...]."""

    problem: AttentionProblem
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def add(self, name: str, x: Tensor) -> Tensor:
        """Let programs see `x`, [B, H, N, ...], under `name`; views only, nothing is copied."""
        group = 1 if name in PER_KEY_HEAD else self.problem.group
        self.tensors[name] = x.unflatten(1, (self.problem.heads_kv, group))  # type: ignore[no-untyped-call]
        return x

    def serve(self, request: Request, place: Place) -> Tensor:
        """Do what a program asked for; the tile for a load, nothing worth having otherwise."""
        if isinstance(request, Work):
            return _NOTHING
        x = self.tensors[request.tensor]
        member = place.member if x.shape[2] > 1 else slice(0, 1)
        if isinstance(request, Load) and request.member is not None and x.shape[2] > 1:
            member = slice(request.member, request.member + 1)
        view = x[place.batch, place.head, member, slice(*request.span)]
        if request.cols is not None:
            view = view[..., slice(*request.cols)]
        if isinstance(request, Store):
            view.copy_(request.tile)
            return _NOTHING
        return view.to(compute_dtype(x.dtype))


_NOTHING = torch.empty(0)


class Planned(NamedTuple):
    """One program and where it belongs.

    Args:
        ids: of the program within its launch.
    """

    phase: str
    ids: tuple[int, ...]
    place: Place
    program: Program


def run(launches: Iterable[Launch], memory: Memory, tile: TileShape) -> None:
    """The fast way: every program covers many heads, and nobody watches."""
    for launch in launches:
        for place in _batched_places(memory.problem, tile, launch.per_key_head):
            programs = (Planned("", (), place, launch.body(s, place)) for s in launch.spans)
            run_programs(programs, memory)


def record(launches: Iterable[Launch], memory: Memory, *, keep_values: bool) -> Iterator[Event]:
    """The traced way: one program per head and span, its events in the order they happen."""
    return record_programs(_one_by_one(launches, memory.problem), memory, keep_values=keep_values)


def run_programs(programs: Iterable[Planned], memory: Memory) -> None:
    """Serve every program to its end."""
    for planned in programs:
        for _ in _drive(planned.program, memory, planned.place):
            pass


def record_programs(
    programs: Iterable[Planned], memory: Memory, *, keep_values: bool
) -> Iterator[Event]:
    """The events of programs whose places are one head each, in the order they happen."""
    for planned in programs:
        for request, reply in _drive(planned.program, memory, planned.place):
            yield _event(request, reply, memory, planned, keep_values)


def _one_by_one(launches: Iterable[Launch], problem: AttentionProblem) -> Iterator[Planned]:
    """A program for every head and span, in the order of their ids."""
    for launch in launches:
        group = 1 if launch.per_key_head else problem.group
        for batch in range(problem.batch):
            for head in range(problem.heads_kv * group):
                b, h, g = batch, head // group if group else 0, head % group if group else 0
                place = Place(slice(b, b + 1), slice(h, h + 1), slice(g, g + 1))
                for index, span in enumerate(launch.spans):
                    program = launch.body(span, place)
                    yield Planned(launch.phase, (batch, head, index), place, program)


def _drive(program: Program, memory: Memory, place: Place) -> Iterator[tuple[Request, Tensor]]:
    """Serve a program to its end, handing out each request and its answer as it is met."""
    request = next(program, None)
    while request is not None:
        reply = memory.serve(request, place)
        yield request, reply
        try:
            request = program.send(reply)
        except StopIteration:
            return


def _batched_places(
    problem: AttentionProblem, tile: TileShape, per_key_head: bool
) -> Iterator[Place]:
    """Heads in lots, so that a tile over all of them stays below one head's Nq x Nk."""
    members = 1 if per_key_head else problem.group
    m, n = min(tile.block_m, problem.len_q or 1), min(tile.block_n, problem.len_k or 1)
    largest = max(m * n, max(m, n) * max(problem.head_dim, problem.head_dim_v))
    room = min(BATCHED_ELEMENTS, problem.len_q * problem.len_k // 2) // largest
    lot_g = max(1, min(members, room))
    lot_h = max(1, min(problem.heads_kv, room // lot_g))
    lot_b = max(1, min(problem.batch, room // (lot_g * lot_h)))
    for b in range(0, problem.batch, lot_b):
        for h in range(0, problem.heads_kv, lot_h):
            for g in range(0, members, lot_g):
                yield Place(slice(b, b + lot_b), slice(h, h + lot_h), slice(g, g + lot_g))


def _event(
    request: Request,
    reply: Tensor,
    memory: Memory,
    planned: Planned,
    keep: bool,
) -> Event:
    phase, program, place, _ = planned
    if isinstance(request, Work):
        kept = {name: _copy(x) for name, x in request.values.items()} if keep else {}
        head = (place.batch.start, place.head.start * memory.problem.group + place.member.start)
        return Event(
            phase, request.step, "work", program, "", (request.rows, request.cols), head, 0, kept
        )
    name, x = request.tensor, memory.tensors[request.tensor]
    statistic = name in ROW_STATISTICS
    inner = math.prod(x.shape[4:-1])  # elements of one cell of the box: 1, but for O_parts
    cols = request.cols or (0, 1 if statistic else x.shape[-1])
    box: Box = (request.span, cols)
    elements = inner * (box[0][1] - box[0][0]) * (box[1][1] - box[1][0])
    member = place.member.start
    if isinstance(request, Load) and request.member is not None:
        member = request.member
    head = (place.batch.start, place.head.start)
    if name not in PER_KEY_HEAD:
        head = (head[0], head[1] * memory.problem.group + member)
    return Event(
        phase,
        request.step,
        "load" if isinstance(request, Load) else "store",
        program,
        name,
        box,
        head,
        elements * (STATISTIC_BYTES if statistic or name in PARTS else memory.problem.itemsize),
        {name: _copy(reply if isinstance(request, Load) else request.tile)} if keep else {},
    )


def _copy(x: Tensor) -> Tensor:
    """A tile without the axes of batch and heads, safe from later changes."""
    return x.detach().clone().flatten(0, 2)[0] if x.ndim > 3 else x.detach().clone()
