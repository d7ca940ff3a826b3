"""Memory as an interpreted kernel sees it: made-up addresses, checked, then sent to real memory.

Every tensor argument gets a base address far from all others, numbered by its high bits, so a
wrong index can neither kill the process nor land in another tensor. Part of `interpreter`.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton.runtime.interpreter as private

from ..errors import OutOfBoundsError
from ..language import Text

_SHIFT = 48  # real addresses stay below 2^47: the bits above number the tensor


@dataclasses.dataclass
class Argument:
    """One tensor argument of a launch and where it lies, in made-up and in real addresses."""

    name: str
    tensor: Any
    base: int
    real: int
    nbytes: int

    @property
    def shift(self) -> np.uint64:
        """What to subtract from a made-up address to get the real one (modulo 2^64)."""
        return np.uint64((self.base - self.real) % 2**64)


@dataclasses.dataclass
class Launch:
    """One kernel run: its arguments, numbered by the high bits of their made-up addresses."""

    kernel: str
    code: Any
    arguments: list[Argument] = dataclasses.field(default_factory=list)
    patched: set[str] = dataclasses.field(default_factory=set)

    def register(self, name: str, value: Any) -> None:
        """Give every tensor in `value` (a tensor, descriptor or tuple) a made-up address."""
        if isinstance(value, tuple):
            for item in value:
                self.register(name, item)
        elif hasattr(value, "block_shape"):  # a host tensor descriptor
            self.register(name, value.base)
        elif hasattr(value, "data_ptr"):
            tensor = getattr(value, "base", value)  # a TensorWrapper holds its tensor in `base`
            real = value.data_ptr()
            last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            nbytes = (last + 1) * tensor.element_size() if tensor.numel() else 0
            base = ((len(self.arguments) + 1) << _SHIFT) + real % 4096  # keeps the alignment
            self.arguments.append(Argument(name, value, base, real, nbytes))

    def base_of(self, value: Any) -> int | None:
        """The made-up address of a registered tensor."""
        return next((a.base for a in self.arguments if a.tensor is value), None)


#: What an access looks like from outside: all offsets in bytes, and which lanes are on.
Block = tuple[np.ndarray, np.ndarray]
Observer = Callable[[Launch, str, Argument, tuple[int, ...], np.ndarray, int, Block], None]
running: list[Launch] = []
_observers: list[Observer] = []
one_at_a_time = threading.RLock()  # the interpreter keeps its state in globals


def current_program() -> tuple[int, ...]:
    """The ids of the program now running."""
    return tuple(int(i) for i in private.interpreter_builder.grid_idx)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Call `observer(launch, kind, argument, program, offsets in bytes, element size, block)` for
    every load, store and atomic inside the block. Offsets are those of lanes the mask lets through;
    the block holds those of all lanes, and the mask."""
    with one_at_a_time:
        _observers.append(observer)
        try:
            yield
        finally:
            _observers.remove(observer)


def _outside(
    launch: Launch, kind: str, argument: Argument | None, program: Any, lanes: np.ndarray, size: int
) -> OutOfBoundsError:
    where = tuple(int(i) for i in program)
    did = {"load": ("load", "读取"), "store": ("store", "写入")}.get(kind, ("atomic", "原子操作"))
    if argument is None:
        return OutOfBoundsError(
            launch.kernel,
            expected=Text("an address inside a tensor argument", "位于某个张量参数之内的地址"),
            got=Text(
                f"a {did[0]} far from all of them, in program {where}",
                f"程序实例 {where} 在远离所有张量的地方做了{did[1]}",
            ),
        )
    offsets = (lanes.astype(np.int64) - argument.base) // size
    count = argument.nbytes // size
    wrong = offsets[(offsets < 0) | (offsets >= count)]
    low, high = int(wrong.min()), int(wrong.max())
    span = f"{low}" if low == high else f"{low}..{high}"
    valid_en = f"offsets 0..{count - 1}" if count else "no access, the tensor is empty"
    valid_zh = f"偏移 0..{count - 1}" if count else "不访问，因为张量为空"
    return OutOfBoundsError(
        argument.name,
        expected=Text(valid_en, valid_zh),
        got=Text(
            f"{did[0]} at offset {span} ({wrong.size} of {lanes.size} lanes) in program {where}",
            f"程序实例 {where} 在偏移 {span} 处{did[1]}（{lanes.size} 个 lane 里的 {wrong.size} 个）",
        ),
        hint=Text(
            "pass a mask that is False where the index passes the end of the tensor",
            "传入 mask，让越过张量末尾的下标为 False",
        ),
    )


def _to_real(builder: Any, kind: str, ptrs: Any, mask: Any) -> Any:
    """The pointers of one access in real memory, after the check. Masked lanes are not checked."""
    if not running:
        return ptrs
    launch, data = running[-1], np.asarray(ptrs.data)
    on = np.broadcast_to(np.asarray(getattr(mask, "data", mask), dtype=bool), data.shape)
    lanes = data[on]
    if not lanes.size:
        return ptrs
    size = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
    first, last = _number(lanes.min()), _number(lanes.max())
    if first == last:  # the usual case: all lanes in one tensor
        argument = _checked(launch, kind, first, builder.grid_idx, lanes, size, (data, on))
        return private.TensorHandle(data - argument.shift, ptrs.dtype)
    real, numbers = np.array(data), _number(data)
    for number in np.unique(_number(lanes)):
        mine = data[on & (numbers == number)]
        argument = _checked(
            launch, kind, number, builder.grid_idx, mine, size, (data, on & (numbers == number))
        )
        real[numbers == number] -= argument.shift
    return private.TensorHandle(real, ptrs.dtype)


def _number(address: Any) -> Any:
    """Which tensor made-up addresses belong to: the nearest, as a wrong offset may be negative."""
    return (address + np.uint64(1 << (_SHIFT - 1))) >> np.uint64(_SHIFT)


def _checked(
    launch: Launch, kind: str, number: Any, program: Any, lanes: np.ndarray, size: int, block: Block
) -> Argument:
    """The argument all `lanes` lie in.

    Raises:
        OutOfBoundsError: if one of them lies outside.
    """
    if not 0 < number <= len(launch.arguments):
        raise _outside(launch, kind, None, program, lanes, size)
    argument = launch.arguments[int(number) - 1]
    low, high = int(lanes.min()), int(lanes.max()) + size
    if low < argument.base or high > argument.base + argument.nbytes:
        raise _outside(launch, kind, argument, program, lanes, size)
    for observer in _observers:
        offsets = (lanes - np.uint64(argument.base)).astype(np.int64)
        whole = (block[0].astype(np.int64) - argument.base, block[1])
        observer(launch, kind, argument, tuple(program), offsets, size, whole)
    return argument


def guard_memory() -> None:
    builder = private.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def create_masked_load(self: Any, ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        return load(self, _to_real(self, "load", ptrs, mask), mask, *rest, **named)

    def create_masked_store(
        self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any
    ) -> Any:
        return store(self, _to_real(self, "store", ptrs, mask), value, mask, *rest, **named)

    def create_atomic_rmw(
        self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any, **named: Any
    ) -> Any:
        return rmw(self, op, _to_real(self, "atomic", ptr, mask), val, mask, *rest, **named)

    def create_atomic_cas(self: Any, ptr: Any, *rest: Any, **named: Any) -> Any:
        return cas(self, _to_real(self, "atomic", ptr, True), *rest, **named)

    for method in (create_masked_load, create_masked_store, create_atomic_rmw, create_atomic_cas):
        setattr(builder, method.__name__, method)
