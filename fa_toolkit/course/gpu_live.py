"""What the GPU cells measure where there is a GPU. Times are taken as `fa bench` takes them."""

from __future__ import annotations

import contextlib
import statistics
import sys
from typing import Any

import torch

from .. import kernels
from ..bench.ceilings import measure_ceilings
from ..bench.command import main as bench_main
from ..bench.plans import plan_of
from ..bench.session import measure
from ..bench.timing import GpuTimer
from ..language import Text
from ..measured import Ceiling, Run
from ..measured.adopt import rounded
from .cards import Card
from .gpu_cells import BESIDE, ceilings_card, memory, rates, ridge_card

_SIDE = 4096
_BLOCKS = ((64, 64, 32), (128, 128, 64))
_BUDGET = 45.0
_READABLE = ("fa_toolkit.bench.ours_by_name:readable",)  # on Hopper "ours" is another kernel
_OURS = Text("{side}³, this chapter's kernel, tiles {tiles}", "{side}³，本章的 kernel，块 {tiles}")
_TORCH = Text("{side}³, torch.matmul", "{side}³，torch.matmul")


def _half() -> str:
    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def _timed(work: Any) -> Any:
    """Carry out `work(timer)` on a stream of its own, so that short calls can be captured."""
    timer = GpuTimer(plan_of("quick").method)
    with torch.cuda.stream(timer.stream):
        return work(timer)


def ceilings() -> Card:
    """Copy and matrix product of this card, and where they meet."""
    return ridge_card(_timed(lambda timer: measure_ceilings(timer, _half())))  # type: ignore[arg-type]


def matmul_rows(side: int = _SIDE) -> list[Ceiling]:
    """FLOP/s of the chapter's matrix product in two tile shapes, and of torch's."""

    def work(timer: GpuTimer) -> list[Ceiling]:
        kind = getattr(torch, _half())
        a, b = (torch.randn(side, side, device="cuda", dtype=kind) for _ in range(2))
        rows = []
        for blocks in _BLOCKS:
            tiles = " × ".join(map(str, blocks))
            what = Text(*(text.format(side=side, tiles=tiles) for text in _OURS))
            rate = _rate(timer, lambda blocks=blocks: kernels.matmul(a, b, blocks=blocks), side)
            rows.append(Ceiling(f"matmul_ours_{blocks[0]}", what, "FLOP/s", rate))
        what = Text(*(text.format(side=side) for text in _TORCH))
        rows.append(Ceiling("matmul_torch", what, "FLOP/s", _rate(timer, lambda: a @ b, side)))
        return rows

    found: list[Ceiling] = _timed(work)
    return found


def _rate(timer: GpuTimer, call: Any, side: int) -> float:
    ms = statistics.median(timer.burst(timer.prepare(call)))
    return rounded(2e3 * side**3 / ms)


def matmul() -> Card:
    """The chapter's matrix product beside torch's."""
    return ceilings_card(matmul_rows())


def _run(suite: str, **wanted: Any) -> Run:
    plan = plan_of("quick", suites=(suite,), dtype=_half(), budget_s=_BUDGET, **wanted)  # type: ignore[arg-type]
    return measure(plan, gpu=True, command=f"fa bench --quick --suite {suite}")


def forward() -> Any:
    """Rates of the readable forward kernel against N, beside eager attention and SDPA."""
    run = _run("forward", head_dims=(128,), causal=True, providers=BESIDE, also=_READABLE,
               lengths=(512, 1024, 2048, 4096, 8192))  # fmt: skip
    return rates(run, "forward")


def training_memory() -> Any:
    """Peak memory of a training step against N."""
    return memory(_run("memory"))


def bench() -> Card:
    """`fa bench --quick`, whose tables stand above."""
    with contextlib.redirect_stderr(sys.stdout):  # progress is no warning: no red lines in a page
        code = bench_main(["--quick"])
    return Card("", "" if code == 0 else f"fa bench: {code}")


def decode() -> Any:
    """Rates of one decoding step."""
    return rates(_run("decode", lengths=(8192, 32768)), "decode", head_dim=None, causal=None)
