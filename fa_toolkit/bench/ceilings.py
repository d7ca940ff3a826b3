"""Two ceilings of the device at hand, measured in the same run: matrix product and copy."""

from __future__ import annotations

import statistics

import torch

from ..language import Text
from ..measured import Ceiling
from ..measured.adopt import rounded
from ..problem import Dtype
from .failures import explained
from .timing import Timer

_SIDES = (8192, 4096, 2048)
_COPY_BYTES = (4 * 2**30, 2**30, 2**28)  # several times any L2


def measure_ceilings(timer: Timer, dtype: Dtype) -> list[Ceiling]:
    """The largest of a few sizes that fits and does not take long; nothing where none does."""
    rows = []
    product = _matmul(timer, dtype)
    copied = _copy(timer)
    if product is not None:
        side, rate = product
        what = Text(
            f"{dtype} matrix product {side}³, random normal",
            f"{dtype} 矩阵乘 {side}³，随机正态数据",
        )
        rows.append(Ceiling("matmul", what, "FLOP/s", rate))
    if copied is not None:
        what = Text("HBM copy, read + write", "HBM 复制，读 + 写")
        rows.append(Ceiling("hbm_copy", what, "B/s", copied))
    return rows


def _matmul(timer: Timer, dtype: Dtype) -> tuple[int, float] | None:
    free, _ = torch.cuda.mem_get_info()
    kind = getattr(torch, dtype)
    for side in _SIDES:
        if 4 * side * side * kind.itemsize > free:
            continue
        with explained(lambda why: None):
            a, b = (torch.randn(side, side, device="cuda", dtype=kind) for _ in range(2))
            out = torch.empty_like(a)
            prepared = timer.prepare(lambda a=a, b=b, out=out: torch.matmul(a, b, out=out))  # type: ignore[misc]
            if prepared.estimate_ms > 100 and side != _SIDES[-1]:
                continue
            ms = statistics.median(timer.burst(prepared))
            return side, rounded(2e3 * side**3 / ms)
    return None


def _copy(timer: Timer) -> float | None:
    free, _ = torch.cuda.mem_get_info()
    for size in _COPY_BYTES:
        if 2.5 * size > free:
            continue
        with explained(lambda why: None):
            source = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda")
            target = torch.empty_like(source)
            prepared = timer.prepare(lambda a=source, b=target: b.copy_(a))  # type: ignore[misc]
            return rounded(2e3 * size / statistics.median(timer.burst(prepared)))
    return None
