"""`fa bench`: our kernels beside others on the GPU at hand, or what is honest to measure on a CPU.

The habits that make its numbers comparable: all providers in one run, outputs checked against
float32 before anything is timed, memory poisoned with NaN first, fresh normal inputs, a cold L2,
short calls replayed from a CUDA graph, a pause before each timing so that the power cap does not
pick the winner, interleaved rounds. Nothing is tuned at run time.

Importing this package loads nothing heavy; measuring needs torch alone (tables use rich and plots
matplotlib where they are installed).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {
    "main": "command",
    "measure": "session",
    "plan_of": "plans",
    "Plan": "plans",
}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:
    from .command import main
    from .plans import Plan, plan_of
    from .session import measure


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
