"""A launch that is made again and again: the second time Triton looks nothing up.

A jitted kernel binds, specialises and hashes all its arguments at each launch, for longer than a
short kernel runs. Decides nothing about attention.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.compiler import CompiledKernel


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
