"""What GPUs are made of: sizes and rates of their memories and units, each with its source.

Frozen records and look-up only: nothing here measures, and torch is loaded by `detect` alone.
"""

from __future__ import annotations

from .ladder import Rung, ladder
from .lookup import GPUS, detect, from_properties, gpu, known
from .record import GPU, LEVELS, Figure, GiB, KiB, MiB

__all__ = [
    "GPU",
    "GPUS",
    "LEVELS",
    "Figure",
    "GiB",
    "KiB",
    "MiB",
    "Rung",
    "detect",
    "from_properties",
    "gpu",
    "known",
    "ladder",
]
