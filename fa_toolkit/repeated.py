"""Calls like one before: what was checked and chosen for it holds again, so it is not done again.

Checking a call, choosing a tile and looking up the compiled kernel take longer than a kernel runs
at a few hundred tokens; none of it depends on the numbers in the tensors. Computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

Ready = Callable[..., Any]  # of the tensors of a call

MOST = 4096  # calls remembered
ALIGNMENT = 16  # bytes: what kernels compiled for aligned tensors rely on
_KINDS = (bool, int, float, str, type(None))
_BARE = (Tensor, torch.nn.Parameter)  # no other subclass: it may do as it likes
_HALVES = (torch.float16, torch.bfloat16)
_READY: dict[tuple[Any, ...], Ready] = {}


def is_plain(*tensors: Tensor) -> bool:
    """Whether nobody differentiates, traces, transforms or wraps a call with these tensors."""
    # in this order: under a compiler nothing else may be asked
    return is_only_recorded(*tensors) and not is_recorded(*tensors)


def is_recorded(*tensors: Tensor | None) -> bool:
    """Whether autograd records such a call."""
    recording = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    return recording and any(x is not None and x.requires_grad for x in tensors)


def is_only_recorded(*tensors: Tensor) -> bool:
    """Whether nobody traces, transforms or wraps such a call: at most autograd looks on."""
    return (
        not torch.compiler.is_compiling()
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._ops._len_torch_dispatch_stack_pre_dispatch() == 0  # type: ignore[no-untyped-call]
        and torch._C._get_tracing_state() is None  # torch.jit.trace sees operators, no launches
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
        and all(map(_is_bare, tensors))
    )


def _is_bare(x: Tensor) -> bool:
    """Whether x is memory with numbers, and no view of a transform on one."""
    return (
        type(x) in _BARE
        and not x.is_meta
        and not x.is_nested
        # dispatch makes memory of zeros that have none, and turns numbers held with the other sign
        and not x._is_zerotensor()
        and not x.is_neg()
        # `is_grads_batched` makes the one, functionalization the other, with no transform at work
        and not torch._C._functorch.is_legacy_batchedtensor(x)
        # a transform that has ended leaves such views behind for whoever kept them
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
        and not torch._is_functional_tensor(x)
    )


def key_of(
    tensors: tuple[Tensor, ...], *options: Any, recorded: bool = False
) -> tuple[Any, ...] | None:
    """All that checks and choices depend on; None for a call that is not to be remembered.

    Remembered are plain calls whose first tensor is of a half type, without autocast, their tensors
    aligned as torch allocates them, their options numbers, strings, pairs of whole numbers, or None.

    Args:
        recorded: calls that autograd records are remembered too; the options tell them apart.
    """
    plain = is_only_recorded if recorded else is_plain
    if not (plain(*tensors) and tensors[0].dtype in _HALVES):
        return None
    if not all(type(x) in _KINDS or _is_pair(x) for x in options):
        return None
    if torch.is_autocast_enabled(tensors[0].device.type):
        return None
    if any(x.layout is not torch.strided or x.data_ptr() % ALIGNMENT for x in tensors):
        return None
    # True is 1 to a dictionary, and a check may take one and refuse the other
    kinds = tuple(map(type, options))
    return (options, kinds, *[(x.shape, x.stride(), x.dtype, x.device) for x in tensors])


def _is_pair(x: Any) -> bool:
    return type(x) is tuple and len(x) == 2 and type(x[0]) is type(x[1]) is int


def ready(key: tuple[Any, ...] | None) -> Ready | None:
    """What was remembered for such a call."""
    return None if key is None else _READY.get(key)


def ready_or(key: tuple[Any, ...], prepare: Callable[[], Ready]) -> Ready:
    """What was remembered for such a call; else what `prepare` makes, from now on."""
    found = _READY.get(key)
    if found is None:
        found = prepare()
        remember(key, found)
    return found


def remember(key: tuple[Any, ...], function: Ready | None) -> None:
    """From now on `function`, if there is one, answers such calls."""
    if function is None:
        return
    if len(_READY) >= MOST:
        _READY.clear()
    _READY[key] = function
