"""HBM bytes of the backward pass, standard and Flash Attention. No tensors.

The conventions are those of `forward`.
"""

from __future__ import annotations

from ..problem import AttentionProblem, TileShape
from .bill import Line, Traffic
from .forward import STATISTIC
from .spans import streamed_keys, streamed_rows, tile_count


def flash_backward_traffic(problem: AttentionProblem, tile: TileShape) -> Traffic:
    """HBM bytes of the Flash Attention backward pass in three launches, without atomics.

    P is never stored: each launch that needs it rebuilds it from Q, K and the log-sum-exp.

        delta  per row tile: reads O, dO; writes Delta = rowsum(dO * O)
        dkdv   per column tile: keeps K, V; streams Q, dO, lse, Delta of all heads that share them;
               writes dK, dV once
        dq     per row tile: keeps Q, dO, lse, Delta; streams K, V; writes dQ once

    Assumptions: both big launches use the same tile; the scores are computed twice (seven matrix
    products instead of five), which is the price of needing no atomic additions.

    Example:
        >>> bill = flash_backward_traffic(AttentionProblem(len_q=1024, len_k=1024),
        ...                               TileShape(128, 128))
        >>> bill
        Traffic(reads=5054464, writes=397312)
        >>> sorted(bill.phases)
        ['delta', 'dkdv', 'dq']
    """
    heads = problem.batch * problem.heads_q
    element, statistic = heads * problem.itemsize, heads * STATISTIC
    kv_element = problem.batch * problem.heads_kv * problem.itemsize
    len_q, len_k, dim, dim_v = problem.len_q, problem.len_k, problem.head_dim, problem.head_dim_v
    rows = streamed_rows(problem, tile).elements
    keys = streamed_keys(problem, tile).elements
    return Traffic.of(
        [
            Line("delta", "read", "O", element * len_q * dim_v),
            Line("delta", "read", "dO", element * len_q * dim_v),
            Line("delta", "write", "Delta", statistic * len_q),
            Line("dkdv", "read", "K", kv_element * len_k * dim),
            Line("dkdv", "read", "V", kv_element * len_k * dim_v),
            Line("dkdv", "read", "Q", element * rows * dim),
            Line("dkdv", "read", "dO", element * rows * dim_v),
            Line("dkdv", "read", "lse", statistic * rows),
            Line("dkdv", "read", "Delta", statistic * rows),
            Line("dkdv", "write", "dK", kv_element * len_k * dim),
            Line("dkdv", "write", "dV", kv_element * len_k * dim_v),
            Line("dq", "read", "Q", element * len_q * dim),
            Line("dq", "read", "dO", element * len_q * dim_v),
            Line("dq", "read", "lse", statistic * len_q),
            Line("dq", "read", "Delta", statistic * len_q),
            Line("dq", "read", "K", element * keys * dim),
            Line("dq", "read", "V", element * keys * dim_v),
            Line("dq", "write", "dQ", element * len_q * dim),
        ]
    )


def standard_backward_traffic(problem: AttentionProblem, tile: TileShape) -> Traffic:
    """HBM bytes of the standard backward pass, which kept P from the forward pass.

    Five launches over tiles, none of which skips anything. dP and dS are as large as P; together
    the three cross the boundary seven times.

        grad_v   per column tile: streams P, dO;  writes dV
        grad_p   per row tile: keeps dO; streams V;  writes dP
        softmax  per row tile: reads P, dP;  writes dS = P * (dP - rowsum(P * dP))
        grad_q   per row tile: streams dS, K;  writes dQ
        grad_k   per column tile: streams dS, Q;  writes dK

    Assumptions: one program adds up dK and dV over the query heads that share a key/value head;
    eager code that repeats K and V per head moves more.

    Example:
        >>> bill = standard_backward_traffic(AttentionProblem(len_q=1024, len_k=1024),
        ...                                  TileShape(128, 128))
        >>> bill.by_tensor["P"], bill.by_tensor["dP"], bill.by_tensor["dS"]
        ((4194304, 0), (2097152, 2097152), (4194304, 2097152))
    """
    heads = problem.batch * problem.heads_q
    element = heads * problem.itemsize
    kv_element = problem.batch * problem.heads_kv * problem.itemsize
    len_q, len_k, dim, dim_v = problem.len_q, problem.len_k, problem.head_dim, problem.head_dim_v
    row_tiles = tile_count(len_q, tile.block_m)
    column_tiles = tile_count(len_k, tile.block_n)
    scores = element * len_q * len_k
    return Traffic.of(
        [
            Line("grad_v", "read", "P", scores),
            Line("grad_v", "read", "dO", element * column_tiles * len_q * dim_v),
            Line("grad_v", "write", "dV", kv_element * len_k * dim_v),
            Line("grad_p", "read", "dO", element * len_q * dim_v),
            Line("grad_p", "read", "V", element * row_tiles * len_k * dim_v),
            Line("grad_p", "write", "dP", scores),
            Line("softmax", "read", "P", scores),
            Line("softmax", "read", "dP", scores),
            Line("softmax", "write", "dS", scores),
            Line("grad_q", "read", "dS", scores),
            Line("grad_q", "read", "K", element * row_tiles * len_k * dim),
            Line("grad_q", "write", "dQ", element * len_q * dim),
            Line("grad_k", "read", "dS", scores),
            Line("grad_k", "read", "Q", element * column_tiles * len_q * dim),
            Line("grad_k", "write", "dK", kv_element * len_k * dim),
        ]
    )
