"""What a kernel really loads and stores, written down while the interpreter runs it.

Bytes are those requested by unmasked lanes; caches are ignored. Draws nothing, models nothing.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Literal

import numpy as np
import torch

from . import runtime
from .lanes import Lanes, lanes_of

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
        lanes: the block of lanes, those masked off included.
        shape: of the tensor.
    """

    kernel: str
    kind: Literal["load", "store", "atomic"]
    argument: str
    program: tuple[int, ...]
    step: str
    line: int
    box: tuple[Range, ...]
    bytes: int
    lanes: Lanes | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Visit:
    """One line of a kernel's file that one program reached.

    Args:
        accesses: how many accesses had been made before the line ran.
    """

    kernel: str
    program: tuple[int, ...]
    step: str
    line: int
    accesses: int


@dataclass(frozen=True)
class Recording:
    """Everything kernels did while a function ran, and what the function returned.

    Args:
        visits: the lines that ran, in order, where `record_lines` watched.
        files: where each kernel stands.
    """

    accesses: list[Access]
    result: Any
    visits: list[Visit] = field(default_factory=list)
    files: Mapping[str, str] = field(default_factory=dict)

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


def indices_of(tensor: Any, elements: np.ndarray) -> list[np.ndarray]:
    """The indices along each axis that element offsets of a tensor stand for."""
    tensor = getattr(tensor, "base", tensor) if not isinstance(tensor, torch.Tensor) else tensor
    indices = [np.zeros_like(elements)] * tensor.ndim
    for axis in sorted(range(tensor.ndim), key=lambda a: -tensor.stride(a)):
        stride = tensor.stride(axis)
        if stride and tensor.shape[axis] > 1:
            indices[axis], elements = np.divmod(elements, stride)
    return indices


def span_of(index: np.ndarray) -> Range:
    """The half-open range that indices lie in."""
    return int(index.min()), int(index.max()) + 1


def _label(code: CodeType, line: int) -> str:
    for number in range(line, code.co_firstlineno, -1):
        found = _LABEL.match(linecache.getline(code.co_filename, number))
        if found:
            return found[1]
    return ""


def place_of(kernel: CodeType) -> tuple[str, int]:
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
    return _recorded(fn, args, kwargs, lines=False)


def record_lines(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Recording:
    """As `record`, and `visits` says which lines of the kernels' files each program ran.

    It watches through Python's own tracing, so it is slower, and a debugger sees nothing meanwhile.

    Raises:
        BackendUnavailable, ArgumentError: as `record`.
    """
    return _recorded(fn, args, kwargs, lines=True)


def _recorded(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, lines: bool
) -> Recording:
    if runtime.require() != "interpreter":
        from .recording_child import record_in_child

        recording: Recording = record_in_child(fn, args, kwargs, lines=lines)
        return recording
    from .interpreter_memory import observed

    accesses: list[Access] = []
    files: dict[str, str] = {}
    visits: list[Visit] = []

    def note(
        launch: Any,
        kind: Any,
        argument: Any,
        program: Any,
        offsets: np.ndarray,
        size: int,
        block: Any,
    ) -> None:
        step, line = place_of(launch.code)
        box = tuple(map(span_of, indices_of(argument.tensor, offsets // size)))
        place = tuple(int(i) for i in program)
        lanes = lanes_of(argument.tensor, block[0] // size, block[1])
        shape = tuple(int(n) for n in argument.tensor.shape)
        files[launch.kernel] = launch.code.co_filename
        moved = offsets.size * size
        accesses.append(
            Access(launch.kernel, kind, argument.name, place, step, line, box, moved, lanes, shape)
        )

    with observed(note):
        if not lines:
            return Recording(accesses, fn(*args, **kwargs), visits, files)

        def visit(kernel: str, program: tuple[int, ...], step: str, line: int) -> None:
            visits.append(Visit(kernel, program, step, line, len(accesses)))

        with _watched(visit):
            return Recording(accesses, fn(*args, **kwargs), visits, files)


@contextmanager
def _watched(note: Callable[[str, tuple[int, ...], str, int], None]) -> Iterator[None]:
    """Call `note(kernel, program, step, line)` for every line that runs of a kernel's own file."""
    from .interpreter_memory import current_program, running

    def lines(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and running:
            step, _line = place_of(running[-1].code)
            note(running[-1].kernel, current_program(), step, frame.f_lineno)
        return lines

    def calls(frame: FrameType, event: str, _: Any) -> Any:
        inside = running and frame.f_code.co_filename == running[-1].code.co_filename
        return lines if inside else None

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        yield
    finally:
        sys.settrace(before)
