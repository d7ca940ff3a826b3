"""The notebook's side of a check: send the server a function, read its report."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import FaError
from ..language import Text, current
from . import told
from .carrying import pack
from .checker import Seconds, limits, not_attempted
from .clock import PATIENCE
from .connection import START, Server
from .report import Report
from .spec import Exercise

#: Seconds for judging beside the function's own time.
JUDGING = 60.0


def check(exercise: Exercise, fn: Callable[..., Any], *, seconds: Seconds | None = None) -> Report:
    """Check `fn` in a process of its own; `seconds` is how long its calls may take."""
    problem = _cannot_start(exercise, fn)
    if problem is not None:
        return not_attempted(exercise, problem)
    try:
        packed = pack(fn)
    except FaError as error:
        return not_attempted(exercise, str(error))
    except RecursionError:
        return not_attempted(exercise, _TANGLED)
    return check_packed(exercise, packed, seconds)


def check_packed(
    exercise: Exercise, packed: dict[str, Any], seconds: Seconds | None = None
) -> Report:
    """Check a function that was packed already."""
    allowed = seconds or limits(exercise)
    head = {
        "exercise": exercise.id,
        "packed": packed,
        "seconds": [allowed.call, allowed.check],
        "lang": current(),
        "triton": exercise.needs_triton,
    }
    wait = START + PATIENCE * (allowed.check + JUDGING)
    server = _interpreting if _is_interpreted(exercise) else _server
    found = server.ask(head, wait)
    if found is None:
        return Report(exercise.id, exercise.title, "not yet", note=_LOST)
    report = _with_gpu(exercise, told.read(found), packed)
    if _compiled(exercise) and report.outcome == "not yet" and not report.diagnosis:
        return _interpreted_too(report, _interpreting.ask(head, wait))
    return report


def _interpreted_too(report: Report, found: dict[str, Any] | None) -> Report:
    """What failed on the GPU, with what the interpreter, which checks addresses, has to say of it."""
    if found is None:
        return report
    there = told.read(found)
    if there.outcome == "passed":
        return replace(report, note=report.note or _ONLY_ON_GPU)
    return replace(
        report,
        diagnosis=there.diagnosis,
        departure=report.departure or there.departure,
        note=report.note or there.note,
    )


_ONLY_ON_GPU = Text(
    "In Triton's interpreter it is right. On the GPU all programs run at once: look for two that "
    "write to one place, or for one that reads what another has not written yet.",
    "在 Triton 解释器里它是对的。GPU 上所有程序实例同时运行：看看是否有两个写到同一处，"
    "或者有一个读了另一个还没写好的数据。",
)


def _with_gpu(exercise: Exercise, report: Report, packed: dict[str, Any]) -> Report:
    """The report with what a GPU would not forgive, and what could not be checked without one."""
    if not exercise.needs_triton or report.outcome == "not attempted":
        return report
    from .lint import lint_packed

    unchecked: Text | str = "" if _compiled(exercise) else _NO_GPU
    return replace(report, warnings=lint_packed(packed), unchecked=unchecked)


_NO_GPU = Text(
    "Checked in Triton's interpreter. Not checked on a GPU: that it compiles, that its tiles fit "
    "the chip, races between programs, and speed.",
    "在 Triton 解释器里检查。没有在 GPU 上检查：能否编译，块能否放进片上存储，程序实例之间的竞争，以及速度。",
)


@dataclass(frozen=True)
class Ran:
    """What running a notebook's cells gave.

    Args:
        functions: by exercise, packed.
        errors: number of the cell, from 0, and why it did not run through.
    """

    functions: dict[str, Any]
    errors: list[tuple[int, Text | str]]


#: Seconds for one cell of a notebook, and for all of them.
CELL, CELLS = 60.0, 600.0


def run_cells(cells: list[str], *, triton: bool) -> Ran:
    """Run a notebook's cells in a process of their own."""
    head = {"cells": cells, "seconds": [CELL, CELLS], "lang": current(), "triton": triton}
    found = _server.ask(head, START + CELLS + JUDGING)
    if found is None:
        return Ran({}, [(0, _LOST)])
    errors = [(int(number), told.text(sentence)) for number, sentence in found["errors"]]
    return Ran(found["functions"], errors)


_LOST = Text(
    "The process that checks it came to an end; your notebook is untouched. Check again.",
    "负责检查的进程意外结束，你的 notebook 不受影响。请再检查一次。",
)
_TANGLED = Text(
    "The function uses data that is nested too deeply to be taken along to the check.",
    "函数用到的数据嵌套太深，没法带到检查进程里。",
)


def warm() -> None:
    """Start the server without waiting, so that the first check finds it ready."""
    with contextlib.suppress(FaError):
        _server.start()


def stop() -> None:
    """End the server; the next check starts another."""
    _server.stop()
    _interpreting.stop()


def _is_interpreted(exercise: Exercise) -> bool:
    """Whether this one runs in the interpreter though kernels are compiled here."""
    return exercise.counts_bytes and _kernels_are_compiled()


def _compiled(exercise: Exercise) -> bool:
    """Whether this one's kernels are compiled for a GPU."""
    return exercise.needs_triton and not exercise.counts_bytes and _kernels_are_compiled()


def _kernels_are_compiled() -> bool:
    from .. import kernels

    return kernels.mode() == "gpu"


def _cannot_start(exercise: Exercise, fn: Any) -> Text | str | None:
    if not callable(fn):
        return Text(
            f"Pass the function itself, without brackets: "
            f"check({exercise.id!r}, {exercise.entry}). "
            f"It received {type(fn).__name__}.",
            f"请传函数本身，不带括号：check({exercise.id!r}, {exercise.entry})。"
            f"现在收到的是 {type(fn).__name__}。",
        )
    if exercise.needs_triton:
        from .. import kernels

        mode = kernels.mode()
        if mode.name == "none":
            return Text(
                f"This exercise runs a Triton kernel, and Triton cannot run here. {mode.reason.en}",
                f"这道题要运行 Triton kernel，而这里无法运行 Triton。{mode.reason.zh}",
            )
    return None


_server = Server()
#: The bytes of a kernel are counted, and its mistakes are named, by the interpreter alone.
_interpreting = Server(TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="")
atexit.register(stop)
