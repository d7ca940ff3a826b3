"""Copy speed of the machine at hand, small tensors to large. A lesson, not a benchmark."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..language import Text, say
from .cards import Card, head, note

_SECONDS = 0.25  # spent on each size
_REPEATS = 5
_MOST = 2**30

_TITLE = Text("Copying on {device}, measured just now", "在 {device} 上复制，刚刚测得")
_SIZE, _RATE = Text("size", "大小"), Text("GB/s, read + written", "GB/s，读 + 写")
_FOOT = Text(
    "The fastest of five rounds for each size. Small tensors are served by a cache.",
    "每个大小取五轮中最快的一轮。小张量由缓存供数。",
)
_FOOT_GPU = Text(
    "The fastest of five rounds for each size. The smallest copies measure the launch, not memory.",
    "每个大小取五轮中最快的一轮。最小的几个测到的是启动时间，不是存储。",
)


def copy_rate(size: int, device: str = "cpu") -> float:
    """Bytes read plus written per second when `size` bytes are copied on `device`.

    On a CPU one thread copies: small copies split over threads would measure the threads.
    """
    import torch

    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    there, here = (target.numpy(), source.numpy()) if device == "cpu" else (None, None)

    def copy() -> None:
        if there is None or here is None:
            target.copy_(source)
        else:
            np.copyto(there, here)

    def once(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            copy()
        if device != "cpu":
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / times

    once(2)
    times = max(1, int(_SECONDS / _REPEATS / max(once(3), 1e-7)))
    return 2 * size / min(once(times) for _ in range(_REPEATS))


def bandwidth_card(sizes: Sequence[int]) -> Card:
    """Copy rates for tensors of these sizes in bytes, on the GPU if there is one.

    Raises:
        ArgumentError: if a size is not between 1 byte and 1 GiB.
    """
    import torch

    for size in sizes:
        if not 1 <= size <= _MOST:
            expected = Text("1 byte to 1 GiB", "1 字节到 1 GiB")
            raise ArgumentError("sizes", expected=expected, got=repr(size))
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if gpu else "CPU"
    rates = [copy_rate(size, "cuda" if gpu else "cpu") / 1e9 for size in sizes]
    return _table(sizes, rates, device)


def _table(sizes: Sequence[int], rates: Sequence[float], device: str) -> Card:
    title, top = say(_TITLE, device=device), max(rates, default=1.0)
    foot = say(_FOOT if device == "CPU" else _FOOT_GPU)
    rows: list[tuple[str, Any]] = [(_spoken(s), r) for s, r in zip(sizes, rates, strict=True)]
    cells = "".join(
        f"<tr><td>{escape(size)}</td><td>{rate:.1f}</td>"
        f'<td><span class="fc-bar"><i style="width:{100 * rate / top:.0f}%"></i></span></td></tr>'
        for size, rate in rows
    )
    body = (
        f'{head(title)}<table class="fc-table"><tr><th>{escape(say(_SIZE))}</th>'
        f"<th>{escape(say(_RATE))}</th><th></th></tr>{cells}</table>{note(foot)}"
    )
    lines = [title, *(f"{size:>10}  {rate:8.1f} GB/s" for size, rate in rows), foot]
    return Card(body, "\n".join(lines))


def _spoken(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"
