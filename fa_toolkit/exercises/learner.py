"""The process that runs a learner's function: forked for one check, confined, and then gone."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from ..language import Text
from . import limits, wire
from .calling import Local, Outcome, on_cpu
from .catalog import devices
from .guard import call, sentence_of
from .rebuilding import rebuild
from .spec import Exercise
from .values import Packing, TooLarge

CRASH = "crash.txt"


#: What a confined process does: read from one descriptor, answer on the other.
Serve = Callable[[Path, int, int], None]


def run(serve: Serve, folder: Path, source: int, sink: int, on_gpu: bool) -> NoReturn:
    """Confine this process, serve, and end it. Never returns into the code that forked."""
    status = 1
    try:
        _settle(folder)
        limits.confine(folder, on_gpu=on_gpu)
        # the judge that forked this process compares on the CPU; here the function runs
        devices.judging, devices.may_use_gpu = False, on_gpu
        serve(folder, source, sink)
        status = 0
    except wire.WireError:
        status = 0
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(status)


def _settle(folder: Path) -> None:
    """Work in the check's folder; where it crashes goes into a file there."""
    os.chdir(folder)
    crash = (folder / CRASH).open("w")  # open until the process ends
    faulthandler.enable(crash, all_threads=False)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, crash, all_threads=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _die_with_parent()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def serve_calls(
    exercise: Exercise, packed: dict[str, Any], folder: Path, source: int, sink: int
) -> None:
    """Make the function, then call it as often as asked."""
    start = wire.receive(source).head
    made = call(lambda: rebuild(packed, folder), (), seconds=float(start["seconds"]))
    wire.send(sink, *_told(Outcome(made.kind, None, made.sentence)))
    if made.kind != "ok":
        return
    local = Local(exercise, made.value)
    while True:
        asked = wire.receive(source).head
        wire.send(sink, *_answer(local, asked))


def _answer(local: Local, asked: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    try:
        found = local.call(asked["what"], asked["index"], asked["seconds"], asked["keys"])
        sys.stdout.flush()
        return _told(found)
    except TooLarge as error:
        return _told(Outcome("error", None, error.sentence))
    except BaseException as error:  # a result that breaks when it is looked at
        return _told(Outcome("error", None, sentence_of(error)))


def _told(found: Outcome) -> tuple[dict[str, Any], list[bytes]]:
    packing = Packing()
    value = packing.pack(found.value)
    after = [packing.pack(x) for x in on_cpu(found.after)]
    seen = {k: sorted(v) if isinstance(v, set) else v for k, v in asdict(found.seen).items()}
    head = {"kind": found.kind, "sentence": spoken(found.sentence), "value": value}
    return {**head, "after": after, "seen": seen, "used": found.used}, packing.blobs


def spoken(text: Text | str) -> Any:
    """A sentence as JSON: a string, or both languages."""
    return list(text) if isinstance(text, Text) else str(text)


def heard(told: Any) -> Text | str:
    """The same, read back."""
    if isinstance(told, list) and len(told) == 2:
        return Text(str(told[0]), str(told[1]))
    return str(told)
