"""Recording on a machine that compiles kernels: the run is repeated in a child that interprets.

The child is a fresh Python with TRITON_INTERPRET=1. What crosses is pickled: a function that can
be imported, its arguments with tensors on the CPU, and back the recording or the error.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..errors import ArgumentError, BackendUnavailable
from ..language import Text, current

SECONDS = 300.0
_CHILD = "from fa_toolkit.kernels.recording_child import main; main()"


def on_cpu(value: Any) -> Any:
    """`value` with every tensor in it copied to the CPU, strides kept."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(on_cpu, value))
    return {k: on_cpu(v) for k, v in value.items()} if isinstance(value, dict) else value


def record_in_child(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, lines: bool = False
) -> Any:
    """The `Recording` of `fn(*args, **kwargs)`, made in a process of its own.

    Raises:
        ArgumentError: if `fn` cannot be imported there, as a function of a notebook cannot.
        BackendUnavailable: if the child gives no answer.
        Exception: whatever `fn` raised.
    """
    if getattr(fn, "__module__", "__main__") == "__main__" or "<" in fn.__qualname__:
        raise ArgumentError(
            "fn",
            expected=Text(
                "a launcher of an installed module, such as fa.kernels.matmul",
                "已安装模块里的启动函数，例如 fa.kernels.matmul",
            ),
            got=getattr(fn, "__qualname__", repr(fn)),
            hint=Text(
                "restart with TRITON_INTERPRET=1 to record a function of your own",
                "要记录自己写的函数，请设置 TRITON_INTERPRET=1 后重启",
            ),
        )
    payload = pickle.dumps((current(), lines, fn, on_cpu(args), on_cpu(kwargs)))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=payload, env=environment, capture_output=True, timeout=SECONDS, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise BackendUnavailable(
            "record",
            expected=Text("an answer from the interpreting process", "解释执行的子进程给出结果"),
            got=type(error).__name__,
            hint=Text("smaller tensors", "换小一点的张量"),
        ) from error
    outcome = pickle.loads(child.stdout)  # our own child's bytes
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def main() -> None:
    """The child's side: read a call, record it, write the recording or the error."""
    from ..language import choose
    from .recording import record, record_lines

    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # kernels may print
    language, lines, fn, args, kwargs = pickle.loads(sys.stdin.buffer.read())
    choose(language)
    try:
        outcome: Any = (record_lines if lines else record)(fn, *args, **kwargs)
        written = pickle.dumps(outcome)
    except Exception as error:
        written = pickle.dumps(error)
    answer.write(written)
    answer.flush()
