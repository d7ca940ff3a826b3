"""Pictures: figures, the players, and the one palette they share.

Widgets and figures draw what the package computed (traces, byte counts, softmax states). Nothing
here imports the kernels, so every picture works without a GPU and without Triton. Importing this
package loads neither matplotlib nor ipywidgets; the names below do when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {
    "ablation_bars": "figures.ablations",
    "block_chooser": "block_choice",
    "kernel_view": "kernel_lines",
    "memory_growth": "figures.growth",
    "memory_ladder": "memory_levels",
    "peak_memory": "figures.rates",
    "notebook_page": "exporting",
    "pointer_grid": "figures.pointers",
    "rate_lines": "figures.rates",
    "roofline_figure": "figures.roofline",
    "score_tiles": "figures.tiles",
    "softmax_bars": "figures.softmax",
    "tile_walk": "figures.walk",
    "traffic_bars": "figures.traffic",
    "scrub": "sliders",
    "stage_timeline": "figures.stages",
    "stepper": "softmax_stepper",
    "tile_player": "flash_tiles",
    "traffic_player": "hbm_traffic",
}
_SUBMODULES = ("palette",)

__all__ = sorted([*_NAMES, *_SUBMODULES])

if TYPE_CHECKING:
    from . import palette
    from .block_choice import block_chooser
    from .exporting import notebook_page
    from .figures.ablations import ablation_bars
    from .figures.growth import memory_growth
    from .figures.pointers import pointer_grid
    from .figures.rates import peak_memory, rate_lines
    from .figures.roofline import roofline_figure
    from .figures.softmax import softmax_bars
    from .figures.stages import stage_timeline
    from .figures.tiles import score_tiles
    from .figures.traffic import traffic_bars
    from .figures.walk import tile_walk
    from .flash_tiles import tile_player
    from .hbm_traffic import traffic_player
    from .kernel_lines import kernel_view
    from .memory_levels import memory_ladder
    from .sliders import scrub
    from .softmax_stepper import stepper


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
