"""Arithmetic of decoding: one or a few new queries against a long cache of keys and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..errors import ArgumentError
from ..language import Text
from ..problem import AttentionProblem, TileShape
from .bill import Line, Traffic
from .work import forward_flops

_FLOAT32 = 4


def kv_cache_bytes(problem: AttentionProblem, *, layers: int = 1) -> int:
    """Bytes of the cache that holds K and V of every token, head and layer.

        B Hkv Nk (D + Dv) e layers

    Flash Attention does not change it; sharing heads (GQA) does.

    Example:
        >>> llama3_8b = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=8192, head_dim=128)
        >>> kv_cache_bytes(llama3_8b, layers=32) // 2**20  # MiB
        1024
    """
    if layers < 1:
        raise ArgumentError("layers", expected=">= 1", got=repr(layers))
    width = problem.head_dim + problem.head_dim_v
    return layers * problem.batch * problem.heads_kv * problem.len_k * width * problem.itemsize


def decode_traffic(
    problem: AttentionProblem,
    *,
    splits: int = 1,
    tile: TileShape | None = None,
    seq_lens: Sequence[int] | None = None,
) -> Traffic:
    """HBM bytes of one decoding step: each visible key and value is read once per kv head.

    The query heads of a group are packed into one tile, so they share the load. With `splits`, as
    many programs share one row's keys; each stores a float32 o and lse, and a second launch merges.

        split  reads Q splits times, K and V once for every tile of packed rows;  writes the parts
        merge  reads the parts;                                                   writes O, lse

    Not counted: what only says where to look, a length for each program and a page id for each key.

    Args:
        problem: len_q new positions (1 as a rule) against len_k keys in the cache.
        splits: parts of the key range that run side by side; 1 stores O and lse at once.
        tile: its BLOCK_M packed rows share a load of keys; None: all rows of a key head do.
        seq_lens: keys of each sequence; None: len_k for all.

    Example:
        >>> step = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=8192, head_dim=128)
        >>> decode_traffic(step)
        Traffic(reads=33562624, writes=8320)
        >>> decode_traffic(step, splits=8).phases["merge"]
        (132096, 8320)
    """
    if splits < 1:
        raise ArgumentError("splits", expected=">= 1", got=repr(splits))
    if seq_lens is None:
        seq_lens = [problem.len_k] * problem.batch
    if len(seq_lens) != problem.batch:
        raise ArgumentError(
            "seq_lens",
            expected=Text(f"{problem.batch} numbers", f"{problem.batch} 个数"),
            got=str(len(seq_lens)),
        )
    size = problem.itemsize
    rows = problem.batch * problem.heads_q * problem.len_q
    keys = sum(
        count * _keys_loaded(problem, length, tile) for length, count in Counter(seq_lens).items()
    )
    output = [("O", problem.head_dim_v * size), ("lse", _FLOAT32)]
    parts = [("O_parts", problem.head_dim_v * _FLOAT32), ("lse_parts", _FLOAT32)]
    lines = [
        Line("split", "read", "Q", splits * rows * problem.head_dim * size),
        Line("split", "read", "K", keys * problem.head_dim * size),
        Line("split", "read", "V", keys * problem.head_dim_v * size),
    ]
    if splits > 1:
        lines += [Line("split", "write", name, splits * rows * width) for name, width in parts]
        lines += [Line("merge", "read", name, splits * rows * width) for name, width in parts]
    last = "split" if splits == 1 else "merge"
    lines += [Line(last, "write", name, rows * width) for name, width in output]
    return Traffic.of(lines)


def _keys_loaded(problem: AttentionProblem, length: int, tile: TileShape | None) -> int:
    """Keys that all key heads of one sequence of `length` ask for."""
    own, group = replace(problem, len_k=length), problem.group
    rows = group * own.len_q
    height = tile.block_m if tile is not None else max(rows, 1)
    seen = (
        own.visible_keys(start // group, (min(start + height, rows) - 1) // group + 1)
        for start in range(0, rows, height)
    )
    return problem.heads_kv * sum(high - low for low, high in seen)


def decode_intensity(problem: AttentionProblem) -> float:
    """FLOPs per byte of one decoding step; 0 where nothing moves.

    About the number of query rows that share a key: 1 for one query and one head at 2 bytes an
    element, `group` times that with GQA. The ridge of a modern GPU lies in the hundreds, so
    decoding is bound by memory for one new token a sequence.

    Example:
        >>> step = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=8192, head_dim=128)
        >>> round(decode_intensity(step), 2)
        4.0
    """
    moved = decode_traffic(problem).total
    return forward_flops(problem) / moved if moved else 0.0
