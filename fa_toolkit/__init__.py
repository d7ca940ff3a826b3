"""Flash Attention, taught and built: a course toolkit and a Triton attention operator.

Importing this package is instant. Nothing heavy (torch, triton, matplotlib, ipywidgets) is loaded
until a name that needs it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_SUBMODULES = (
    "attention",
    "bench",
    "course",
    "decoding",
    "doctor",
    "errors",
    "evidence",
    "exercises",
    "hardware",
    "huggingface",
    "interview",
    "io_model",
    "kernels",
    "language",
    "measured",
    "problem",
    "progress",
    "quiz",
    "reference",
    "study",
    "tiled",
    "varlen",
    "viz",
)
_NAMES = {
    "flash_attention": "attention",
    "flash_attention_varlen": "varlen",
    "flash_decode": "decoding",
    "merge_partials": "attention",
    "explain": "explanation",
    "sdpa": "scaled_dot_product",
    "AttentionProblem": "problem",
    "TileShape": "problem",
}

__all__ = sorted([*_SUBMODULES, *_NAMES])

if TYPE_CHECKING:
    from .attention import flash_attention, merge_partials
    from .decoding import flash_decode
    from .explanation import explain
    from .problem import AttentionProblem, TileShape
    from .scaled_dot_product import sdpa
    from .varlen import flash_attention_varlen


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
        globals()[name] = value  # found at once from now on
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
