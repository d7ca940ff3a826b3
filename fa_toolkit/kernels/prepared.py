"""A launch that is made again and again: the second time Triton looks nothing up.

A jitted kernel binds, specialises and hashes all its arguments at each launch, for longer than a
short kernel runs. Decides nothing about attention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from triton.compiler import CompiledKernel

from .configuration import ALIGNMENT

MOST = 4096  # launches remembered


class Launch:
    """One launch of a kernel, made any number of times with other tensors.

    What Triton compiles depends on the arguments' types, on which numbers are 1 or divisible by 16
    and on which addresses are: whoever makes the launch again gives the same numbers, and tensors
    of the same dtype as well aligned as the first.

    Args:
        options: constexpr arguments by name, num_warps, num_stages.
    """

    def __init__(self, kernel: Any, grid: tuple[int, ...], **options: Any) -> None:
        self.kernel, self.grid, self.options = kernel, grid, options
        self._constants: tuple[Any, ...] = ()
        self._start: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> None:
        """Start it on the current device and stream."""
        if self._start is not None:
            self._start(*args, *self._constants)
            return
        compiled = self.kernel[self.grid](*args, **self.options)
        if isinstance(compiled, CompiledKernel):  # the interpreter compiles nothing
            names = self.kernel.arg_names[len(args) :]
            self._constants = tuple(self.options[name] for name in names)
            self._start = compiled[(*self.grid, 1, 1)[:3]]


_LAUNCHES: dict[tuple[Any, ...], Launch] = {}
_PLAIN = frozenset({int, type(None)})


def launch_like(
    kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], options: dict[str, Any]
) -> Launch:
    """The launch of all that are like this one.

    Alike are launches with the same grid, options and numbers on the same GPU, whose tensors have the
    same types and are as well aligned.
    """
    where = torch.cuda.current_device() if torch.cuda.is_initialized() else -1
    # whole numbers as they are, without a call for each: there are some forty
    kinds = [x if type(x) in _PLAIN else _kind(x) for x in args]
    key = (id(kernel), grid, where, *kinds, *options.items())
    launch = _LAUNCHES.get(key)
    if launch is None:
        if len(_LAUNCHES) >= MOST:
            _LAUNCHES.clear()
        # a launch holds its kernel, so that no other one can have its id
        launch = _LAUNCHES[key] = Launch(kernel, grid, **options)
    return launch


def start(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
    """What `kernel[grid](*args, **options)` does; where one like it was made before, Triton looks nothing up."""
    launch_like(kernel, grid, args, options)(*args)


class Launches:
    """Launches of one kernel that are alike in all but their tensors: only the first looks anything up.

    Args:
        options: as `Launch` takes them.
    """

    def __init__(self, kernel: Any, grid: tuple[int, ...], **options: Any) -> None:
        self._kernel, self._grid, self._options = kernel, grid, options
        self._numbers: tuple[Any, ...] = ()
        self._launch: Launch | None = None

    def __call__(self, *tensors: Any, numbers: Callable[[], tuple[Any, ...]]) -> None:
        """Start it on the current device and stream.

        Args:
            tensors: the first arguments: tensors, descriptors of tensors, or None.
            numbers: gives the arguments behind them; asked once.
        """
        if self._launch is None:
            self._numbers = numbers()
            arguments = (*tensors, *self._numbers)
            self._launch = launch_like(self._kernel, self._grid, arguments, self._options)
        self._launch(*tensors, *self._numbers)


def _kind(argument: Any) -> Any:
    """What Triton compiles for: a number and its type, of a tensor type and alignment."""
    if isinstance(argument, torch.Tensor):
        return argument.dtype, argument.data_ptr() % ALIGNMENT == 0
    block = getattr(argument, "block_shape", None)  # of a descriptor
    return (type(argument), argument) if block is None else (argument.base.dtype, *block)
