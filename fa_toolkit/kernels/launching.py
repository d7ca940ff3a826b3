"""Start a kernel on the device of its tensors, with errors a learner can read."""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from triton.runtime.jit import JITFunction, KernelInterface

from ..errors import ArgumentError, BackendUnavailable, DeviceError, DtypeError
from ..language import Text
from . import runtime


def on_device_of(tensor: torch.Tensor) -> AbstractContextManager[Any]:
    """Makes the tensor's GPU the current one, which is where Triton launches."""
    if not tensor.is_cuda or tensor.device.index == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(tensor.device)


def device() -> torch.device:
    """Where kernels of this process find their tensors: the current GPU, or the CPU."""
    return torch.device("cuda" if runtime.require() == "gpu" else "cpu")


def require_kernels(*tensors: torch.Tensor) -> None:
    """Refuse tensors that no kernel of this process can reach.

    Raises:
        BackendUnavailable: if kernels cannot run here, or compile for a GPU while a tensor is not
            on one.
        DeviceError: if the tensors lie on different devices, or on none.
        DtypeError: if something is no tensor, or not a dense one.
    """
    for at, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
            odd = isinstance(tensor, torch.Tensor)
            raise DtypeError(
                f"argument {at}",
                expected=Text("a dense torch tensor", "稠密的 torch 张量"),
                got=str(tensor.layout) if odd else type(tensor).__name__,
            )
    found = runtime.require()
    first = tensors[0].device if tensors else None
    one_gpu = first is not None and first.type == "cuda" and all(t.device == first for t in tensors)
    if found == "gpu" and one_gpu:
        return
    devices = sorted({str(t.device) for t in tensors})
    if len(devices) > 1:
        raise DeviceError(
            "tensors",
            expected=Text("all on one device", "都在同一个设备上"),
            got=", ".join(devices),
        )
    if any(t.is_meta for t in tensors):
        raise DeviceError(
            "tensors",
            expected=Text("tensors with data", "有数据的张量"),
            got="meta",
            hint=Text('impl="tiled"', 'impl="tiled"'),
        )
    if found == "gpu" and not all(t.is_cuda for t in tensors):
        raise BackendUnavailable(
            "Triton",
            expected=Text(
                "tensors on a GPU: this process compiles", "GPU 上的张量：本进程是编译模式"
            ),
            got=", ".join(devices),
            hint=Text(
                '.cuda(), impl="tiled", or restart with TRITON_INTERPRET=1',
                '.cuda()、impl="tiled"，或设置 TRITON_INTERPRET=1 后重启',
            ),
        )


def _programs(grid: Any) -> tuple[int, ...]:
    """The grid as up to three whole numbers."""
    sizes = grid if isinstance(grid, (tuple, list)) else (grid,)
    try:
        found = tuple(operator.index(size) for size in sizes)
    except TypeError:
        found = ()
    if 1 <= len(found) <= 3 and min(found) >= 0 and not isinstance(grid, bool):
        return found
    raise ArgumentError(
        "grid",
        expected=Text(
            "how many programs, or up to three such numbers", "程序实例的个数，或至多三个这样的数"
        ),
        got=repr(grid)[:60],
    )


def _argument(name: str, value: Any) -> Any:
    """NumPy's numbers as Python's own; lists and arrays, which no kernel can read, are refused."""
    foreign = type(value).__module__ == "numpy"
    if foreign and getattr(value, "ndim", 1) == 0:
        return value.item()
    if foreign or isinstance(value, list):
        raise ArgumentError(
            name,
            expected=Text("a torch tensor or a number", "torch 张量或数"),
            got=type(value).__name__,
            hint=Text("torch.as_tensor(...)", "torch.as_tensor(...)"),
        )
    return value


def launch(kernel: Any, grid: Any, *args: Any, **meta: Any) -> Any:
    """Run `kernel` over `grid`: what `kernel[grid](*args, **meta)` does, with the checks around it.

    In the interpreter an access outside a tensor raises `OutOfBoundsError` with the tensor, the
    program and the offsets; any error points at the line of the kernel.

    Args:
        kernel: a function decorated with `triton.jit`.
        grid: number of programs, an int or up to three of them.
        args: the kernel's arguments, tensors for its pointers.
        meta: constexpr arguments, and num_warps, num_stages.

    Raises:
        BackendUnavailable: if no kernel can run here.
        ArgumentError: if `kernel` is not a jitted function, the grid no grid, or an argument a list
            or an array.
        OutOfBoundsError: if it touches memory outside its tensors (in the interpreter).
    """
    require_kernels(*(a for a in args if isinstance(a, torch.Tensor)))
    if not isinstance(kernel, KernelInterface):
        raise ArgumentError(
            "kernel",
            expected=Text("a function decorated with @triton.jit", "用 @triton.jit 装饰的函数"),
            got=type(kernel).__name__,
            hint=Text("put @triton.jit above the def", "在 def 上一行写 @triton.jit"),
        )
    if runtime.mode() == "interpreter" and isinstance(kernel, JITFunction):
        raise BackendUnavailable(
            getattr(kernel, "__name__", "kernel"),
            expected=Text("a kernel decorated for the interpreter", "为解释器装饰的 kernel"),
            got=Text("one decorated for a GPU", "为 GPU 装饰的 kernel"),
            hint=Text(
                "restart the kernel and import fa_toolkit.kernels first",
                "重启 Jupyter 内核，并最先导入 fa_toolkit.kernels",
            ),
        )
    names = [*getattr(kernel, "arg_names", ()), *(f"argument {at}" for at in range(len(args)))]
    args = tuple(_argument(name, value) for name, value in zip(names, args, strict=False))
    meta = {name: _argument(name, value) for name, value in meta.items()}
    grid = (lambda found: _programs(wanted(found))) if callable(wanted := grid) else _programs(grid)
    first = next((a for a in args if isinstance(a, torch.Tensor)), torch.empty(0))
    try:
        with on_device_of(first):
            return kernel[grid](*args, **meta)
    except Exception as error:
        if runtime.mode() != "interpreter":
            raise
        from .interpreter import short_traceback

        raise error.with_traceback(short_traceback(error)) from None
