"""The I/O model: bytes, FLOPs, exponentials and on-chip footprint of attention. No tensors.

Everything here is arithmetic on an `AttentionProblem`, a `TileShape` and a GPU record. The tiled
algorithms and the kernels, which do move tensors, must come out with the same bytes.
"""

from __future__ import annotations

from .backward import flash_backward_traffic, standard_backward_traffic
from .bill import Line, Traffic
from .bound import fa1_tile, io_order
from .decode import decode_intensity, decode_traffic, kv_cache_bytes
from .footprint import Fit, Footprint, backward_footprint, forward_footprint
from .forward import (
    compulsory_traffic,
    fa1_forward_traffic,
    flash_forward_traffic,
    standard_forward_traffic,
)
from .memory import Fits, fits_table, flash_extra_memory, standard_extra_memory
from .roofline import Roofline, intensity, modelled_time, roofline
from .spans import visible_pairs, visited_tiles
from .work import backward_flops, exponentials, forward_flops, issued_flops

__all__ = [
    "Fit",
    "Fits",
    "Footprint",
    "Line",
    "Roofline",
    "Traffic",
    "backward_flops",
    "backward_footprint",
    "compulsory_traffic",
    "decode_intensity",
    "decode_traffic",
    "exponentials",
    "fa1_forward_traffic",
    "fa1_tile",
    "fits_table",
    "flash_backward_traffic",
    "flash_extra_memory",
    "flash_forward_traffic",
    "forward_flops",
    "forward_footprint",
    "intensity",
    "io_order",
    "issued_flops",
    "kv_cache_bytes",
    "modelled_time",
    "roofline",
    "standard_backward_traffic",
    "standard_extra_memory",
    "standard_forward_traffic",
    "visible_pairs",
    "visited_tiles",
]
