"""A call of the Hopper forward that is made again: descriptors are refilled, nothing is looked up.

Making four descriptors and binding them to a jitted kernel takes longer than the kernel runs at a few
hundred tokens. All of it but the addresses depends on sizes, strides and options alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ..prepared import Launch
from .configuration import forward_config
from .counters import counter_for
from .forward import hopper_forward_kernel
from .forward_call import forward_arguments


class _Argument(NamedTuple):
    """One argument of the kernel: itself, or which tensor of a call goes there.

    Args:
        fixed: a number, or a descriptor whose tensor is replaced.
        place: index of the tensor; None for a number.
    """

    fixed: Any
    place: int | None

    def of(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        """As the kernel takes it in a call with these tensors."""
        if self.place is None:
            return self.fixed
        if self.fixed is None:
            return tensors[self.place]
        descriptor = object.__new__(type(self.fixed))  # its checks were done for the first call
        descriptor.__dict__.update(self.fixed.__dict__, base=tensors[self.place])
        return descriptor


class PreparedForward:
    """Answers calls with the sizes, strides, dtype, device and alignment of the first.

    Args:
        causal, scale: as `hopper_forward` takes them.
    """

    def __init__(self, *, causal: bool, scale: float) -> None:
        self.causal, self.scale = causal, scale
        self._launch: Launch | None = None
        self._arguments: tuple[_Argument, ...] = ()

    def __call__(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor
    ) -> None:
        """Write o and lse, on the current device and stream."""
        tensors = (q, k, v, o, lse, counter_for(q.device))
        if self._launch is None:
            self._launch = self._first(*(x.detach() for x in tensors))
        self._launch(*(argument.of(tensors) for argument in self._arguments))

    def _first(self, *tensors: torch.Tensor) -> Launch:
        """Grid, arguments and constants of the first call; six objects, even where some are one."""
        q, k, *_ = tensors
        grid, arguments, constants = forward_arguments(
            *tensors,
            causal=self.causal,
            scale=self.scale,
            config=forward_config(q.shape[3], q.shape[2], k.shape[2], self.causal),
            programs=torch.cuda.get_device_properties(q.device).multi_processor_count,
        )
        places = {id(x): place for place, x in enumerate(tensors)}
        self._arguments = tuple(
            _Argument(None, places[id(x)])
            if isinstance(x, torch.Tensor)
            else _Argument(x, places[id(x.base)] if hasattr(x, "base") else None)
            for x in arguments
        )
        return Launch(hopper_forward_kernel, grid, **constants)
