"""`triton` and `tl` for the solutions, taken from the kernels floor, which decides the mode first.

Where Triton is missing both are None; nothing that needs them is then run.
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import kernels

tl: Any = None
triton: Any = None
if kernels.mode() != "none":
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")
