"""HBM bytes of the forward pass: standard attention, Flash Attention 2 and 1. No tensors.

Bytes are for the whole problem, all batches and heads. Every load is counted where a program
asks for it; whole tiles count even where their edge is masked; caches are ignored.
"""

from __future__ import annotations

from ..problem import AttentionProblem, TileShape
from .bill import Line, Traffic
from .spans import streamed_keys, streamed_rows, tile_count

#: Bytes of one element of lse, m, l and Delta: always float32.
STATISTIC = 4


def standard_forward_traffic(problem: AttentionProblem, tile: TileShape) -> Traffic:
    """HBM bytes of standard attention: three phases, each its own launch over tiles.

    S and P are as large as the score matrix and each crosses the boundary twice. Eager code
    computes every score and masks afterwards, so a causal mask saves nothing here.

        scores   reads Q once, K once for every row tile;  writes S
        softmax  reads S;                                   writes P
        output   reads P, V once for every row tile;        writes O

    Raises:
        ArgumentError: from `AttentionProblem` and `TileShape`, if a size is out of range.

    Example:
        >>> bill = standard_forward_traffic(AttentionProblem(len_q=1024, len_k=1024),
        ...                                 TileShape(128, 64))
        >>> bill
        Traffic(reads=6422528, writes=4325376)
        >>> bill.transfers, len(bill.tensors_read), len(bill.tensors_written)
        (6, 5, 3)
    """
    heads = problem.batch * problem.heads_q
    element = heads * problem.itemsize
    row_tiles = tile_count(problem.len_q, tile.block_m)
    scores = element * problem.len_q * problem.len_k
    return Traffic.of(
        [
            Line("scores", "read", "Q", element * problem.len_q * problem.head_dim),
            Line("scores", "read", "K", element * row_tiles * problem.len_k * problem.head_dim),
            Line("scores", "write", "S", scores),
            Line("softmax", "read", "S", scores),
            Line("softmax", "write", "P", scores),
            Line("output", "read", "P", scores),
            Line("output", "read", "V", element * row_tiles * problem.len_k * problem.head_dim_v),
            Line("output", "write", "O", element * problem.len_q * problem.head_dim_v),
        ]
    )


def compulsory_traffic(problem: AttentionProblem) -> Traffic:
    """HBM bytes that no forward pass can avoid: every tensor crosses once.

    What crosses if a cache answers every re-read of K and V. Keys that no query sees are left out.

    Example:
        >>> problem = AttentionProblem(len_q=1024, len_k=1024)
        >>> compulsory_traffic(problem)
        Traffic(reads=393216, writes=135168)
    """
    queries = problem.batch * problem.heads_q * problem.len_q
    first, stop = problem.visible_keys(0, problem.len_q)
    keys = problem.batch * problem.heads_kv * max(0, stop - first)
    element = problem.itemsize
    return Traffic.of(
        [
            Line("forward", "read", "Q", element * queries * problem.head_dim),
            Line("forward", "read", "K", element * keys * problem.head_dim),
            Line("forward", "read", "V", element * keys * problem.head_dim_v),
            Line("forward", "write", "O", element * queries * problem.head_dim_v),
            Line("forward", "write", "LSE", STATISTIC * queries),
        ]
    )


def flash_forward_traffic(problem: AttentionProblem, tile: TileShape) -> Traffic:
    """HBM bytes of the Flash Attention forward pass (loop order of version 2).

    Q, O and the log-sum-exp cross the boundary once. K and V are streamed again for every tile of
    queries, so a taller tile is what buys lower traffic. Tiles without a visible key are skipped.

        reads  = (D + T (D + Dv)) N e     T = N / BLOCK_M row tiles, no mask, Dv = D: (1 + 2T) N D e
        writes = Dv N e + 4 N             O, and one float32 log-sum-exp a row

    Example:
        >>> problem = AttentionProblem(len_q=1024, len_k=1024)
        >>> flash_forward_traffic(problem, TileShape(block_m=128))
        Traffic(reads=2228224, writes=135168)
        >>> flash_forward_traffic(problem, TileShape(block_m=1024)).reads  # K, V read once
        393216
    """
    heads = problem.batch * problem.heads_q
    element = heads * problem.itemsize
    keys = streamed_keys(problem, tile).elements
    return Traffic.of(
        [
            Line("forward", "read", "Q", element * problem.len_q * problem.head_dim),
            Line("forward", "read", "K", element * keys * problem.head_dim),
            Line("forward", "read", "V", element * keys * problem.head_dim_v),
            Line("forward", "write", "O", element * problem.len_q * problem.head_dim_v),
            Line("forward", "write", "lse", heads * STATISTIC * problem.len_q),
        ]
    )


def fa1_forward_traffic(problem: AttentionProblem, tile: TileShape) -> Traffic:
    """HBM bytes of the forward pass in the loop order of the first Flash Attention paper.

    The outer loop runs over K and V, the inner one over Q. K and V are read once, but no row is
    finished before the last K tile, so O, m and l go out and come back for every one of them.

    Assumptions: Algorithm 1 of "FlashAttention" (arXiv 2205.14135), one program per query head;
    O, m and l start as zeros and -inf written to HBM; m and l are float32.

    Example:
        >>> problem, tile = AttentionProblem(len_q=1024, len_k=1024), TileShape(128, 128)
        >>> fa1_forward_traffic(problem, tile).total / flash_forward_traffic(problem, tile).total
        1.5563...
    """
    heads = problem.batch * problem.heads_q
    element = heads * problem.itemsize
    statistics = heads * STATISTIC
    rows = streamed_rows(problem, tile).elements
    start = problem.len_q
    lines = [
        Line("init", "write", "O", element * start * problem.head_dim_v),
        Line("init", "write", "m", statistics * start),
        Line("init", "write", "l", statistics * start),
        Line("forward", "read", "K", element * problem.len_k * problem.head_dim),
        Line("forward", "read", "V", element * problem.len_k * problem.head_dim_v),
        Line("forward", "read", "Q", element * rows * problem.head_dim),
        Line("forward", "read", "O", element * rows * problem.head_dim_v),
        Line("forward", "write", "O", element * rows * problem.head_dim_v),
    ]
    for name in ("m", "l"):
        lines.append(Line("forward", "read", name, statistics * rows))
        lines.append(Line("forward", "write", name, statistics * rows))
    return Traffic.of(lines)
