"""Calls of the Hopper kernels that are made again: descriptors are refilled, nothing is looked up.

Making descriptors and binding them to jitted kernels takes longer than the kernels run at a few
hundred tokens. All of it but the addresses depends on sizes, strides and options alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from ..call import output_like
from ..prepared import Launch
from .backward_call import backward_launches, scratch
from .backward_configuration import backward_config
from .configuration import forward_config
from .counters import counter_for
from .forward import hopper_forward_kernel
from .forward_call import forward_arguments, processors

Described = tuple[Any, tuple[int, ...], tuple[Any, ...], dict[str, Any]]


class Argument(NamedTuple):
    """One argument of a kernel: itself, or which tensor of a call goes there.

    Args:
        fixed: a number, or a descriptor whose tensor is replaced; None for a tensor.
        place: index of the tensor; -1 for a number.
        shape: how the tensor is viewed in a descriptor; None: as it is.
    """

    fixed: Any
    place: int = -1
    shape: torch.Size | None = None

    @classmethod
    def found(cls, argument: Any, tensors: tuple[torch.Tensor, ...]) -> Argument:
        """What a launch was described with, as a place among the tensors of the call."""
        base = argument if isinstance(argument, torch.Tensor) else getattr(argument, "base", None)
        if base is None:
            return cls(argument)
        # without its tensor, which would else live as long as the launch is remembered
        fixed = None if base is argument else _with_base(argument, None)
        for place, x in enumerate(tensors):
            if x is base:
                return cls(fixed, place)
        at = [x.data_ptr() for x in tensors].index(base.data_ptr())
        return cls(fixed, at, base.shape)

    def of(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        """As the kernel takes it in a call with these tensors."""
        tensor = tensors[self.place]
        if self.fixed is None:
            return tensor
        return _with_base(self.fixed, tensor if self.shape is None else tensor.view(self.shape))


def _with_base(descriptor: Any, base: torch.Tensor | None) -> Any:
    """The same descriptor of another tensor; its checks were done for the first one."""
    made = object.__new__(type(descriptor))
    made.__dict__.update(descriptor.__dict__, base=base)
    return made


class Prepared:
    """Launches in their order, made again for tensors of the same sizes, strides, types and alignment."""

    def __init__(self, described: Iterable[Described], tensors: tuple[torch.Tensor, ...]) -> None:
        self._launches = []
        for kernel, grid, arguments, constants in described:
            found = [Argument.found(x, tensors) for x in arguments]
            filled = [(at, x) for at, x in enumerate(found) if x.place >= 0]
            launch = Launch(kernel, grid, **constants)
            self._launches.append((launch, [x.fixed for x in found], filled))

    def __call__(self, *tensors: torch.Tensor) -> None:
        """On the current device and stream."""
        for launch, fixed, filled in self._launches:
            arguments = fixed.copy()
            for at, argument in filled:
                arguments[at] = argument.of(tensors)
            launch(*arguments)


class PreparedForward:
    """Answers calls with the sizes, strides, dtype, device and alignment of the first.

    Args:
        causal, scale: as `hopper_forward` takes them.
    """

    def __init__(self, *, causal: bool, scale: float) -> None:
        self.causal, self.scale = causal, scale
        self._prepared: Prepared | None = None

    def __call__(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor
    ) -> None:
        """Write o and lse, on the current device and stream."""
        tensors = (q, k, v, o, lse, counter_for(q.device))
        if self._prepared is None:
            self._prepared = self._first(*(x.detach() for x in tensors))
        self._prepared(*tensors)

    def _first(self, *tensors: torch.Tensor) -> Prepared:
        """From the first call, whose tensors are objects apart even where two of them are one."""
        q, k, *_ = tensors
        grid, arguments, constants = forward_arguments(
            *tensors,
            causal=self.causal,
            scale=self.scale,
            config=forward_config(q.shape[3], q.shape[2], k.shape[2], self.causal),
            programs=processors(q.device),
        )
        return Prepared([(hopper_forward_kernel, grid, arguments, constants)], tensors)


class PreparedBackward:
    """The same for the three launches of the backward.

    Args:
        causal, scale: as `hopper_backward` takes them.
    """

    def __init__(self, *, causal: bool, scale: float) -> None:
        self.causal, self.scale = causal, scale
        self._prepared: Prepared | None = None

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        o: torch.Tensor,
        lse: torch.Tensor,
        do: torch.Tensor,
        dlse: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """dQ, dK, dV, on the current device and stream; dlse in every call or in none."""
        config = backward_config(q.shape[3], q.shape[2], k.shape[2], self.causal)
        held = scratch(q, config)
        grads = output_like(q), output_like(k), output_like(v)
        given = (q, k, v, o, lse, do, *(() if dlse is None else (dlse,)), *grads, *held)
        if self._prepared is None:
            apart: list[Any] = [x.detach() for x in given]
            described: Any = backward_launches  # thirteen tensors in one tuple
            saved = (*apart[:6], None if dlse is None else apart[6], *apart[-6:])
            launches = described(
                *saved, causal=self.causal, scale=self.scale, config=config,
                programs=processors(q.device),
            )  # fmt: skip
            self._prepared = Prepared(launches, tuple(apart))
        self._prepared(*given)
        return grads
