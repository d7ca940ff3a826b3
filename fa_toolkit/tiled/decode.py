"""Decoding as a loop over splits: each finishes on its own, then the parts are merged.

The heads of a group are packed into rows, as the kernel has them: row r of a key head is head
r % group of query r // group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..problem import AttentionProblem, TileShape, check_tile, row_tiles, split_of
from ..reference import compute_dtype
from ..reference.cache import cached, decode_problem, lengths_of, with_queries
from ..reference.inputs import check_scalars
from .call import Trace
from .packed import PackedCall, merge_program, packed_memory, split_program, unpacked
from .program import Memory, Place, Planned, record_programs, run_programs

BLOCK_N = 64  # keys in a tile
LONGEST_SPLIT = 2048  # keys of a split, where their number is left to us


@torch.no_grad()
def flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    num_splits: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of the newest queries over a cache, its keys cut into splits that are then merged.

    A split is a finished attention over some of the keys: (o, lse). Nothing passes between splits,
    so on a GPU they run side by side; here they run one after the other, all key heads at once.

    Shapes, semantics:
        as in `reference.decode_attention`.

    Args:
        num_splits: parts the visible keys of a sequence are cut into; None: by their length.

    Example:
        >>> cache = torch.randn(1, 2, 300, 16)
        >>> lens = torch.tensor([250], dtype=torch.int32)
        >>> q = torch.randn(1, 8, 16)
        >>> a, _ = flash_decode(q, cache, cache, seq_lens=lens, num_splits=1)
        >>> b, _ = flash_decode(q, cache, cache, seq_lens=lens, num_splits=5)
        >>> bool(torch.allclose(a, b, atol=1e-6))
        True
    """
    problem = decode_problem(
        q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
    )
    tile = TileShape(max(1, problem.group * problem.len_q), BLOCK_N)
    decode = _Decode.of(
        problem, tile, q, k_cache, v_cache, seq_lens, block_table, softcap, scale, sink, num_splits
    )
    run_programs(decode.programs(all_heads=True), decode.memory)
    return decode.outputs(q)


@torch.no_grad()
def trace_flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    num_splits: int | None = None,
    tile: TileShape | None = None,
    keep_values: bool = False,
) -> Trace:
    """The programs of `flash_decode` as the kernel has them, every load and store written down.

    A program of the phase "split" is (batch, key head, row tile, split), one of "merge" (batch, key
    head, row). Rows are packed, keys counted from the start of their sequence, paged or not.

    Args:
        tile: BLOCK_M packed rows by BLOCK_N keys; None: 64 by 64.
        keep_values: keep copies of the tiles on chip in the events.

    Returns:
        a Trace with outputs "O" and "lse"; its problem's len_k is what a cache can hold.

    Example:
        >>> cache, lens = torch.ones(2, 1, 100, 16), torch.tensor([90, 0], dtype=torch.int32)
        >>> trace = trace_flash_decode(torch.ones(2, 4, 16), cache, cache, seq_lens=lens, num_splits=2)
        >>> list(trace.ledger.by_phase)
        ['split', 'merge']
    """
    problem = decode_problem(
        q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
    )
    tile = TileShape() if tile is None else tile
    check_tile(tile)
    decode = _Decode.of(
        problem, tile, q, k_cache, v_cache, seq_lens, block_table, softcap, scale, sink, num_splits
    )
    programs = decode.programs(all_heads=False)
    events = list(record_programs(programs, decode.memory, keep_values=keep_values))
    o, lse = decode.outputs(q)
    return Trace(problem, tile, "decode", events, {"O": o, "lse": lse})


@dataclass(frozen=True)
class _Decode:
    """One call: `call` with the sizes of a whole cache, the lengths, and how to reach the keys."""

    call: PackedCall
    splits: int
    lengths: list[int]
    caches: tuple[Tensor, Tensor]
    block_table: Tensor | None

    @classmethod
    def of(
        cls,
        problem: AttentionProblem,
        tile: TileShape,
        q: Tensor,
        k_cache: Tensor,
        v_cache: Tensor,
        seq_lens: Tensor,
        block_table: Tensor | None,
        softcap: float | None,
        scale: float | None,
        sink: Tensor | None,
        num_splits: int | None,
    ) -> _Decode:
        scale, cap = check_scalars(problem, scale, softcap)
        low, high = problem.visible_keys(0, problem.len_q)
        splits = num_splits or max(1, -(-(high - low) // LONGEST_SPLIT))
        kind = compute_dtype(q.dtype)
        memory = packed_memory(problem, with_queries(q), splits)
        if sink is not None:
            heads = sink.to(q.device, kind).reshape(1, problem.heads_kv, 1, 1, problem.group)
            sink = heads.expand(-1, -1, -1, problem.len_q, -1).flatten(3)  # [1, Hkv, 1, R]
        call = PackedCall(problem, tile, memory, scale, cap, sink, kind, q.device)
        lengths = lengths_of(problem, seq_lens) if q.numel() else []
        return cls(call, splits, lengths, (k_cache, v_cache), block_table)

    @property
    def memory(self) -> Memory:
        return self.call.memory

    def outputs(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """o and lse in the form of `q`."""
        o, lse = unpacked(self.call.problem, self.memory)
        return (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])

    def programs(self, *, all_heads: bool) -> Iterator[Planned]:
        """Both launches: all splits of all sequences, then the merge where there is one."""
        rows, heads = self.memory.problem.len_q, self.memory.problem.heads_kv
        lots = [slice(0, heads)] if all_heads else [slice(h, h + 1) for h in range(heads)]
        for b in range(len(self.lengths)):
            own = self._sequence(b)
            for head in lots if heads else ():
                place = Place(slice(b, b + 1), head, slice(0, 1))
                yield from self._splits(own, place)
        if self.splits == 1 or not self.lengths:
            return
        if all_heads:
            everything = Place(slice(None), slice(None), slice(0, 1))
            yield Planned("merge", (), everything, merge_program(self.call, (0, rows)))
            return
        for b in range(len(self.lengths)):
            for head in lots:
                place = Place(slice(b, b + 1), head, slice(0, 1))
                for r in range(rows):
                    program = merge_program(self.call, (r, r + 1))
                    yield Planned("merge", (b, head.start, r), place, program)

    def _splits(self, own: PackedCall, place: Place) -> Iterator[Planned]:
        group = own.problem.group
        for index, rows in enumerate(row_tiles(self.memory.problem, own.tile)):
            seen = own.problem.visible_keys(rows[0] // group, (rows[1] - 1) // group + 1)
            for split in range(self.splits):
                keys = split_of(seen, own.tile.block_n, self.splits, split)
                part = None if self.splits == 1 else split
                program = split_program(own, rows, keys, place, part, first=split == 0)
                where = (place.batch.start, place.head.start, index, split)
                yield Planned("split", where, place, program)

    def _sequence(self, b: int) -> PackedCall:
        """The call as sequence `b` has it; its keys and values are laid out in memory."""
        problem, length = self.call.problem, self.lengths[b]
        for name, cache in zip(("K", "V"), self.caches, strict=True):
            x = cached(cache, b, length, self.block_table)[None, :, None]  # [1, Hkv, 1, Nk, D]
            self.memory.tensors[name] = x.expand(problem.batch, -1, -1, -1, -1)
        return replace(self.call, problem=replace(problem, batch=1, len_k=length))
