"""The notebook's side: start the server, send it a function, wait for the report."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from ..errors import BackendUnavailable, FaError
from ..language import Text, current
from . import told, wire
from .carrying import pack
from .checker import Seconds, limits, not_attempted
from .clock import PATIENCE
from .report import Report
from .spec import Exercise

_COMMAND = "from fa_toolkit.exercises.server import main; main()"
#: Seconds to start, and for judging beside the function's own time.
START, JUDGING = 120.0, 60.0


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
    server = _interpreting if _is_interpreted(exercise) else _server
    found = server.ask(head, START + PATIENCE * (allowed.check + JUDGING))
    if found is None:
        return Report(exercise.id, exercise.title, "not yet", note=_LOST)
    return _with_gpu(exercise, told.read(found), packed)


def _with_gpu(exercise: Exercise, report: Report, packed: dict[str, Any]) -> Report:
    """The report with what a GPU would not forgive, and what could not be checked without one."""
    if not exercise.needs_triton or report.outcome == "not attempted":
        return report
    from .. import kernels
    from .lint import lint_packed

    on_gpu = kernels.mode() == "gpu" and not exercise.counts_bytes
    unchecked: Text | str = "" if on_gpu else _NO_GPU
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
    if not exercise.counts_bytes:
        return False
    from .. import kernels

    return kernels.mode() == "gpu"


class _Server:
    """One server for each process that checks, started when it is first needed.

    Args:
        environment: what it has beyond this process's own.
    """

    def __init__(self, **environment: str) -> None:
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        self.answers: Queue[dict[str, Any] | None] = Queue()
        self.lock = threading.RLock()
        self.words: Any = None
        self.folder: Any = None  # for the files of its checks; gone with it

    def start(self) -> subprocess.Popen[bytes]:
        """The running server."""
        with self.lock:
            process = self.process
            if process is not None and process.poll() is None and self.owner == os.getpid():
                return process
            self.stop()  # what is left of one that died
            self.owner, self.answers = os.getpid(), Queue()
            self.folder = tempfile.TemporaryDirectory(
                prefix="fa-check-", ignore_cleanup_errors=True
            )
            self.words = tempfile.TemporaryFile()  # noqa: SIM115  (what it says if it fails)
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", _COMMAND, *_arguments],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.words,
                    env=_environment() | self.environment, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise _unavailable(str(error)) from error
            listen = threading.Thread(
                target=_listen, args=(self.process, self.answers), daemon=True, name="fa-check"
            )
            listen.start()
            return self.process

    def ask(self, head: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """The server's answer; None if it ended without one.

        One that had ended, or ends before it answers though it served earlier checks, is replaced
        once.
        """
        with self.lock:
            try:
                for last in (False, True):
                    old, process = self.process, self.start()
                    assert process.stdin is not None
                    began = time.monotonic()
                    try:
                        told = {**head, "folder": self.folder.name}
                        wire.send(process.stdin.fileno(), told)
                    except wire.WireError:  # it had ended meanwhile
                        self.stop()
                        if last:
                            raise _unavailable(self._said()) from None
                        continue
                    found = self.answers.get(timeout=seconds)
                    if found is not None or last or process is not old:
                        break
                    self.stop()
            except Empty:
                self.stop()
                return None
            except BaseException:  # the learner interrupts
                self.stop()
                raise
            if found is None:
                said = self._said()
                self.stop()
                if said and time.monotonic() - began < START and "Error" in said:
                    raise _unavailable(said)
            elif _arguments:
                self.stop()  # it has served its one check
            return found

    def _said(self) -> str:
        if self.words is None or self.words.closed:
            return ""
        self.words.seek(0)
        lines = self.words.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else ""

    def stop(self) -> None:
        """End it, if it is ours."""
        with self.lock:
            process, self.process = self.process, None
            if process is None or self.owner != os.getpid():
                return
            with contextlib.suppress(OSError):  # the judge too, whose child dies with it
                os.killpg(process.pid, signal.SIGKILL) if _FORKS else process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, self.words):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
            self.folder.cleanup()


def _listen(process: subprocess.Popen[bytes], answers: Queue[dict[str, Any] | None]) -> None:
    assert process.stdout is not None
    fd = process.stdout.fileno()
    while True:
        try:
            answers.put(wire.receive(fd).head)
        except (wire.WireError, ValueError):
            answers.put(None)
            return


def _environment() -> dict[str, str]:
    """One thread, so that it can be forked; the way kernels run here; the same packages."""
    found = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    found["OPENBLAS_NUM_THREADS"] = "1"
    found["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asks for a GPU without opening it
    found["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    return found


def _unavailable(reason: str) -> BackendUnavailable:
    return BackendUnavailable(
        "check",
        expected=Text("a second Python process for the check", "另起一个 Python 进程来检查"),
        got=reason or "…",
        hint=Text("restart the kernel; fa doctor", "重启 Jupyter 内核；运行 fa doctor"),
    )


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


_FORKS = hasattr(os, "fork")
#: "--one-process" where the system cannot fork.
_arguments: list[str] = [] if _FORKS else ["--one-process"]
_server = _Server()
#: The bytes of a kernel are counted by the interpreter alone.
_interpreting = _Server(TRITON_INTERPRET="1")
atexit.register(stop)
