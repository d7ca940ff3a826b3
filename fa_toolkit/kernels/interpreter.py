"""The one adapter for Triton's private interpreter: bounds checks, bf16, short errors, recording.

In the interpreter every tensor argument gets a made-up base address, far from all others. A kernel
computes with those; each access is checked against its tensor and only then sent to real memory.
So a wrong index is always an `OutOfBoundsError` and never a dead process or a neighbour's data.
Nothing here runs when kernels are compiled.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import triton
import triton.language as tl
import triton.runtime.interpreter as private
from triton.runtime.errors import InterpreterError

from ..errors import OutOfBoundsError
from ..language import Text, say

_SHIFT = 48  # real addresses stay below 2^47: the bits above number the tensor
_NEEDED: dict[str, tuple[str, ...]] = {
    "InterpreterBuilder": (
        "create_masked_load",
        "create_masked_store",
        "create_atomic_rmw",
        "create_atomic_cas",
        "create_dot",
        "cast_impl",
        "create_fp_to_fp",
        "create_print",
        "binary_op",
        "ternary_op",
        "unary_op",
        "create_fma",
    ),
    "GridExecutor": ("__call__", "_init_args_hst"),
    "ReduceScanOpInterface": ("apply",),
    "InterpreterOptions": (),
    "TensorHandle": (),
    "interpreter_builder": ("options",),
    "_implicit_cvt": (),
    "_patch_lang_tensor": (),
    "_patch_lang": (),
}
_HIDDEN = (
    str(Path(triton.__file__).parent),
    str(Path(np.__file__).parent),
    __file__,
    str(Path(__file__).with_name("interpreter_bf16.py")),
    str(Path(__file__).with_name("launching.py")),
)


def missing_names() -> list[str]:
    """The private names this adapter needs and this Triton does not have; empty if all is well."""
    found = []
    for name, members in _NEEDED.items():
        home = getattr(private, name, None)
        if home is None:
            found.append(name)
        else:
            found += [f"{name}.{member}" for member in members if not hasattr(home, member)]
    return found


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


Observer = Callable[[Launch, str, Argument, tuple[int, ...], np.ndarray, int], None]
_running: list[Launch] = []
_observers: list[Observer] = []
_one_at_a_time = threading.RLock()  # the interpreter keeps its state in globals


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Call `observer(launch, kind, argument, program, offsets in bytes, element size)` for every
    load, store and atomic inside the block."""
    with _one_at_a_time:
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
                f"程序 {where} 在远离所有张量的地方做了{did[1]}",
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
            f"程序 {where} 在偏移 {span} 处{did[1]}（{lanes.size} 个通道中的 {wrong.size} 个）",
        ),
        hint=Text(
            "pass a mask that is False where the index passes the end of the tensor",
            "传入 mask，让越过张量末尾的下标为 False",
        ),
    )


def _to_real(builder: Any, kind: str, ptrs: Any, mask: Any) -> Any:
    """The pointers of one access in real memory, after the check. Masked lanes are not checked."""
    if not _running:
        return ptrs
    launch, data = _running[-1], np.asarray(ptrs.data)
    on = np.broadcast_to(np.asarray(getattr(mask, "data", mask), dtype=bool), data.shape)
    lanes = data[on]
    if not lanes.size:
        return ptrs
    size = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
    first, last = _number(lanes.min()), _number(lanes.max())
    if first == last:  # the usual case: all lanes in one tensor
        argument = _checked(launch, kind, first, builder.grid_idx, lanes, size)
        return private.TensorHandle(data - argument.shift, ptrs.dtype)
    real, numbers = np.array(data), _number(data)
    for number in np.unique(_number(lanes)):
        mine = data[on & (numbers == number)]
        argument = _checked(launch, kind, number, builder.grid_idx, mine, size)
        real[numbers == number] -= argument.shift
    return private.TensorHandle(real, ptrs.dtype)


def _number(address: Any) -> Any:
    """Which tensor made-up addresses belong to: the nearest, as a wrong offset may be negative."""
    return (address + np.uint64(1 << (_SHIFT - 1))) >> np.uint64(_SHIFT)


def _checked(
    launch: Launch, kind: str, number: Any, program: Any, lanes: np.ndarray, size: int
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
        observer(launch, kind, argument, tuple(program), offsets, size)
    return argument


def _guard_memory() -> None:
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


def is_hidden(filename: str) -> bool:
    """Whether a source file belongs to the machinery and not to a kernel or its caller."""
    return filename.startswith(_HIDDEN)


def short_traceback(error: BaseException) -> TracebackType | None:
    """The traceback of `error` without Triton's, NumPy's and our own frames."""
    kept: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        if not is_hidden(step.tb_frame.f_code.co_filename):
            kept.append(step)
        step = step.tb_next
    chain: TracebackType | None = None
    for step in reversed(kept):
        chain = TracebackType(chain, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return chain


def _cause(error: BaseException, launch: Launch) -> BaseException:
    """What went wrong inside a kernel, with the kernel, the program and the line in a note."""
    while isinstance(error, InterpreterError) and error.__cause__ is not None:
        error = error.__cause__
    error.__traceback__ = short_traceback(error)
    program = tuple(int(i) for i in private.interpreter_builder.grid_idx)
    note = Text("in kernel {kernel}, program {program}", "位于内核 {kernel}，程序 {program}")
    error.add_note(say(note, kernel=launch.kernel, program=program))
    return error


def _guard_launches() -> None:
    executor, convert = private.GridExecutor, private._implicit_cvt
    call, to_host = executor.__call__, executor._init_args_hst

    def guarded_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _one_at_a_time, np.errstate(all="ignore"):  # a GPU does not warn either
            launch = Launch(self.fn.__name__, self.fn.__code__)
            _running.append(launch)
            try:
                return call(self, *args, **kwargs)
            except InterpreterError as error:
                cause = _cause(error, launch)
            finally:
                _running.pop()
        raise cause from None

    def init_args_hst(self: Any, args: Any, kwargs: Any) -> Any:
        on_host, named = to_host(self, args, kwargs)
        for name, value in [*zip(self.arg_names, on_host, strict=False), *named.items()]:
            _running[-1].register(name, value)
        return on_host, named

    def implicit_cvt(arg: Any) -> Any:
        converted = convert(arg)
        base = _running[-1].base_of(arg) if _running and hasattr(arg, "data_ptr") else None
        if base is not None:
            converted.handle.data[...] = base
        return converted

    executor.__call__ = guarded_call
    executor._init_args_hst = init_args_hst
    private._implicit_cvt = implicit_cvt


def _repair_scalars() -> None:
    """Loop bounds that are one-element tensors (NumPy >= 2.4 refuses them in Triton 3.6)."""
    patch = private._patch_lang_tensor

    def patch_lang_tensor(tensor: Any, *rest: Any) -> None:
        patch(tensor, *rest)
        tensor.__index__ = lambda self: int(np.asarray(self.handle.data).reshape(-1)[0])

    private._patch_lang_tensor = patch_lang_tensor


def _patch_once() -> None:
    """Triton patches its language anew for every call of a nested function, 40 % of a run's time.
    Once in a launch is enough."""
    patch = private._patch_lang

    def patch_lang(fn: Any) -> Any:
        modules = [v for v in fn.__globals__.values() if v is tl or v is tl.core]
        names = {module.__name__ for module in modules}
        if _running and names and names <= _running[-1].patched:
            return None  # nobody restores the scope of a nested call
        scope = patch(fn)
        if _running:
            _running[-1].patched |= names
        return scope

    private._patch_lang = patch_lang


_installed: list[bool] = []


def install() -> None:
    """Put the checks in place, once and for every later launch of this process."""
    if _installed:
        return
    from . import interpreter_bf16

    _installed.append(True)
    _guard_memory()
    _guard_launches()
    _repair_scalars()
    _patch_once()
    interpreter_bf16.install()
    # debug: tl.device_assert fires, and int32 overflow is an error instead of a wrong address
    private.interpreter_builder.options = private.InterpreterOptions(debug=True)
