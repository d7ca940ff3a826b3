"""Arithmetic of decoding: one or a few new queries against a long cache of keys and values."""

from __future__ import annotations

from ..errors import ArgumentError
from ..problem import AttentionProblem
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


def decode_traffic(problem: AttentionProblem, *, splits: int = 1) -> Traffic:
    """HBM bytes of one decoding step: each visible key and value is read once per kv head.

    The query heads of a group are packed into one tile, so they share the load. With `splits`, as
    many programs share one row's keys; each stores a float32 o and lse, and a second launch merges.

    Args:
        problem: len_q new positions (1 as a rule) against len_k keys in the cache.
        splits: parts of the key range that run side by side.

    Example:
        >>> step = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=8192, head_dim=128)
        >>> decode_traffic(step)
        Traffic(reads=33562624, writes=8192)
        >>> decode_traffic(step, splits=8).phases["merge"]
        (132096, 8192)
    """
    if splits < 1:
        raise ArgumentError("splits", expected=">= 1", got=repr(splits))
    low, high = problem.visible_keys(0, problem.len_q)
    size = problem.itemsize
    kv = problem.batch * problem.heads_kv * (high - low) * size
    rows = problem.batch * problem.heads_q * problem.len_q
    phase = "decode" if splits == 1 else "partial"
    lines = [
        Line(phase, "read", "Q", splits * rows * problem.head_dim * size),
        Line(phase, "read", "K", kv * problem.head_dim),
        Line(phase, "read", "V", kv * problem.head_dim_v),
    ]
    if splits > 1:
        parts = splits * rows * _FLOAT32
        lines += [
            Line("partial", "write", "O_parts", parts * problem.head_dim_v),
            Line("partial", "write", "lse_parts", parts),
            Line("merge", "read", "O_parts", parts * problem.head_dim_v),
            Line("merge", "read", "lse_parts", parts),
        ]
    last = "decode" if splits == 1 else "merge"
    lines.append(Line(last, "write", "O", rows * problem.head_dim_v * size))
    return Traffic.of(lines)


def decode_intensity(problem: AttentionProblem) -> float:
    """FLOPs per byte of one decoding step; 0 where nothing moves.

    About the number of query rows that share a key: 1 for one query and one head at 2 bytes an
    element, `group` times that with GQA. The ridge of a modern GPU lies in the hundreds, so
    decoding is bound by memory whatever the kernel does.

    Example:
        >>> step = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=8192, head_dim=128)
        >>> round(decode_intensity(step), 2)
        4.0
    """
    moved = decode_traffic(problem).total
    return forward_flops(problem) / moved if moved else 0.0
