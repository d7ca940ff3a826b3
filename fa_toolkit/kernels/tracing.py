"""Recorded runs of the attention kernels as the trace events that `tiled` yields.

What an event says of tensor, rows and columns comes from the addresses, not from the grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..problem import AttentionProblem, TileShape
from ..tiled.trace import Algorithm, Event, Step
from .call import problem_of
from .configuration import choose_launch
from .flash_backward import flash_backward
from .flash_forward import flash_forward
from .recording import Access, Recording, record


@dataclass(frozen=True)
class KernelTrace:
    """A recorded run of an attention kernel, in the events that `tiled` yields."""

    problem: AttentionProblem
    tile: TileShape
    algorithm: Algorithm
    events: list[Event]
    outputs: Mapping[str, torch.Tensor]


_TENSORS = {
    "q_ptr": "Q", "k_ptr": "K", "v_ptr": "V", "o_ptr": "O", "lse_ptr": "lse",
    "do_ptr": "dO", "dlse_ptr": "dlse", "delta_ptr": "Delta",
    "dq_ptr": "dQ", "dk_ptr": "dK", "dv_ptr": "dV",
}  # fmt: skip
_PHASES = {
    "flash_forward_kernel": "forward",
    "delta_kernel": "delta",
    "flash_backward_dkdv_kernel": "dkdv",
    "flash_backward_dq_kernel": "dq",
}


def trace_flash_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    tile: TileShape | None = None,
    **options: Any,
) -> KernelTrace:
    """Run the real kernel and return its loads and stores as trace events.

    `tiled.trace_flash_forward` yields the same loads and stores in the same order: that is what
    makes the torch version an honest picture of the kernel.

    Args:
        options: further keywords of `flash_forward`.

    Raises:
        BackendUnavailable: where no kernel can run.
    """
    problem = problem_of(q, k, v, causal, window)
    tile = choose_launch(problem, q.device, tile).tile  # and so never the kernel of decoding
    recording = record(
        flash_forward, q, k, v, causal=causal, window=window, scale=scale, tile=tile, **options
    )
    o, lse = recording.result
    events = _events(problem, tile, recording)
    return KernelTrace(problem, tile, "flash_forward", events, {"O": o, "lse": lse})


def trace_flash_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None = None,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    tile: TileShape | None = None,
    **options: Any,
) -> KernelTrace:
    """Run the three backward kernels and return their loads and stores as trace events.

    The events of each launch stand in the order of `tiled.trace_flash_backward`, by program.

    Args:
        options: further keywords of `flash_backward`.

    Raises:
        BackendUnavailable: where no kernel can run.
    """
    tile = TileShape() if tile is None else tile  # all launches on one grid
    recording = record(
        flash_backward, q, k, v, o, lse, do, dlse,
        causal=causal, window=window, scale=scale, tile=tile, **options,
    )  # fmt: skip
    problem = problem_of(q, k, v, causal, window)
    names = ("dQ", "dK", "dV", "dsink")
    grads = {n: x for n, x in zip(names, recording.result, strict=True) if x is not None}
    return KernelTrace(problem, tile, "flash_backward", _events(problem, tile, recording), grads)


def _events(problem: AttentionProblem, tile: TileShape, recording: Recording) -> list[Event]:
    """Loads and stores of the tensors of attention; programs of a launch in the order of places."""
    events = [
        _event(problem, tile, access)
        for access in recording.accesses
        if access.argument in _TENSORS  # the sink and the seed are single numbers
    ]
    launches = list(dict.fromkeys(event.phase for event in events))
    return sorted(events, key=lambda event: (launches.index(event.phase), event.program))


def _event(problem: AttentionProblem, tile: TileShape, access: Access) -> Event:
    phase = _PHASES[access.kernel]
    by_key = phase == "dkdv"
    length, block = (
        (problem.len_k, tile.block_n) if by_key else (problem.len_q, tile.block_m)
    )  # what a program owns
    tiles = -(-length // block)
    # the other axes stand at 0 where the first counts all programs
    pid_bh, index = divmod(access.program[0], tiles)
    if phase == "dq":
        index = tiles - 1 - index  # heaviest first
    b, own = divmod(pid_bh, problem.heads_kv if by_key else problem.heads_q)
    b, own = b + access.program[2], own + access.program[1]
    tensor, box = _TENSORS[access.argument], access.box
    head = box[1][0]  # what the address says, not what the program should do
    cols = box[3] if len(box) > 3 else (0, 1)
    kind: Any = access.kind  # these kernels have no atomics
    place = (box[0][0], head)
    return Event(
        phase, Step(access.step), kind, (b, own, index), tensor, (box[2], cols), place, access.bytes
    )
