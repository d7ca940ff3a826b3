"""How much a tiled loop visits, from the rule in `problem`, without walking over tiles."""

from __future__ import annotations

from typing import NamedTuple

from ..problem import AttentionProblem, TileShape


def tile_count(length: int, block: int) -> int:
    """Blocks needed to cover `length`, the last one ragged."""
    return -(-length // block)


class Streamed(NamedTuple):
    """What all tiles of one kind load of the other: how many tiles, and the elements they hold."""

    tiles: int
    elements: int


def streamed_keys(problem: AttentionProblem, tile: TileShape) -> Streamed:
    """Key tiles that the row tiles of one head visit, and the keys in them.

    Example:
        >>> streamed_keys(AttentionProblem(len_q=100, len_k=100, causal=True), TileShape(64, 64))
        Streamed(tiles=3, elements=164)
    """
    p = problem
    return _streamed(
        p.len_q, tile.block_m, p.len_k, tile.block_n, shift=p.diagonal, before=p.left, after=p.right
    )


def streamed_rows(problem: AttentionProblem, tile: TileShape) -> Streamed:
    """Query tiles that the column tiles of one head are visited by, and the rows in them."""
    p = problem
    return _streamed(
        p.len_k,
        tile.block_n,
        p.len_q,
        tile.block_m,
        shift=-p.diagonal,
        before=p.right,
        after=p.left,
    )


def _streamed(
    length: int,
    block: int,
    partners: int,
    partner_block: int,
    *,
    shift: int,
    before: int | None,
    after: int | None,
) -> Streamed:
    """Sums over the tiles of `length`, in closed form: a long sequence takes no longer than a short one.

    Position x meets partners from x + shift - before to x + shift + after, as in
    `problem.visible_keys`; whole tiles of partners count, cut only at the last one.
    """
    if not partners:
        return Streamed(0, 0)
    # a bound that is not there reaches everything
    left = length + partners if before is None else before
    right = length + partners if after is None else after
    whole, rest = divmod(length, block)
    grid = _Grid(partners, partner_block)
    found = grid.sums(whole, block, shift - left, block + shift + right)
    if rest:
        start = whole * block + shift
        found = [
            x + y
            for x, y in zip(found, grid.sums(1, 1, start - left, start + rest + right), strict=True)
        ]
    return Streamed(*found)


class _Grid(NamedTuple):
    """`length` elements in tiles of `block`, the last one ragged."""

    length: int
    block: int

    def sums(self, count: int, step: int, low: int, high: int) -> list[int]:
        """[tiles, elements] of `count` ranges that move by `step`: [low, high), clamped, on the grid."""
        n, last = self.length, tile_count(self.length, self.block)

        def upto(place: int, offset: int) -> int:
            """How many of the ranges have offset + i step below `place`."""
            return min(max(tile_count(place - offset, step), 0), count)

        first, stop = upto(1, high), upto(n, low)  # ranges before and after these meet nothing
        if first >= stop:
            return [0, 0]
        inside = max(min(upto(n, high), stop), first)  # from here on ranges end with the last tile
        moved = max(min(upto(0, low), stop), first)  # from here on they begin past the first
        ends = (
            _floors(first, inside, step, high + self.block - 1, self.block) + (stop - inside) * last
        )
        begins = _floors(moved, stop, step, low, self.block)
        # ranges that reach into the last tile hold what is there of it
        cut = stop - max(min(upto((last - 1) * self.block + 1, high), stop), first)
        missing = cut * (last * self.block - n)
        return [ends - begins, (ends - begins) * self.block - missing]


def _floors(first: int, stop: int, step: int, offset: int, by: int) -> int:
    """Sum of (offset + i step) // by over first <= i < stop; all of them 0 or more.

    In as many steps as Euclid's algorithm: see Graham, Knuth and Patashnik, Concrete Mathematics,
    section 3.5.
    """
    count, offset, total = max(stop - first, 0), offset + first * step, 0
    while count:
        total += count * (count - 1) // 2 * (step // by) + count * (offset // by)
        step, offset = step % by, offset % by
        most = step * count + offset
        # what is left counts the points under a line; turned on its side the line is flatter
        count, offset = divmod(most, by)
        step, by = by, step
    return total


def visited_tiles(problem: AttentionProblem, tile: TileShape) -> int:
    """Score tiles that one head's forward pass visits.

    Example:
        >>> causal = AttentionProblem(len_q=1024, len_k=1024, causal=True)
        >>> visited_tiles(causal, TileShape(128, 128))  # 8 + 7 + ... + 1 of 64
        36
    """
    return streamed_keys(problem, tile).tiles


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
