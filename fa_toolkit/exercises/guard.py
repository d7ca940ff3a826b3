"""Run a learner's function and come back: errors, endless loops and stubs become one sentence.

Covers any exception, `sys.exit`, and a loop in Python code (a timer in the main thread). A call into
compiled code that never returns, `os._exit` and a crash are `child`'s, from outside.
"""

from __future__ import annotations

import linecache
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Literal, get_args

from ..errors import FaError
from ..language import Text, using
from .clock import Watch, is_over
from .limits import gpu_sentence, memory_sentence
from .missing import behind

_PACKAGE = Path(__file__).resolve().parents[1]
_SOLUTIONS = Path(__file__).resolve().parent / "solutions"
_FOREIGN = tuple(
    str(Path(sysconfig.get_paths()[key]).resolve()) for key in ("stdlib", "purelib", "platlib")
)

#: Characters of an error message that are shown.
_LONGEST = 300

Kind = Literal["ok", "stub", "error", "stopped", "crashed"]
KINDS: tuple[str, ...] = get_args(Kind)


class Stopped(BaseException):
    """Raised inside learner code when its time is up; no `except Exception` swallows it."""


@dataclass(frozen=True)
class Call:
    """What came of one call: its value, or a sentence saying why there is none."""

    kind: Kind
    value: Any = None
    sentence: Text | str = ""
    used: float = 0.0  # seconds of processor time


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Stopped` after `seconds`, in the main thread only (elsewhere nothing is limited).

    Seconds of `clock`: those it computes, or those it waits.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    stop, tracer = _Stop(seconds), sys.gettrace()
    before = signal.signal(signal.SIGALRM, stop.now)
    # the interval repeats, so that a bare `except:` inside a loop does not outlive it
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if stop.swallowed:
            sys.settrace(tracer)


class _Stop:
    """Raises `Stopped`; where a loop swallows it, at the other lines of the loop, one by one.

    One of them lies outside the `try` that swallows.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.watch = seconds, Watch()
        self.fired = self.swallowed = False
        self.tried: set[tuple[CodeType, int]] = set()

    def now(self, signum: int, frame: FrameType | None) -> None:
        if not self.fired and not is_over(self.seconds, *self.watch.seconds()):
            return
        if not self.fired or frame is None:
            self.fired = True
            raise Stopped
        self.swallowed = True
        sys.settrace(self._line)
        while frame is not None:  # tracing reaches frames that run already only if told
            frame.f_trace = self._line
            frame = frame.f_back

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        place = (frame.f_code, frame.f_lineno)
        if event == "line" and place not in self.tried and is_learners(place[0].co_filename):
            self.tried.add(place)
            raise Stopped
        return self._line


def call(fn: Callable[..., Any], args: tuple[Any, ...], *, seconds: float) -> Call:
    """`fn(*args)`, with whatever goes wrong turned into a sentence with the learner's own line."""
    watch = Watch()
    found = _called(fn, args, seconds)
    return replace(found, used=watch.seconds()[1])


def _called(fn: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Call:
    try:
        with time_limit(seconds):
            return Call("ok", fn(*args))
    except NotImplementedError as error:
        place = _line(error)  # torch raises this type too, for operators it does not have
        if place is not None and "NotImplementedError" in place[1]:
            return Call("stub")
        return Call("error", sentence=sentence_of(error))
    except Stopped as error:
        return Call("stopped", sentence=stopped_sentence(_line(error), seconds))
    except KeyboardInterrupt:  # the learner's own
        raise
    except BaseException as error:
        return Call("error", sentence=sentence_of(error))


def stopped_sentence(place: tuple[int, str] | None, seconds: float) -> Text:
    """That its time was up, and at which line it was."""
    number, line = place or (0, "")
    at_en = f" It was at line {number}: {line}" if line else ""
    at_zh = f"停下时在第 {number} 行：{line}" if line else ""
    return Text(
        f"It was still running after {seconds:g} s and was stopped.{at_en}",
        f"运行了 {seconds:g} 秒还没结束，已停止。{at_zh}",
    )


def sentence_of(error: BaseException) -> Text:
    """Line, text of the line, and what was raised there."""
    cause, place = behind(_root(error)), _line(error)
    refused = memory_sentence(cause) or gpu_sentence(cause)
    if refused is not None:
        return _at(place, refused)
    en, zh = _message(cause, "en"), _message(cause, "zh")
    if place is None:
        return Text(f"The call failed: {en}", f"调用失败：{zh}")
    number, line = place
    if isinstance(cause, FaError):
        return _at(place, Text(en, zh))
    return Text(f"Line {number}, “{line}”, raised {en}", f"第 {number} 行“{line}”抛出 {zh}")


def _at(place: tuple[int, str] | None, text: Text) -> Text:
    if place is None:
        return text
    number, line = place
    return Text(f"Line {number}, “{line}”: {text.en}", f"第 {number} 行“{line}”：{text.zh}")


def _message(cause: BaseException, lang: str) -> str:
    with using(lang):
        try:
            text = " ".join(str(cause).split())
        except BaseException:  # an error of the learner's own that cannot speak
            text = ""
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if isinstance(cause, FaError):
        return text
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _root(error: BaseException) -> BaseException:
    """The error behind wrappers such as Triton's interpreter error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _line(error: BaseException | None) -> tuple[int, str] | None:
    """Number and text of the deepest line that the learner wrote, or None."""
    found = None
    while error is not None:
        step: TracebackType | None = error.__traceback__
        while step is not None:
            name = step.tb_frame.f_code.co_filename
            if is_learners(name):
                text = linecache.getline(name, step.tb_lineno, step.tb_frame.f_globals).strip()
                found = (step.tb_lineno, text or "…")
            step = step.tb_next
        error = error.__cause__
    return found


def is_learners(filename: str) -> bool:
    """Whether a file is neither Python's, nor a package's, nor ours."""
    if filename.startswith("<frozen") or filename in ("<__array_function__ internals>",):
        return False
    path = str(Path(filename).resolve()) if not filename.startswith("<") else filename
    if path.startswith(str(_SOLUTIONS)):
        return True
    return not path.startswith((str(_PACKAGE), *_FOREIGN))
