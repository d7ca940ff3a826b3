"""Where the keys of a decode call lie and which of them a tile of packed rows can see.

Device functions only; nothing here launches.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def locate(cols, stop, b, table_ptr, stride_tn, pages, PAGE_SIZE: tl.constexpr):
    """(block of the cache, slot in it) of each key; PAGE_SIZE 0: a block is a whole sequence."""
    block, slot = b, cols
    if PAGE_SIZE > 0:
        entries = (cols // PAGE_SIZE).to(tl.int64) * stride_tn  # [BLOCK_N]
        block = tl.load(table_ptr + entries, mask=cols < stop, other=0)
        # a page id that does not exist reads another page, never memory outside the cache
        block = tl.minimum(tl.maximum(block, 0), pages - 1)
        slot = cols % PAGE_SIZE
    return block.to(tl.int64), slot.to(tl.int64)


@triton.jit
def visible_range(start_m, rows, group, len_q, len_k, left, right,
                  BLOCK_M: tl.constexpr, HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr):  # fmt: skip
    """Half-open range of the keys that at least one of the rows of a tile can see."""
    diagonal = len_k - len_q
    first, last = start_m // group, (tl.minimum(start_m + BLOCK_M, rows) - 1) // group
    low, high = 0, len_k
    if HAS_LEFT:
        low = tl.maximum(first + diagonal - left, 0)
    if HAS_RIGHT:
        high = tl.minimum(last + diagonal + right + 1, len_k)
    return low, high
