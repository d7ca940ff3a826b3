"""Which keys a program of the Hopper backward owns, and which queries it walks."""

from __future__ import annotations

from typing import Any, NamedTuple

from .gluon import gl, gluon


class KeyWork(NamedTuple):
    """What is to be done, in numbers that are known at launch."""

    len_q: Any
    len_k: Any
    heads_kv: Any
    group: Any  # query heads that share a key head
    key_tiles: Any  # tiles of keys in one head
    query_tiles: Any  # tiles of queries in one head
    section: Any  # key heads of one section
    unit: Any  # scale * log2(e)
    scale: Any
    total: Any  # tiles of keys in all
    counter_ptr: Any  # tickets drawn so far, where programs draw them


@gluon.jit
def keys_at(number, work):
    """Number in the schedule -> batch, key head, tile of keys.

    Heads come in sections, small enough for their Q, dO and sums of dQ to stay in the L2 cache while
    every tile of their keys asks for them. In a section the first keys, which most queries see, come first.
    """
    heads = work.total // work.key_tiles
    per_section = work.section * work.key_tiles
    which = number // per_section
    inside = number % per_section
    wide = gl.minimum(work.section, heads - which * work.section)
    bh = which * work.section + inside % wide
    return bh // work.heads_kv, bh % work.heads_kv, inside // wide


@gluon.jit
def queries_of(key, work, plan: gl.constexpr):
    """The first tile of queries that sees `key`, and how many there are from it on: at least one."""
    first = gl.to_tensor(0)
    if plan.causal:
        seen_by = gl.maximum(key - (work.len_k - work.len_q), 0)
        first = gl.minimum(seen_by // plan.block_m, work.query_tiles - 1)
    return first, work.query_tiles - first
