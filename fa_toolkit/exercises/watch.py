"""See how a result was made: which tensors came into being, what was read, which functions ran.

Sees torch; arithmetic done in NumPy or plain Python passes unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_PACKAGE = Path(__file__).resolve().parents[1]
#: Files of this package whose functions would do an exercise for the learner.
_ANSWERS = tuple(str(_PACKAGE / name) for name in ("reference", "tiled", "attention.py"))
_TORCH = str(Path(torch.__file__).parent)
_RUNNERS = (str(Path(_TORCH).with_name("triton")), str(_PACKAGE / "kernels"))
_LAUNCHERS = {"flash_forward", "row_softmax", "matmul", "vector_add", "flash_attention"}
_PRODUCTS = {"mm", "bmm", "baddbmm", "addmm", "mv", "matmul"}
#: Sizes of products that are kept.
_MOST = 16
_EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


@dataclass
class Seen:
    """What happened during a watched call.

    Args:
        largest: elements of the largest storage that came into being, and its shape.
        read: elements of the largest operand of an operation that computes (views do not).
        called: names of functions that were called.
        tiles: rows and columns of the products of matrices that sum over as many terms as the first
            one, each size once: tiles of scores and of their gradients where attention is worked out.
    """

    largest: int = 0
    largest_shape: tuple[int, ...] = ()
    read: int = 0
    read_shape: tuple[int, ...] = ()
    called: set[str] = field(default_factory=set)
    tiles: list[tuple[int, int]] = field(default_factory=list)


class _Light(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that does not pull in the compiler, which would import Triton as well."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class _Allocations(_Light):  # type: ignore[no-untyped-call]
    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen
        self.terms = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[-1]
        if not _inside_triton():
            self.seen.called.add(name)
            if name in _PRODUCTS:
                self._product(args, result)
        view = any(
            r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns
        )
        if not view:
            self._note(args, result)
        return result

    def _product(self, args: Any, result: Any) -> None:
        factors = [x for x in _tensors(args) if x.dim() >= 2][-2:]  # without what is added
        rows, cols = (1, 1, *result.shape)[-2:]
        terms = factors[0].shape[-1] if factors else 0
        self.terms = self.terms or terms
        size = (int(rows), int(cols))
        if terms == self.terms and size not in self.seen.tiles and len(self.seen.tiles) < _MOST:
            self.seen.tiles.append(size)

    def _note(self, args: Any, result: Any) -> None:
        for tensor in _tensors(args):
            if tensor.numel() > self.seen.read:
                self.seen.read, self.seen.read_shape = tensor.numel(), tuple(tensor.shape)
        for tensor in _tensors(result):
            size = tensor.untyped_storage().nbytes() // max(1, tensor.element_size())
            if size > self.seen.largest:
                self.seen.largest, self.seen.largest_shape = size, tuple(tensor.shape)


class _Names(TorchFunctionMode):
    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not _inside_triton():
            self.seen.called.add(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


class PoisonedEmpty(_Light):  # type: ignore[no-untyped-call]
    """Every `torch.empty` starts as NaN, so that an element nobody wrote is seen."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        fresh = func._schema.name.split("::")[-1] in _EMPTY
        if fresh and isinstance(result, torch.Tensor) and result.is_floating_point():
            result.fill_(float("nan"))
        return result


@contextmanager
def watching() -> Iterator[Seen]:
    """Watch the code inside the `with` block."""
    seen = Seen()
    before = sys.getprofile()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        launcher = name in _LAUNCHERS and file.startswith(str(_PACKAGE / "kernels"))
        if (launcher or file.startswith(_ANSWERS)) and not name.startswith("<"):
            seen.called.add(f"fa_toolkit: {name}")

    sys.setprofile(profile)
    try:
        with _Allocations(seen), _Names(seen):
            yield seen
    finally:
        sys.setprofile(before if callable(before) else None)  # a C profiler cannot be put back


def _inside_triton() -> bool:
    """Whether Triton's interpreter, not the learner, asked for this operation."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH, __file__)):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_RUNNERS)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
