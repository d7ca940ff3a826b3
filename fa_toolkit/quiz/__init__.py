"""Interview questions: a bank of data, pure grading, and a card that asks them in a notebook.

Knows nothing of what was answered before; whoever shows a quiz may pass callbacks that remember.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {
    "Bank": "bank",
    "load_bank": "bank",
    "grade": "grading",
    "Item": "verdict",
    "Verdict": "verdict",
    "read_number": "numbers",
    "use_judge": "second_tier",
}
_HOME_NAMES = {"use_judge": "use"}
_SUBMODULES = (
    "bank",
    "grading",
    "keys",
    "models",
    "numbers",
    "plain",
    "second_tier",
    "session",
    "widget",
)

__all__ = ["Bank", "Item", "Verdict", "grade", "load_bank", "read_number", "use_judge"]

if TYPE_CHECKING:
    from .bank import Bank, load_bank
    from .grading import grade
    from .numbers import read_number
    from .second_tier import use as use_judge
    from .verdict import Item, Verdict


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        module = importlib.import_module(f".{_NAMES[name]}", __name__)
        return getattr(module, _HOME_NAMES.get(name, name))
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBMODULES])
