"""A recorded run of the decode kernels as the trace events that `tiled` yields.

Addresses are turned into packed rows and into keys of a sequence, so that a trace reads the same
whether the cache is contiguous or paged. What only says where to look is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..problem import AttentionProblem, TileShape
from ..tiled.trace import Event, Step
from . import runtime
from .decode_call import decode_problem_of
from .decode_configuration import choose_decode, packed_rows
from .flash_decode import flash_decode
from .recording import indices_of, place_of, span_of
from .tracing import KernelTrace

_PHASES = {"flash_decode_kernel": "split", "merge_parts_kernel": "merge"}
_TENSORS = {
    "q_ptr": "Q", "k_ptr": "K", "v_ptr": "V", "o_ptr": "O", "lse_ptr": "lse",
    "o_parts_ptr": "O_parts", "lse_parts_ptr": "lse_parts",
}  # fmt: skip


def trace_flash_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    *,
    seq_lens: torch.Tensor,
    block_table: torch.Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    num_splits: int | None = None,
    tile: TileShape | None = None,
    **options: Any,
) -> KernelTrace:
    """Run the real kernels and return their loads and stores as trace events, by program.

    `tiled.trace_flash_decode` yields the same loads and stores in the same order. A page that a
    row of the table lists twice is taken for the first of its places.

    Shapes:
        q: [B, Hq, D] or [B, Nq, Hq, D]; the rest as in `flash_decode`.

    Args:
        options: further keywords of `flash_decode`.

    Raises:
        BackendUnavailable: where no kernel can run.
    """
    keywords = {"seq_lens": seq_lens, "block_table": block_table, "causal": causal, **options}
    keywords |= {"window": window, "num_splits": num_splits, "tile": tile}
    if runtime.require() != "interpreter":
        from .recording_child import record_in_child

        trace: KernelTrace = record_in_child(
            trace_flash_decode, (q, k_cache, v_cache), keywords
        ).result
        return trace
    from .interpreter_memory import observed

    new = q if q.ndim == 4 else q[:, None]
    problem = decode_problem_of(
        new, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window
    )
    plan = choose_decode(problem, q.device, tile=tile, num_splits=num_splits)
    reader = _Reader.of(problem, plan.launch.tile, plan.splits, block_table, len(k_cache))
    with observed(reader.note):
        o, lse = flash_decode(new, k_cache, v_cache, **keywords)
    o, lse = (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])
    phases = list(_PHASES.values())
    events = sorted(reader.events, key=lambda event: (phases.index(event.phase), event.program))
    return KernelTrace(problem, plan.launch.tile, "decode", events, {"O": o, "lse": lse})


@dataclass(frozen=True)
class _Reader:
    """Turns accesses of one call into events.

    Args:
        pages: of each sequence, page id -> its first place in the block table.
        page: slots of a page, 0 for a contiguous cache.
    """

    problem: AttentionProblem
    tile: TileShape
    splits: int
    pages: Sequence[Mapping[int, int]]
    page: int
    events: list[Event]

    @classmethod
    def of(
        cls,
        problem: AttentionProblem,
        tile: TileShape,
        splits: int,
        block_table: torch.Tensor | None,
        blocks: int,
    ) -> _Reader:
        if block_table is None:
            return cls(problem, tile, splits, [], 0, [])
        rows = block_table.clamp(0, max(blocks - 1, 0)).tolist()
        places = [{block: at for at, block in reversed(list(enumerate(row)))} for row in rows]
        return cls(problem, tile, splits, places, problem.len_k // max(len(rows[0]), 1), [])

    def note(
        self, launch: Any, kind: Any, argument: Any, program: Any, offsets: np.ndarray, size: int,
        _: Any,
    ) -> None:  # fmt: skip
        """One load or store; those of lengths, page ids and sinks are no events."""
        if argument.name not in _TENSORS:
            return
        phase, name = _PHASES[launch.kernel], _TENSORS[argument.name]
        indices = indices_of(argument.tensor, offsets // size)
        where = self._program(phase, int(program[0]))
        step, _ = place_of(launch.code)
        if name in ("K", "V"):
            head, box = self._keys(where[0], indices)
        else:
            if phase == "split" and name in ("O", "lse"):
                name += "_parts" if self.splits > 1 else ""
                indices = indices if self.splits > 1 else indices[1:]  # an axis of one split
            head, box = self._rows(name, indices)
        self.events.append(
            Event(phase, Step(step), kind, where, name, box, head, offsets.size * size)
        )

    def _program(self, phase: str, pid: int) -> tuple[int, ...]:
        p = self.problem
        if phase == "merge":
            pid, head = divmod(pid, p.heads_q)
            b, query = divmod(pid, p.len_q)
            return b, head // p.group, query * p.group + head % p.group
        pid, split = divmod(pid, self.splits)
        pid_bh, index = divmod(pid, -(-packed_rows(p) // self.tile.block_m))
        return *divmod(pid_bh, p.heads_kv), index, split

    def _rows(self, name: str, indices: list[np.ndarray]) -> tuple[tuple[int, int], Any]:
        """((batch, key head), box) of a tensor [B, Nq, Hq, ..], or of [parts, B, Nq, Hq, ..]."""
        group = self.problem.group
        part = indices.pop(0) if name.endswith("_parts") else None
        b, query, head, *inner = indices
        cols = part if part is not None else inner[0] if inner else np.zeros_like(b)
        box = span_of(query * group + head % group), span_of(cols)
        return (int(b[0]), int(head[0]) // group), box

    def _keys(self, b: int, indices: list[np.ndarray]) -> tuple[tuple[int, int], Any]:
        """((batch, key head), box) of a cache [B, Hkv, N, ..] or [blocks, Hkv, page, ..]."""
        block, head, key, inner = indices
        if self.page:
            at = self.pages[b]
            key = np.vectorize(lambda number: at[number], otypes=[int])(block) * self.page + key
        else:
            b = int(block[0])
        return (b, int(head[0])), (span_of(key), span_of(inner))
