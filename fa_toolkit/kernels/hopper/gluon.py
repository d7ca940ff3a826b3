"""Gluon's names, or stand-ins that fail when a kernel is launched and not when it is imported.

`MISSING` is None, or the reason why this Triton has no Gluon as these kernels need it.
"""

from __future__ import annotations

from typing import Any

MISSING: str | None = None

try:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
except (ImportError, AttributeError) as error:
    MISSING = f"{type(error).__name__}: {error}"

    class _Absent:
        """Takes every attribute and every call; as a decorator it gives the function back."""

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self

        def __call__(self, *given: Any, **named: Any) -> Any:
            return given[0] if given and callable(given[0]) else self

    gluon: Any = _Absent()  # type: ignore[no-redef]
    gl: Any = gluon  # type: ignore[no-redef]
    mbarrier = tma = warpgroup_mma = warpgroup_mma_wait = fence_async_shared = gluon
    TensorDescriptor = gluon

__all__ = [
    "MISSING",
    "TensorDescriptor",
    "fence_async_shared",
    "gl",
    "gluon",
    "mbarrier",
    "tma",
    "warpgroup_mma",
    "warpgroup_mma_wait",
]
