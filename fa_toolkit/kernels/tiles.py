"""What the attention kernels share: pointers of a tile, which tiles and pairs a mask lets through.

Device functions only; nothing here launches.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(math.log2(math.e))
LN_2: tl.constexpr = tl.constexpr(math.log(2))
#: The parts of a loop over tiles, in order: cut by the near bound, whole, cut by the far bound.
WHOLE: tl.constexpr = tl.constexpr(1)


@triton.jit
def tile_ptrs(base_ptr, rows, cols, stride_row, stride_col):
    """Pointers of the tile rows x cols. Offsets in 64 bits: a row times a stride passes 2^31."""
    return (
        base_ptr + rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col
    )


@triton.jit
def place_of_program(tiles, heads, SIDE: tl.constexpr, ON_AXES: tl.constexpr):
    """(tile, b, h) of this program; b and h in 64 bits, since they are multiplied by strides.

    The grid has an axis for each of them, or one for all, tiles fastest; see `call.grid_of`.
    SIDE heads take turns: the first tile of each, the second of each, and so on.
    """
    turn, side_by_side, b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if not ON_AXES:
        turn, rest = turn % (tiles * SIDE), turn // (tiles * SIDE)
        side_by_side, b = rest % (heads // SIDE), rest // (heads // SIDE)
    h = side_by_side * SIDE + turn % SIDE
    return turn // SIDE, b.to(tl.int64), h.to(tl.int64)


@triton.jit
def load_rows(desc, b, h, start, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Rows from `start` of one head, [ROWS, WIDTH], by the copy engine; 0 past either end."""
    return desc.load([b.to(tl.int32), h.to(tl.int32), start, 0]).reshape(ROWS, WIDTH)


@triton.jit
def store_rows(desc, b, h, start, rows, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Rows from `start` of one head, [ROWS, WIDTH], by the copy engine; nothing past either end."""
    desc.store([b.to(tl.int32), h.to(tl.int32), start, 0], rows.reshape(1, 1, ROWS, WIDTH))


@triton.jit
def load_statistics(desc, b, h, start, ROWS: tl.constexpr):
    """One number a row, [ROWS], by the copy engine; 0 past the end."""
    return desc.load([b.to(tl.int32), h.to(tl.int32), start]).reshape(ROWS)


@triton.jit
def sequence_span(cu_ptr, b, sequences, tokens):
    """(start, length) of packed sequence b, kept inside the tokens whatever the offsets say.

    Sequence number `sequences` is that of the tokens past the last offset, which belong to nobody.
    """
    start = tl.minimum(tl.maximum(tl.load(cu_ptr + b), 0), tokens)
    stop = tl.load(cu_ptr + b + 1, mask=b < sequences, other=tokens)
    stop = tl.minimum(tl.maximum(stop, start), tokens)
    return start, stop - start


@triton.jit
def sequence_at(cu_ptr, slot, sequences, tokens, BLOCK: tl.constexpr):
    """(b, tile, start, length): the packed sequence that a slot belongs to, and its tile of it.

    The slots of sequence b begin at cu[b] // BLOCK + b, which leaves each sequence enough of them
    for its tiles; so no table has to be made, and the longest length need not be known.
    """
    b = tl.full([], 0, tl.int32)
    above = b + sequences + 1
    while above - b > 1:
        middle = (b + above) // 2
        begins = tl.minimum(tl.maximum(tl.load(cu_ptr + middle), 0), tokens) // BLOCK + middle
        b = tl.where(begins <= slot, middle, b)
        above = tl.where(begins <= slot, above, middle)
    start, length = sequence_span(cu_ptr, b, sequences, tokens)
    tile = tl.maximum(slot - (start // BLOCK + b), 0)
    return b, tile, start, length


@triton.jit
def tiles_seen(
    start,
    stop,
    shift,
    before,
    after,
    length,
    HAS_BEFORE: tl.constexpr,
    HAS_AFTER: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Bounds of the tiles that positions start..stop-1 meet among `length` partners.

    Position x meets partners from x + shift - before to x + shift + after. On the grid of BLOCK:
    low..high holds all tiles that any position meets, full_low..full_high those that each position
    meets whole. `problem.visible_keys` is the same rule.
    """
    low = tl.full([], 0, tl.int32)
    full_low, high, full_high = low, low + length, low + length
    if HAS_BEFORE:
        low = tl.maximum(start + shift - before, 0) // BLOCK * BLOCK
        full_low = tl.cdiv(tl.maximum(stop - 1 + shift - before, 0), BLOCK) * BLOCK
    if HAS_AFTER:
        high = tl.minimum(stop + shift + after, length)
        full_high = tl.maximum(tl.minimum(start + shift + after + 1, length), 0)
    full_high = full_high // BLOCK * BLOCK
    if HAS_BEFORE:
        full_high = tl.maximum(full_high, low)
        full_low = tl.maximum(tl.minimum(full_low, full_high), low)
    return low, full_low, full_high, high


@triton.jit
def partners_seen(
    places, shift, before, after, length, HAS_BEFORE: tl.constexpr, HAS_AFTER: tl.constexpr
):
    """(first, last) partner that each of `places` meets among `length`, as in `tiles_seen`."""
    first = tl.zeros([1], tl.int32)
    last = first + (length - 1)
    if HAS_BEFORE:
        first = places + (shift - before)
    if HAS_AFTER:
        last = tl.minimum(places + (shift + after), last)
    return first, last


@triton.jit
def visible_pairs(partners, inside, first, last, HAS_BEFORE: tl.constexpr, HAS_AFTER: tl.constexpr):
    """The pairs that a mask lets through; the arguments broadcast. `inside`: partners that exist.

    None past `last` exists, so where there is a bound one comparison serves both.
    """
    if HAS_BEFORE or HAS_AFTER:
        inside = partners <= last
    if HAS_BEFORE:
        inside = inside & (partners >= first)
    return inside


@triton.jit
def tanh(x):
    """tanh in float32: a polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel."""
    square = x * x
    p = square * -5.70498872745e-3 + 2.06390887954e-2
    p = square * p - 5.37397155531e-2
    p = square * p + 1.33314422036e-1
    small = x + x * square * (square * p - 3.33332819422e-1)
    large = 1.0 - 2.0 / (tl.exp2(tl.abs(x) * (2.0 * LOG2_E)) + 1.0)
    return tl.where(tl.abs(x) < 0.625, small, tl.where(x < 0.0, -large, large))


@triton.jit
def probabilities(s, lse, softcap, HAS_SOFTCAP: tl.constexpr):
    """(p, slope) from scaled products: p = e^(s - lse); slope, of the soft cap, 1 without one."""
    slope = 1.0
    if HAS_SOFTCAP:
        s = tanh(s)
        slope = 1.0 - s * s
        s = s * (softcap * LOG2_E)
    return tl.exp2(s - lse), slope


@triton.jit
def kept(seed, b, h, rows, cols, threshold):
    """Which entries dropout keeps: a function of the seed and of (b, h, row, key) alone."""
    head, batch = h.to(tl.uint32), b.to(tl.uint32)
    random, _, _, _ = tl.philox(seed, cols.to(tl.uint32), rows.to(tl.uint32), head, batch)
    # 31 bits are compared, so that the threshold is an int32
    return (random >> 1).to(tl.int32) >= threshold
