"""Columns of numbers as one block of bytes and a small table that says where each one lies.

What travels to the browser is arrays, not objects: a browser puts typed arrays over the bytes and
reads nothing twice. Knows nothing of what the columns mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: numpy's names for the types that a browser has too.
TYPES = ("u1", "i4", "u4", "f4", "f8")
_ALIGNED = 8

Layout = dict[str, tuple[str, int, list[int]]]  # name -> (type, byte offset, shape)


def pack(columns: Mapping[str, NDArray[Any]]) -> tuple[Layout, bytes]:
    """The table and the bytes, little-endian, each column on a multiple of eight.

    Example:
        >>> layout, blob = pack({"bytes": np.array([1, 2], "u4"), "kind": np.array([0], "u1")})
        >>> layout
        {'bytes': ('u4', 0, [2]), 'kind': ('u1', 8, [1])}
        >>> len(blob)
        9
    """
    layout: Layout = {}
    parts: list[bytes] = []
    at = 0
    for name, column in columns.items():
        kind = column.dtype.str[1:]
        if kind not in TYPES:
            raise TypeError(f"{name}: {column.dtype} is none of {', '.join(TYPES)}")
        gap = -at % _ALIGNED
        data = np.ascontiguousarray(column, dtype=f"<{kind}").tobytes()
        parts += [bytes(gap), data]
        layout[name] = (kind, at + gap, list(column.shape))
        at += gap + len(data)
    return layout, b"".join(parts)


def unpack(layout: Mapping[str, Any], blob: bytes) -> dict[str, NDArray[Any]]:
    """The columns again.

    Example:
        >>> unpack(*pack({"x": np.arange(6, dtype="i4").reshape(2, 3)}))["x"].tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    return {
        name: np.frombuffer(
            blob, f"<{kind}", count=int(np.prod(shape, dtype=int)), offset=at
        ).reshape(shape)
        for name, (kind, at, shape) in layout.items()
    }
