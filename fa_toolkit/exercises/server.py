"""The warm process beside a notebook: torch is loaded here once, every check is a fork of it.

    notebook ──▶ server (never runs anything) ──▶ judge ──▶ child: the learner's function

The judge compares and names, the child runs the function and is confined. Both end with the check,
so nothing a function does to torch, to files or to its own process reaches the next check. Where
the system cannot fork (Windows) one process does all of it and is replaced after every check.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from ..language import Text, choose
from . import wire
from .calling import Local, Runner
from .catalog import EXERCISES, devices
from .checker import Seconds, judge, not_made
from .report import Report
from .told import tell

#: Seconds without a request after which the server ends by itself.
IDLE = 900.0
_GONE = Text(
    "The process that judges the answer was ended from outside.",
    "评判答案的进程被外部终止了。",
)


def main() -> None:
    """Serve checks on stdin and stdout until stdin closes."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    forks = hasattr(os, "fork") and "--one-process" not in sys.argv
    while True:
        if forks and not select.select([source], [], [], IDLE)[0]:
            return
        try:
            head = wire.receive(source).head
        except wire.WireError:
            return
        if head.get("triton"):
            from .. import kernels

            if kernels.mode() == "gpu":  # imported here once, so that no fork has to
                _close_nvml()
        if not forks:
            with contextlib.suppress(wire.WireError):
                wire.send(sink, _alone(head))
            return
        with contextlib.suppress(wire.WireError):
            wire.send(sink, _forked(head, sink, source))


def _close_nvml() -> None:
    """Undo what torch opened to look for a GPU: a fork cannot go on with it, and opens its own."""
    with contextlib.suppress(OSError, AttributeError):
        shutdown = ctypes.CDLL("libnvidia-ml.so.1").nvmlShutdown
        for _ in range(64):  # as often as it was opened
            if shutdown() != 0:
                return


def _forked(head: dict[str, Any], *private: int) -> dict[str, Any]:
    """Have a fork judge, and pass on what it found."""
    folder = Path(tempfile.mkdtemp(dir=head["folder"]))
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for fd in (reading, *private):
                os.close(fd)
            work = _cells if "cells" in head else _judged
            wire.send(writing, work(head, folder))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        found = wire.receive(reading).head
    except wire.WireError:
        found = _gone(head)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _gone(head: dict[str, Any]) -> dict[str, Any]:
    if "cells" in head:
        return {"functions": {}, "errors": [(0, tell(_GONE))]}
    exercise = EXERCISES[head["exercise"]]
    return _told(Report(exercise.id, exercise.title, "not yet", note=_GONE))


def _cells(head: dict[str, Any], folder: Path) -> dict[str, Any]:
    """In the fork: have a child run a notebook's cells. A cell that ends its child is left out."""
    from .child import Process
    from .learner import heard
    from .notebook import serve_cells

    choose(head["lang"])
    cells, (most, whole) = head["cells"], head["seconds"]
    errors: dict[int, Any] = {}
    until = time.monotonic() + whole
    for _ in range(_TRIES):
        child = Process(
            partial(serve_cells, cells), folder, on_gpu=bool(head["triton"] and _on_gpu())
        )
        child.fork()
        ended = False
        for number in (n for n in range(len(cells)) if n not in errors):
            seconds = max(0.1, min(most, until - time.monotonic()))
            answer = child.ask({"cell": number, "seconds": seconds}, seconds)
            if not isinstance(answer, wire.Message):
                errors[number], ended = tell(answer.sentence), True
                break
            if answer.head.get("kind") != "ok":
                errors[number] = tell(heard(answer.head.get("sentence", "")))
        if ended:
            continue
        answer = child.ask({"tell": True}, most)
        child.close()
        if isinstance(answer, wire.Message) and isinstance(answer.head.get("functions"), dict):
            return {"functions": answer.head["functions"], "errors": sorted(errors.items())}
        break
    return {"functions": {}, "errors": sorted(errors.items())}


#: How often a notebook is begun anew after a cell ended its process.
_TRIES = 6


def _judged(head: dict[str, Any], folder: Path) -> dict[str, Any]:
    """In the fork: judge a child that runs the function."""
    from .child import Child

    choose(head["lang"])
    exercise = EXERCISES[head["exercise"]]
    seconds = Seconds(*head["seconds"])
    on_gpu = bool(head.get("triton")) and _on_gpu()
    child = Child(exercise, head["packed"], folder, on_gpu=on_gpu)
    devices.judging = True  # the child alone touches a GPU
    made = child.start(seconds.call)
    try:
        if made.kind != "ok":
            return _told(not_made(exercise, made.sentence))
        return _told(_with_prints(judge(exercise, child, seconds), child))
    finally:
        child.close()


def _alone(head: dict[str, Any]) -> dict[str, Any]:
    """Judge in this process, which ends afterwards."""
    from .guard import call
    from .rebuilding import rebuild

    choose(head["lang"])
    exercise, seconds = EXERCISES[head["exercise"]], Seconds(*head["seconds"])
    with tempfile.TemporaryDirectory(dir=head["folder"]) as folder:
        made = call(lambda: rebuild(head["packed"], Path(folder)), (), seconds=seconds.call)
        if made.kind != "ok":
            return _told(not_made(exercise, made.sentence))
        return _told(judge(exercise, Local(exercise, made.value), seconds))


def _told(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = tell(report)
    return found


def _on_gpu() -> bool:
    from .. import kernels

    return kernels.mode() == "gpu"


def _with_prints(report: Report, runner: Runner) -> Report:
    from dataclasses import replace

    return replace(report, printed=runner.close())
