"""What is computed and how it is cut: sizes, mask and tile shape, validated once. No tensors.

Also the one rule for which keys a block of queries can see. The I/O model, the tiled algorithms
and the kernels all take their loop bounds from here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from .errors import ArgumentError
from .language import Text

Dtype = Literal["float16", "bfloat16", "float32", "float64"]
ITEMSIZE: dict[str, int] = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
MAX_HEAD_DIM = 256
#: Finished parts of a row that the merge of decoding holds at a time.
MERGED_PARTS = 64


def _whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """`value` as an int: whole numbers of any type, as np.int64, but no bool."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # ValueError: a tensor of several
        number = None
    if number is not None and number >= least and (most is None or number <= most):
        return number
    top = "" if most is None else f"..{most}"
    raise ArgumentError(
        name,
        expected=Text(
            f"a whole number {least}{top or ' or more'}", f"整数 {least}{top or ' 或更大'}"
        ),
        got=repr(value),
    )


def yes_or_no(name: str, value: object) -> bool:
    """`value` as a bool: True, False, 1, 0 and their like; "no" and [False] are neither."""
    plain = getattr(value, "item", lambda: value)() if getattr(value, "ndim", 0) == 0 else value
    if isinstance(plain, int) and plain in (0, 1):
        return bool(plain)
    raise ArgumentError(
        name,
        expected=Text("True or False", " True 或 False"),
        got=" ".join(repr(value).split())[:60],
    )


@dataclass(frozen=True)
class AttentionProblem:
    """One attention call: its sizes and its mask.

    Query row i stands at key position `i + diagonal`, with `diagonal = len_k - len_q`: the last
    query sees the last key (bottom-right alignment).

    Shapes:
        q: [batch, heads_q, len_q, head_dim]; k: [batch, heads_kv, len_k, head_dim];
        v: [batch, heads_kv, len_k, head_dim_v]; o: [batch, heads_q, len_q, head_dim_v];
        lse: [batch, heads_q, len_q], float32.

    Args:
        window: (left, right), keys from position - left to position + right; -1 is unbounded.

    Raises:
        ArgumentError: if a size is negative, a head dimension is outside 1..256, heads_q is not a
            multiple of heads_kv, or a window bound is below -1.

    Example:
        >>> AttentionProblem(1, 8, 2, 100, 300, 64, causal=True).diagonal
        200
    """

    batch: int = 1
    heads_q: int = 1
    heads_kv: int = 1
    len_q: int = 1
    len_k: int = 1
    head_dim: int = 64
    head_dim_v: int = 0  # 0: the same as head_dim
    dtype: Dtype = "float16"
    causal: bool = False
    window: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.head_dim_v == 0:
            self._set("head_dim_v", self.head_dim)
        for name in ("batch", "heads_q", "heads_kv", "len_q", "len_k"):
            self._set(name, _whole(name, getattr(self, name), 0))
        self._set("head_dim", _whole("head_dim", self.head_dim, 1, MAX_HEAD_DIM))
        self._set("head_dim_v", _whole("head_dim_v", self.head_dim_v, 1, MAX_HEAD_DIM))
        self._set("causal", yes_or_no("causal", self.causal))
        if not isinstance(self.dtype, str) or self.dtype not in ITEMSIZE:
            raise ArgumentError("dtype", expected=" | ".join(ITEMSIZE), got=repr(self.dtype))
        if self.heads_q != self.heads_kv and (
            self.heads_kv == 0 or self.heads_q % self.heads_kv != 0
        ):
            raise ArgumentError(
                "heads_q",
                expected=Text(
                    f"a multiple of heads_kv = {self.heads_kv}",
                    f"heads_kv = {self.heads_kv} 的整数倍",
                ),
                got=str(self.heads_q),
            )
        if self.window is not None:
            if not isinstance(self.window, (tuple, list)) or len(self.window) != 2:
                raise ArgumentError("window", expected="(left, right)", got=repr(self.window))
            left, right = self.window
            self._set(
                "window", (_whole("window left", left, -1), _whole("window right", right, -1))
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def itemsize(self) -> int:
        """Bytes of one element of q, k, v and o."""
        return ITEMSIZE[self.dtype]

    @property
    def group(self) -> int:
        """Query heads that share one key/value head."""
        return self.heads_q // self.heads_kv if self.heads_kv else 0

    @property
    def diagonal(self) -> int:
        """Key position of query row 0."""
        return self.len_k - self.len_q

    @property
    def left(self) -> int | None:
        """How many keys before its own position a query may see; None: all."""
        return None if self.window is None or self.window[0] < 0 else self.window[0]

    @property
    def right(self) -> int | None:
        """How many keys after its own position a query may see; None: all."""
        right = None if self.window is None or self.window[1] < 0 else self.window[1]
        return 0 if self.causal else right

    def visible_keys(self, start_m: int, stop_m: int) -> tuple[int, int]:
        """Half-open range of keys that at least one query of rows [start_m, stop_m) can see.

        An empty range comes back as (k, k). Rows past len_q are not counted.

        Example:
            >>> AttentionProblem(len_q=4, len_k=6, causal=True).visible_keys(0, 2)
            (0, 4)
        """
        stop_m = min(stop_m, self.len_q)
        if start_m >= stop_m or self.len_k == 0:
            return 0, 0
        low = 0 if self.left is None else start_m + self.diagonal - self.left
        high = self.len_k if self.right is None else stop_m - 1 + self.diagonal + self.right + 1
        low, high = max(0, low), min(self.len_k, high)
        return (low, high) if low < high else (min(low, self.len_k), min(low, self.len_k))

    def visible_rows(self, start_n: int, stop_n: int) -> tuple[int, int]:
        """Half-open range of query rows that can see at least one key of [start_n, stop_n)."""
        stop_n = min(stop_n, self.len_k)
        if start_n >= stop_n or self.len_q == 0:
            return 0, 0
        low = 0 if self.right is None else start_n - self.diagonal - self.right
        high = self.len_q if self.left is None else stop_n - 1 - self.diagonal + self.left + 1
        low, high = max(0, low), min(self.len_q, high)
        return (low, high) if low < high else (min(low, self.len_q), min(low, self.len_q))

    def sees(self, row: int, key: int) -> bool:
        """Whether query `row` may see `key`, both inside their lengths."""
        offset = key - (row + self.diagonal)
        return (self.left is None or offset >= -self.left) and (
            self.right is None or offset <= self.right
        )


_new: Callable[..., AttentionProblem] = AttentionProblem
_known = lru_cache(maxsize=4096)(_new)


def known_problem(
    *sizes_and_dtype: Any, causal: bool = False, window: tuple[int, int] | None = None
) -> AttentionProblem:
    """`AttentionProblem(*sizes_and_dtype, causal, window)`, checked once for equal arguments.

    A model calls with the same sizes again and again, and a kernel is as short as the check.

    Raises:
        ArgumentError: as `AttentionProblem`.
    """
    plain = window is None or (type(window) is tuple and {*map(type, window)} == {int})
    if plain and type(causal) is bool:
        return _known(*sizes_and_dtype, causal, window)
    return _new(*sizes_and_dtype, causal, window)


@dataclass(frozen=True)
class TileShape:
    """How the score matrix is cut: BLOCK_M rows of Q by BLOCK_N rows of K and V.

    Raises:
        ArgumentError: if a side is smaller than 1.
    """

    block_m: int = 64
    block_n: int = 64

    def __post_init__(self) -> None:
        for name in ("block_m", "block_n"):
            object.__setattr__(self, name, _whole(name, getattr(self, name), 1))


def check_tile(tile: object) -> None:
    """Refuse a pair of numbers, or None, where a tile is meant.

    Raises:
        ArgumentError: if `tile` is no TileShape.
    """
    if not isinstance(tile, TileShape):
        expected = "TileShape(block_m, block_n)"
        raise ArgumentError("tile", expected=expected, got=" ".join(repr(tile).split())[:60])


def row_tiles(problem: AttentionProblem, tile: TileShape) -> Iterator[tuple[int, int]]:
    """Row ranges [start, stop) of the blocks of queries, the last one cut at len_q."""
    for start in range(0, problem.len_q, tile.block_m):
        yield start, min(start + tile.block_m, problem.len_q)


def key_tiles(
    problem: AttentionProblem, tile: TileShape, start_m: int, stop_m: int
) -> Iterator[tuple[int, int]]:
    """Key ranges [start, stop) of the tiles that rows [start_m, stop_m) must visit, in order.

    Tiles lie on the grid of multiples of BLOCK_N; the last is cut at len_k.
    """
    low, high = problem.visible_keys(start_m, stop_m)
    for start in range(low - low % tile.block_n, high, tile.block_n):
        yield start, min(start + tile.block_n, problem.len_k)


def column_tiles(problem: AttentionProblem, tile: TileShape) -> Iterator[tuple[int, int]]:
    """Key ranges [start, stop) of all blocks of keys, the last one cut at len_k."""
    for start in range(0, problem.len_k, tile.block_n):
        yield start, min(start + tile.block_n, problem.len_k)


def query_tiles(
    problem: AttentionProblem, tile: TileShape, start_n: int, stop_n: int
) -> Iterator[tuple[int, int]]:
    """Row ranges [start, stop) of the query tiles that keys [start_n, stop_n) must visit."""
    low, high = problem.visible_rows(start_n, stop_n)
    for start in range(low - low % tile.block_m, high, tile.block_m):
        yield start, min(start + tile.block_m, problem.len_q)


def split_of(keys: tuple[int, int], block_n: int, splits: int, index: int) -> tuple[int, int]:
    """The keys of split `index`, where programs share the range `keys` in whole tiles.

    Tiles start at the first visible key, not on the grid. Late splits may be empty, (k, k).

    Example:
        >>> [split_of((5, 40), 16, 2, i) for i in range(2)]
        [(5, 37), (37, 40)]
    """
    low, high = keys
    tiles = -(-max(high - low, 0) // block_n)
    span = -(-tiles // splits) * block_n
    start = min(low + index * span, high)
    return start, min(start + span, high)


TileKind = Literal["full", "edge", "skipped"]


def tile_kind(
    problem: AttentionProblem, start_m: int, stop_m: int, start_n: int, stop_n: int
) -> TileKind:
    """Whether every pair of a tile is visible ("full"), some are ("edge") or none ("skipped")."""
    low, high = problem.visible_keys(start_m, stop_m)
    if stop_n <= low or start_n >= high:
        return "skipped"
    first, last = min(stop_m, problem.len_q) - 1, start_m  # the rows that see least on each side
    full = problem.sees(first, start_n) and problem.sees(last, min(stop_n, problem.len_k) - 1)
    return "full" if full else "edge"
