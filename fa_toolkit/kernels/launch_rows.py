"""Tiles, warps and stages for each kernel, head width and generation of GPUs.

Hopper's were measured on an H200 with Triton 3.6 (docs/performance-log.md). Those of other
generations fit by compilation and were not timed. Data only; which row a call gets: `configuration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..problem import TileShape

Kernel = Literal["forward", "dkdv", "dq"]


@dataclass(frozen=True)
class Row:
    """One line of the tables below, for devices of at least this compute capability."""

    since: tuple[int, int]
    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    descriptors: bool = False  # only where the copy engine can read the tensors
    up_to: int | None = None  # keys that a row sees on average
    apart: bool = False  # dK and dV in a launch each

    @property
    def tile(self) -> TileShape:
        return TileShape(self.block_m, self.block_n)


ANY, AMPERE, HOPPER, BLACKWELL = (0, 0), (8, 0), (9, 0), (10, 0)

Table = dict[int, tuple[Row, ...]]

# widest head -> rows, fastest first; the first that the device allows and that fits is taken
_HALF: Table = {
    64: (
        Row(BLACKWELL, 128, 64, 4, 3),
        Row(AMPERE, 64, 64, 4, 3),
        Row(ANY, 32, 32, 4, 1),
    ),
    128: (
        Row(HOPPER, 64, 32, 4, 3, descriptors=True, up_to=256),
        Row(HOPPER, 64, 64, 4, 3, descriptors=True, up_to=1024),
        Row(HOPPER, 128, 128, 8, 3, descriptors=True),
        Row(BLACKWELL, 128, 64, 8, 3),
        Row(HOPPER, 64, 64, 4, 3),
        Row(AMPERE, 128, 64, 8, 2),
        Row(AMPERE, 64, 32, 4, 2),
        Row(ANY, 32, 32, 4, 1),
    ),
    256: (
        Row(HOPPER, 128, 64, 8, 2),
        Row(AMPERE, 64, 64, 8, 2),
        Row(AMPERE, 64, 32, 8, 2),
        Row(ANY, 16, 16, 4, 1),
    ),
}
_SINGLE: Table = {
    128: (Row(AMPERE, 64, 32, 8, 2), Row(AMPERE, 32, 32, 4, 2), Row(ANY, 16, 16, 4, 1)),
    256: (Row(AMPERE, 32, 32, 8, 2), Row(AMPERE, 32, 16, 4, 2), Row(ANY, 16, 16, 4, 1)),
}
# the side that no product sums over, keys in dkdv and rows in dq, may be shorter than 16
_DKDV_HALF: Table = {
    64: (
        Row(HOPPER, 32, 64, 4, 4, descriptors=True, up_to=1024),
        Row(HOPPER, 64, 64, 4, 3, descriptors=True),
        Row(BLACKWELL, 32, 64, 8, 2),
        Row(AMPERE, 32, 64, 4, 2),
        Row(ANY, 32, 32, 4, 1),
    ),
    128: (
        Row(HOPPER, 64, 64, 4, 2, descriptors=True),
        Row(BLACKWELL, 32, 64, 8, 1),
        Row(HOPPER, 32, 128, 8, 3),
        Row(AMPERE, 32, 64, 8, 2),
        Row(AMPERE, 32, 32, 8, 1),
        Row(ANY, 16, 16, 4, 1),
    ),
    256: (
        Row(HOPPER, 32, 128, 8, 2, descriptors=True, apart=True),
        Row(HOPPER, 64, 64, 8, 1, descriptors=True),
        Row(AMPERE, 32, 32, 8, 1),
        Row(AMPERE, 16, 16, 4, 1),
        Row(ANY, 16, 8, 4, 1),
    ),
}
_DKDV_SINGLE: Table = {
    128: (Row(AMPERE, 32, 32, 8, 1), Row(AMPERE, 16, 16, 4, 1), Row(ANY, 16, 16, 4, 1)),
    256: (Row(AMPERE, 16, 16, 4, 1), Row(ANY, 16, 8, 4, 1)),
}
_DQ_HALF: Table = {
    64: (
        Row(HOPPER, 64, 64, 4, 3, descriptors=True, up_to=1024),
        Row(HOPPER, 64, 128, 4, 3, descriptors=True),
        Row(BLACKWELL, 128, 64, 8, 2),
        Row(HOPPER, 64, 64, 4, 3),
        Row(AMPERE, 128, 64, 8, 2),
        Row(AMPERE, 64, 64, 8, 2),
        Row(ANY, 32, 32, 4, 1),
    ),
    128: (
        Row(HOPPER, 64, 64, 4, 2, descriptors=True, up_to=256),
        Row(HOPPER, 128, 64, 8, 3, descriptors=True),
        Row(BLACKWELL, 128, 64, 8, 2),
        Row(HOPPER, 128, 64, 8, 3),
        Row(AMPERE, 128, 64, 8, 2),
        Row(AMPERE, 64, 32, 8, 2),
        Row(ANY, 16, 16, 4, 1),
    ),
    256: (
        Row(HOPPER, 128, 32, 8, 3, descriptors=True),
        Row(AMPERE, 64, 64, 8, 2),
        Row(AMPERE, 32, 32, 8, 1),
        Row(ANY, 8, 16, 4, 1),
    ),
}
_DQ_SINGLE: Table = {
    128: (Row(AMPERE, 64, 32, 8, 2), Row(AMPERE, 32, 32, 8, 1), Row(ANY, 16, 16, 4, 1)),
    256: (Row(AMPERE, 32, 32, 8, 1), Row(AMPERE, 16, 16, 4, 1), Row(ANY, 8, 16, 4, 1)),
}
#: for each kernel: half types, float32
TABLES: dict[Kernel, tuple[Table, Table]] = {
    "forward": (_HALF, _SINGLE),
    "dkdv": (_DKDV_HALF, _DKDV_SINGLE),
    "dq": (_DQ_HALF, _DQ_SINGLE),
}
