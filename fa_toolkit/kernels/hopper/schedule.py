"""Which tile of rows a program works on next.

Three ways: one program a tile (`GRID`), a fixed list for each program (`SNAKE`), or whoever is free
draws the next number from a counter in global memory (`DYNAMIC`). Only the producer knows which: it
sends the number along with Q.

The order of the numbers is the same in all three. Heads come in sections whose keys and values fit
the L2 cache together; inside a section the heaviest rows come first, heads side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .gluon import gl, gluon

GRID, SNAKE, DYNAMIC = 0, 1, 2


class Work(NamedTuple):
    """What is to be done, in numbers that are known at launch."""

    len_q: Any
    len_k: Any
    heads_q: Any
    group: Any  # query heads that share a key head
    row_tiles: Any  # tiles of rows in one head
    total: Any  # tiles of rows in all
    section: Any  # heads of one section
    unit: Any  # scale * log2(e)
    counter_ptr: Any  # tickets drawn so far


@gluon.jit
def rows_at(number, work, CAUSAL: gl.constexpr):
    """Number in the schedule -> batch, head, tile of rows."""
    heads = work.total // work.row_tiles
    per_section = work.section * work.row_tiles
    which = number // per_section
    inside = number % per_section
    wide = gl.maximum(gl.minimum(work.section, heads - which * work.section), 1)
    rank = inside // wide
    bh = which * work.section + inside % wide
    if CAUSAL:
        rank = work.row_tiles - 1 - rank
    return bh // work.heads_q, bh % work.heads_q, rank


@gluon.jit
def key_tiles(row, rows, work, CAUSAL: gl.constexpr, BLOCK_N: gl.constexpr):
    """Tiles of keys that rows row .. row + rows - 1 see, at least one."""
    if CAUSAL:
        last = gl.minimum(row + rows, work.len_q) + work.len_k - work.len_q  # keys before this one
        high = gl.minimum(gl.maximum(last, 1), work.len_k)
    else:
        high = work.len_k
    return (high + BLOCK_N - 1) // BLOCK_N


@gluon.jit
def draw(work, SCHEDULE: gl.constexpr):
    """Ask for a ticket; lane 0 of the warp has it when it is first used, not before."""
    lane = gl.arange(0, 32, layout=gl.BlockedLayout([1], [32], [1], [0]))
    if SCHEDULE == 2:
        ticket = gl.atomic_add(
            work.counter_ptr + lane * 0, lane * 0 + 1, mask=lane == 0, sem="relaxed"
        )
    else:
        ticket = lane * 0
    return ticket


@gluon.jit
def number_after(ticket, turn, work, SCHEDULE: gl.constexpr):
    """The number this program works on in its turn, `total` or more when there is none."""
    pid = gl.program_id(0)
    programs = gl.num_programs(0)
    if SCHEDULE == 0:
        number = work.total
    elif SCHEDULE == 1:
        # every other round backwards: who had the heaviest of this round has the lightest of the next
        first = turn * programs
        last = gl.minimum(first + programs, work.total) - 1
        number = gl.where(turn % 2 == 1, last - pid, first + pid)
        number = gl.where(first + pid < work.total, number, work.total)
    else:
        lane = gl.arange(0, 32, layout=gl.BlockedLayout([1], [32], [1], [0]))
        # as many tickets as tiles are drawn in all: the last one puts the counter back
        mine = (lane == 0) & (ticket == work.total - 1)
        gl.store(work.counter_ptr + lane * 0, lane * 0, mask=mine)
        # the first numbers, one for each program, are given without a ticket
        number = gl.sum(gl.where(lane == 0, ticket, 0), axis=0) + programs
    return number
