"""The programs of decoding, on rows into which the query heads of a group are packed.

Row r of a key head is head r % group of query r // group, so a whole group shares a load of keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from ..problem import MERGED_PARTS, AttentionProblem, tile_kind
from ..reference import compute_dtype, visible_pairs
from .call import Call
from .program import Load, Memory, Place, Program, Span, Store, Work
from .state import SoftmaxState
from .streaming import stream_keys
from .trace import Step


@dataclass(frozen=True)
class PackedCall(Call):
    """A call whose rows are packed.

    Args:
        sink: [1, Hkv, 1, rows], or None.
    """

    def hidden(self, rows: Span, cols: Span) -> Tensor | None:
        """[rows, cols] of bool, true where a row may not look; None if it may everywhere."""
        group = self.problem.group
        queries = rows[0] // group, (rows[1] - 1) // group + 1
        if tile_kind(self.problem, *queries, *cols) == "full":
            return None
        seen = visible_pairs(self.problem, queries, cols, self.device).repeat_interleave(group, 0)
        return ~seen[rows[0] - queries[0] * group :][: rows[1] - rows[0]]


def packed_memory(problem: AttentionProblem, q: Tensor, splits: int) -> Memory:
    """Memory of one call: Q, [B, Nq, Hq, D], packed; empty outputs and, if splits > 1, parts."""
    batch, heads, group = problem.batch, problem.heads_kv, problem.group
    rows, width, kind = group * problem.len_q, problem.head_dim_v, compute_dtype(q.dtype)
    memory = Memory(replace(problem, heads_q=heads, len_q=rows))
    by_head = q.detach().reshape(batch, problem.len_q, heads, group, problem.head_dim)
    memory.tensors["Q"] = by_head.transpose(1, 2).reshape(batch, heads, 1, rows, problem.head_dim)
    sizes = (batch, heads, 1, rows)
    memory.tensors["O"] = q.new_empty(*sizes, width)
    memory.tensors["lse"] = q.new_empty(sizes, dtype=kind)
    if splits > 1:
        memory.tensors["O_parts"] = q.new_empty(*sizes, width, splits, dtype=kind)
        memory.tensors["lse_parts"] = q.new_empty(*sizes, splits, dtype=kind)
    return memory


def unpacked(problem: AttentionProblem, memory: Memory) -> tuple[Tensor, Tensor]:
    """o, [B, Nq, Hq, Dv], and lse, [B, Hq, Nq], from their packed rows."""
    sizes = (problem.batch, problem.heads_kv, problem.len_q, problem.group)
    o = memory.tensors["O"].reshape(*sizes, problem.head_dim_v).transpose(1, 2)
    lse = memory.tensors["lse"].reshape(sizes).transpose(1, 2)
    return o.flatten(2, 3), lse.flatten(2, 3).transpose(1, 2)


def split_program(
    call: PackedCall, rows: Span, keys: Span, place: Place, part: int | None, *, first: bool
) -> Program:
    """A tile of packed rows against one split of the keys; a finished attention over them.

    Args:
        part: where the split is stored among the parts; None: it is all there is.
        first: whether the split counts the sink.
    """
    q = yield Load(Step.LOAD_Q, "Q", rows)  # [..., M, D]
    sink = call.sink[:, place.head, :, slice(*rows)] if first and call.sink is not None else None
    state = SoftmaxState.empty(
        q.shape[:-1], call.problem.head_dim_v, sink=sink, dtype=call.dtype, device=call.device
    )
    tiles = (
        (start, min(start + call.tile.block_n, keys[1]))
        for start in range(*keys, call.tile.block_n)
    )
    state = yield from stream_keys(call, place, rows, q, state, tiles)
    o, lse = state.finish()
    if part is None:
        yield Store(Step.STORE, "O", rows, o)
        yield Store(Step.STORE, "lse", rows, lse)
    else:
        yield Store(Step.STORE, "O_parts", rows, o[..., None], (part, part + 1))
        yield Store(Step.STORE, "lse_parts", rows, lse[..., None], (part, part + 1))


def merge_program(call: PackedCall, rows: Span) -> Program:
    """What all splits found for some rows: a part's lse is its score, its o its value."""
    splits = call.memory.tensors["lse_parts"].shape[-1]
    state: SoftmaxState | None = None
    for start in range(0, splits, MERGED_PARTS):
        parts = start, min(start + MERGED_PARTS, splits)
        lse = yield Load(Step.LOAD_O, "lse_parts", rows, parts)  # [..., M, P]
        o = yield Load(Step.LOAD_O, "O_parts", rows, parts)  # [..., M, Dv, P]
        if state is None:
            state = SoftmaxState.empty(
                (*lse.shape[:-1], 1), o.shape[-2], dtype=call.dtype, device=call.device
            )
        state, alpha, p = state.fold(lse[..., None, :], o.mT)
        m, l, acc = state  # noqa: E741  (the letter of the formula)
        values = {"alpha": alpha, "p": p, "m": m, "l": l, "acc": acc}
        yield Work(Step.MERGE, rows, parts, values)
    assert state is not None
    o, lse = state.finish()
    yield Store(Step.STORE, "O", rows, o.squeeze(-2))
    yield Store(Step.STORE, "lse", rows, lse.squeeze(-1))
