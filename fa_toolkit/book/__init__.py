"""The book: a static site of all chapters, made from executed notebooks.

It needs no kernel, no server and no network: outputs are in the pages, players are live, what only
Python can answer says so. It holds no key, no solution and no model answer. Importing this package
loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {"build": "site", "Built": "site", "look": "faults", "Fault": "faults"}

__all__ = sorted(_NAMES)

if TYPE_CHECKING:
    from .faults import Fault, look
    from .site import Built, build


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
