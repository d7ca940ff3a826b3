"""What a kernel really loads and stores, written down while the interpreter runs it.

Bytes are those requested by unmasked lanes; caches are ignored. Draws nothing, models nothing.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Literal

import numpy as np
import torch

from ..problem import AttentionProblem, TileShape
from ..tiled.trace import Algorithm, Event, Step
from . import runtime
from .call import problem_of
from .configuration import choose_launch
from .flash_backward import flash_backward
from .flash_forward import flash_forward

Range = tuple[int, int]
_LABEL = re.compile(r"\s*# step: (\w+)")


@dataclass(frozen=True)
class Access:
    """One load, store or atomic of one program.

    Args:
        kernel: name of the kernel.
        kind: "load", "store" or "atomic".
        argument: the kernel's argument that was accessed, e.g. "x_ptr".
        program: its program ids.
        step: the nearest `# step:` label above the line, "" if there is none.
        line: line number of the access in its source file.
        box: half-open range of the indices touched, one for each axis of the tensor.
        bytes: bytes requested, masked lanes not counted.
    """

    kernel: str
    kind: Literal["load", "store", "atomic"]
    argument: str
    program: tuple[int, ...]
    step: str
    line: int
    box: tuple[Range, ...]
    bytes: int


@dataclass(frozen=True)
class Recording:
    """Everything kernels did while a function ran, and what the function returned."""

    accesses: list[Access]
    result: Any

    @property
    def bytes_read(self) -> int:
        """Bytes requested from memory."""
        return sum(a.bytes for a in self.accesses if a.kind != "store")

    @property
    def bytes_written(self) -> int:
        """Bytes sent to memory."""
        return sum(a.bytes for a in self.accesses if a.kind != "load")

    @property
    def by_argument(self) -> dict[str, tuple[int, int]]:
        """(bytes requested, bytes sent) for each argument, e.g. {"x_ptr": (400, 0)}."""
        moved: dict[str, tuple[int, int]] = {}
        for a in self.accesses:
            read, written = moved.get(a.argument, (0, 0))
            moved[a.argument] = (
                read + a.bytes * (a.kind != "store"),
                written + a.bytes * (a.kind != "load"),
            )
        return moved


def _box(tensor: Any, elements: np.ndarray) -> tuple[Range, ...]:
    """The range of indices along each axis that element offsets of a tensor stand for."""
    tensor = getattr(tensor, "base", tensor) if not isinstance(tensor, torch.Tensor) else tensor
    box: list[Range] = [(0, 1)] * tensor.ndim
    for axis in sorted(range(tensor.ndim), key=lambda a: -tensor.stride(a)):
        stride = tensor.stride(axis)
        if stride and tensor.shape[axis] > 1:
            index, elements = np.divmod(elements, stride)
            box[axis] = (int(index.min()), int(index.max()) + 1)
    return tuple(box)


def _label(code: CodeType, line: int) -> str:
    for number in range(line, code.co_firstlineno, -1):
        found = _LABEL.match(linecache.getline(code.co_filename, number))
        if found:
            return found[1]
    return ""


def _place(kernel: CodeType) -> tuple[str, int]:
    """(step, line) of the kernel code now running: the innermost labelled function wins."""
    from .interpreter import is_hidden

    frame: FrameType | None = sys._getframe(1)
    line = 0
    while frame is not None:
        code = frame.f_code
        if not is_hidden(code.co_filename) and code.co_filename != __file__:
            line = line or frame.f_lineno
            step = _label(code, frame.f_lineno)
            if step or code is kernel:
                return step, line
        frame = frame.f_back
    return "", line


def record(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Recording:
    """Call `fn(*args, **kwargs)` and write down every access of every kernel it launches.

    Example (the result of `vector_add` is two loads and a store for each block):
        recording = record(vector_add, x, y)
        recording.bytes_read == 2 * x.numel() * x.element_size()

    Only the interpreter can be watched. Where kernels are compiled for a GPU the call is repeated
    in a process that interprets, so `fn` must be importable there; results come back on the CPU.

    Raises:
        BackendUnavailable: where no kernel can run.
        ArgumentError: on a GPU, if `fn` is a function of a notebook.
    """
    if runtime.require() != "interpreter":
        from .recording_child import record_in_child

        recording: Recording = record_in_child(fn, args, kwargs)
        return recording
    from .interpreter_memory import observed

    accesses: list[Access] = []

    def note(
        launch: Any, kind: Any, argument: Any, program: Any, offsets: np.ndarray, size: int
    ) -> None:
        step, line = _place(launch.code)
        box = _box(argument.tensor, offsets // size)
        place = tuple(int(i) for i in program)
        accesses.append(
            Access(launch.kernel, kind, argument.name, place, step, line, box, offsets.size * size)
        )

    with observed(note):
        result = fn(*args, **kwargs)
    return Recording(accesses, result)


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
    recording = record(
        flash_forward, q, k, v, causal=causal, window=window, scale=scale, tile=tile, **options
    )
    problem = problem_of(q, k, v, causal, window)
    tile = choose_launch(problem, q.device, tile).tile
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
    pid_bh, index = divmod(access.program[0], tiles)
    if phase == "dq":
        index = tiles - 1 - index  # heaviest first
    b, own = divmod(pid_bh, problem.heads_kv if by_key else problem.heads_q)
    tensor, box = _TENSORS[access.argument], access.box
    head = box[1][0]  # what the address says, not what the program should do
    cols = box[3] if len(box) > 3 else (0, 1)
    kind: Any = access.kind  # these kernels have no atomics
    place = (box[0][0], head)
    return Event(
        phase, Step(access.step), kind, (b, own, index), tensor, (box[2], cols), place, access.bytes
    )
