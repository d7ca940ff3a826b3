"""Triton: the warm-up kernels, the flash forward kernel, their launchers, and a safe interpreter.

Importing this package decides where kernels run (see `runtime`), before Triton is imported.
Where there is no Triton the import still works, and the first use of a kernel says what is missing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import BackendUnavailable
from .runtime import Mode, mode, require

if TYPE_CHECKING:
    from .backward_delta import delta_kernel
    from .backward_dkdv import flash_backward_dkdv_kernel
    from .backward_dq import flash_backward_dq_kernel
    from .flash_backward import flash_backward, prepare_backward
    from .flash_decode import flash_decode, flash_decode_kernel
    from .flash_forward import (
        flash_forward,
        flash_forward_kernel,
        online_softmax_step,
        prepare_forward,
    )
    from .flash_varlen import flash_backward_varlen, flash_forward_varlen
    from .hopper.backward import hopper_backward_kernel
    from .hopper.backward_call import hopper_backward
    from .hopper.backward_ends import hopper_finish_kernel, hopper_prepare_kernel
    from .hopper.forward import hopper_forward_kernel
    from .hopper.forward_call import hopper_forward
    from .launching import device, launch
    from .matmul import matmul, matmul_kernel
    from .merge_parts import merge_parts, merge_parts_kernel
    from .recording import Access, Recording, record, record_lines
    from .row_softmax import online_row_softmax_kernel, row_softmax, row_softmax_kernel
    from .tracing import KernelTrace, trace_flash_backward, trace_flash_forward
    from .tracing_decode import trace_flash_decode
    from .vector_add import vector_add, vector_add_kernel

_HOMES = {
    "Access": "recording",
    "KernelTrace": "tracing",
    "Recording": "recording",
    "delta_kernel": "backward_delta",
    "device": "launching",
    "flash_backward": "flash_backward",
    "flash_backward_dkdv_kernel": "backward_dkdv",
    "flash_backward_dq_kernel": "backward_dq",
    "flash_backward_varlen": "flash_varlen",
    "flash_decode": "flash_decode",
    "flash_decode_kernel": "flash_decode",
    "flash_forward": "flash_forward",
    "flash_forward_kernel": "flash_forward",
    "flash_forward_varlen": "flash_varlen",
    "hopper_backward": "hopper.backward_call",
    "hopper_backward_kernel": "hopper.backward",
    "hopper_finish_kernel": "hopper.backward_ends",
    "hopper_forward": "hopper.forward_call",
    "hopper_forward_kernel": "hopper.forward",
    "hopper_prepare_kernel": "hopper.backward_ends",
    "launch": "launching",
    "matmul": "matmul",
    "matmul_kernel": "matmul",
    "merge_parts": "merge_parts",
    "merge_parts_kernel": "merge_parts",
    "online_row_softmax_kernel": "row_softmax",
    "online_softmax_step": "flash_forward",
    "prepare_backward": "flash_backward",
    "prepare_forward": "flash_forward",
    "record": "recording",
    "record_lines": "recording",
    "row_softmax": "row_softmax",
    "row_softmax_kernel": "row_softmax",
    "trace_flash_backward": "tracing",
    "trace_flash_decode": "tracing_decode",
    "trace_flash_forward": "tracing",
    "vector_add": "vector_add",
    "vector_add_kernel": "vector_add",
}

__all__ = [
    "Access",
    "BackendUnavailable",
    "KernelTrace",
    "Mode",
    "Recording",
    "delta_kernel",
    "device",
    "flash_backward",
    "flash_backward_dkdv_kernel",
    "flash_backward_dq_kernel",
    "flash_backward_varlen",
    "flash_decode",
    "flash_decode_kernel",
    "flash_forward",
    "flash_forward_kernel",
    "flash_forward_varlen",
    "hopper_backward",
    "hopper_backward_kernel",
    "hopper_finish_kernel",
    "hopper_forward",
    "hopper_forward_kernel",
    "hopper_prepare_kernel",
    "launch",
    "matmul",
    "matmul_kernel",
    "merge_parts",
    "merge_parts_kernel",
    "mode",
    "online_row_softmax_kernel",
    "online_softmax_step",
    "prepare_backward",
    "prepare_forward",
    "record",
    "record_lines",
    "require",
    "row_softmax",
    "row_softmax_kernel",
    "trace_flash_backward",
    "trace_flash_decode",
    "trace_flash_forward",
    "vector_add",
    "vector_add_kernel",
]


class _Kernels(ModuleType):
    """A package in which a launcher's name means the launcher, never the file that holds it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Kernels


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require()
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


mode()
