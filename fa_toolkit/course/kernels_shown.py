"""Records a real kernel in the interpreter and opens the view of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..language import Text

#: Small enough for a dozen steps, and a multiple of no block: some lanes are masked off.
LENGTH, WIDTH = 7, 12


def recorded_view(
    fn: Callable[..., Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    beside: Mapping[str, Any] | None,
    cut: str,
    start: str | None = None,
) -> Any:
    """The view of what `fn(*args, **kwargs)` does; with `beside`, of two runs.

    Raises:
        ArgumentError: if it launches no kernel.
        BackendUnavailable: where no kernel can run.
    """
    from .. import kernels
    from ..viz.kernel_lines import kernel_view

    if fn is None:
        fn, args, kwargs, beside = _forward(kwargs, beside)
    runs = [kwargs] if beside is None else [kwargs, {**kwargs, **beside}]
    recordings = [kernels.record_lines(fn, *args, **run) for run in runs]
    for recording in recordings:
        if not recording.accesses:
            expected = Text("a function that launches a kernel", "会启动 kernel 的函数")
            got = getattr(fn, "__name__", repr(fn))
            raise ArgumentError("fn", expected=expected, got=got, hint="fa.kernels.flash_forward")
    kernel = recordings[0].accesses[0].kernel
    source = Path(recordings[0].files[kernel]).read_text(encoding="utf-8")
    if beside is None:
        return kernel_view(recordings[0], source, kernel=kernel, cut=cut, start=start)
    names = tuple(_name(run, beside) for run in runs)
    return kernel_view(
        recordings[0], source, kernel=kernel, cut=cut, start=start, beside=recordings[1],
        names=names,
    )  # fmt: skip


def _forward(
    kwargs: dict[str, Any], beside: Mapping[str, Any] | None
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Mapping[str, Any] | None]:
    """The forward kernel on a few random numbers, with two tile sizes unless others are given."""
    import torch

    from .. import kernels
    from ..problem import TileShape

    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, LENGTH, WIDTH, generator=draw) for _ in range(3))
    chosen = {"causal": True, "tile": TileShape(4, 4), **kwargs}
    return kernels.flash_forward, (q, k, v), chosen, beside


def _name(run: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    """What tells two runs apart, such as "4 × 4" or "block 8"."""
    parts = []
    for key in beside:
        value = run.get(key)
        shape = (getattr(value, "block_m", None), getattr(value, "block_n", None))
        parts.append(f"{shape[0]} × {shape[1]}" if None not in shape else f"{key} {value}")
    return ", ".join(parts)
