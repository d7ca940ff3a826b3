"""The one adapter for Triton's private interpreter: which names it needs, and short errors.

`interpreter_memory` makes a wrong index an error, `interpreter_bf16` makes bf16 right; both are
put in place here, once. Nothing of the three runs when kernels are compiled.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import triton
import triton.language as tl
import triton.runtime.interpreter as private
from triton.runtime.errors import InterpreterError

from ..language import Text, say
from .interpreter_memory import Launch, guard_memory, one_at_a_time, running

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
        "create_erf",
        "create_rsqrt",
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
    str(Path(__file__).with_name("interpreter_memory.py")),
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
    note = Text("in kernel {kernel}, program {program}", "位于 kernel {kernel}，程序实例 {program}")
    error.add_note(say(note, kernel=launch.kernel, program=program))
    return error


def _guard_launches() -> None:
    executor, convert = private.GridExecutor, private._implicit_cvt
    call, to_host = executor.__call__, executor._init_args_hst

    def guarded_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with one_at_a_time, np.errstate(all="ignore"):  # a GPU does not warn either
            launch = Launch(self.fn.__name__, self.fn.__code__)
            running.append(launch)
            try:
                return call(self, *args, **kwargs)
            except InterpreterError as error:
                cause = _cause(error, launch)
            finally:
                running.pop()
        raise cause from None

    def init_args_hst(self: Any, args: Any, kwargs: Any) -> Any:
        on_host, named = to_host(self, args, kwargs)
        for name, value in [*zip(self.arg_names, on_host, strict=False), *named.items()]:
            running[-1].register(name, value)
        return on_host, named

    def implicit_cvt(arg: Any) -> Any:
        converted = convert(arg)
        base = running[-1].base_of(arg) if running and hasattr(arg, "data_ptr") else None
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
        if running and names and names <= running[-1].patched:
            return None  # nobody restores the scope of a nested call
        scope = patch(fn)
        if running:
            running[-1].patched |= names
        return scope

    private._patch_lang = patch_lang


_installed: list[bool] = []


def install() -> None:
    """Put the checks in place, once and for every later launch of this process."""
    if _installed:
        return
    from . import interpreter_bf16

    _installed.append(True)
    guard_memory()
    _guard_launches()
    _repair_scalars()
    _patch_once()
    interpreter_bf16.install()
    # debug: tl.device_assert fires, and int32 overflow is an error instead of a wrong address
    private.interpreter_builder.options = private.InterpreterOptions(debug=True)
