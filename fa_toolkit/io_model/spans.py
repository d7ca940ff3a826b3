"""How much a tiled loop visits, from the rule in `problem`, without walking over tiles."""

from __future__ import annotations

from collections.abc import Iterator

from ..problem import AttentionProblem, TileShape, column_tiles, row_tiles


def tile_count(length: int, block: int) -> int:
    """Blocks needed to cover `length`, the last one ragged."""
    return -(-length // block)


def on_grid(low: int, high: int, block: int, length: int) -> tuple[int, int]:
    """(tiles, elements) that a loop over [low, high) visits on a grid of multiples of `block`.

    Whole tiles count, cut only at `length`, exactly as `key_tiles` yields them.
    """
    if low >= high:
        return 0, 0
    start = low - low % block
    tiles = tile_count(high - start, block)
    return tiles, min(start + tiles * block, length) - start


def key_spans(problem: AttentionProblem, tile: TileShape) -> Iterator[tuple[int, int, int]]:
    """(rows, tiles, keys) of each row tile: its height, key tiles visited, keys they hold."""
    for start, stop in row_tiles(problem, tile):
        low, high = problem.visible_keys(start, stop)
        yield stop - start, *on_grid(low, high, tile.block_n, problem.len_k)


def query_spans(problem: AttentionProblem, tile: TileShape) -> Iterator[tuple[int, int, int]]:
    """(keys, tiles, rows) of each column tile: its width, query tiles visited, rows they hold."""
    for start, stop in column_tiles(problem, tile):
        low, high = problem.visible_rows(start, stop)
        yield stop - start, *on_grid(low, high, tile.block_m, problem.len_q)


def visited_tiles(problem: AttentionProblem, tile: TileShape) -> int:
    """Score tiles that one head's forward pass visits.

    Example:
        >>> causal = AttentionProblem(len_q=1024, len_k=1024, causal=True)
        >>> visited_tiles(causal, TileShape(128, 128))  # 8 + 7 + ... + 1 of 64
        36
    """
    return sum(tiles for _, tiles, _ in key_spans(problem, tile))


def visible_pairs(problem: AttentionProblem) -> int:
    """Pairs (query, key) of one head that the mask lets through, in closed form.

    Row i sees the keys from i + diagonal - left to i + diagonal + right, cut at both ends, so the
    count is a difference of two sums of clamped straight lines.

    Example:
        >>> visible_pairs(AttentionProblem(len_q=4, len_k=6, causal=True))  # 3 + 4 + 5 + 6
        18
    """
    right = problem.len_k if problem.right is None else problem.diagonal + problem.right + 1
    upto = (
        problem.len_q * problem.len_k
        if problem.right is None
        else _below(problem.len_q, problem.len_k, right)
    )
    if problem.left is None:
        return upto
    return upto - _below(problem.len_q, problem.len_k, problem.diagonal - problem.left)


def _below(rows: int, keys: int, offset: int) -> int:
    """Sum over i < rows of i + offset clamped to 0..keys."""
    first = min(max(-offset, 0), rows)  # rows before it see nothing
    full = min(max(keys - offset, 0), rows)  # rows from it on see every key
    ramp = (full - first) * (first + full - 1) // 2 + (full - first) * offset
    return ramp + (rows - full) * keys
