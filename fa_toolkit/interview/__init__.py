"""A mock interview: questions against a clock, follow-ups on what was missed, a report at the end.

Gives no verdict before the end, as an interviewer would not. Knows nothing of what was answered on
other days; whoever holds an interview may pass callbacks that remember.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {
    "Interview": "conversation",
    "Plan": "plan",
    "Turn": "turn",
    "markdown": "export",
    "page": "export",
    "plain": "export",
}
_SUBMODULES = ("choosing", "conversation", "export", "plan", "report", "turn", "view", "widget")

__all__ = ["Interview", "Plan", "Turn", "markdown", "page", "plain"]

if TYPE_CHECKING:
    from .conversation import Interview
    from .export import markdown, page, plain
    from .plan import Plan
    from .turn import Turn


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBMODULES])
