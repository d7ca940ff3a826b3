"""The algorithms as loops over tiles in plain torch, traced or fast. No Triton, no pictures."""

from .backward import flash_backward, trace_flash_backward
from .call import Trace
from .decode import flash_decode, trace_flash_decode
from .forward import flash_forward, flash_forward_program, trace_flash_forward
from .ledger import Ledger
from .row_states import row_states
from .standard import standard_forward, trace_standard_forward
from .state import SoftmaxState, merge_partials
from .trace import PHASES, Algorithm, Event, Step

__all__ = [
    "PHASES",
    "Algorithm",
    "Event",
    "Ledger",
    "SoftmaxState",
    "Step",
    "Trace",
    "flash_backward",
    "flash_decode",
    "flash_forward",
    "flash_forward_program",
    "merge_partials",
    "row_states",
    "standard_forward",
    "trace_flash_backward",
    "trace_flash_decode",
    "trace_flash_forward",
    "trace_standard_forward",
]
