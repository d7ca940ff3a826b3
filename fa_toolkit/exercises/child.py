"""The judge's hold on the process that runs the learner's function: ask, wait, end it."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import select
import signal
import time
from pathlib import Path
from typing import Any

from ..language import Text
from . import learner, limits, wire
from .calling import Outcome, What
from .clock import PATIENCE, is_over
from .guard import KINDS, is_learners, stopped_sentence
from .spec import Exercise
from .values import unpack
from .watch import Seen

#: Seconds after which a call that should have been stopped by itself is ended from outside.
GRACE = 1.0
#: Characters of what a function prints that are kept, and seconds between two looks at memory.
PRINTED, LOOK = 4000, 0.1
_PLACE = re.compile(r'File "(.+)", line (\d+) in ')


class Process:
    """A forked and confined process that serves. Started anew after it died."""

    def __init__(self, serve: learner.Serve, folder: Path, *, on_gpu: bool) -> None:
        self.serve, self.folder, self.on_gpu = serve, folder, on_gpu
        self.printed, self.more = b"", 0
        self.pid = 0

    def fork(self) -> None:
        """Start it."""
        to_child, from_child, prints = os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            _keep_only(to_child[0], from_child[1], prints[1])
            learner.run(self.serve, self.folder, 3, 4, self.on_gpu)
        for fd in (to_child[0], from_child[1], prints[1]):
            os.close(fd)
        self.sink, self.source, self.prints = to_child[1], from_child[0], prints[0]

    def ask(self, head: dict[str, Any], seconds: float) -> Outcome | wire.Message:
        """Its answer, or, where none came, what happened to it."""
        try:
            wire.send(self.sink, head)
            if self._wait(seconds + GRACE):
                return wire.receive(self.source, time.monotonic() + PATIENCE * GRACE)
            return self._ended(limits.TOO_MUCH, "crashed")
        except wire.WireError as error:
            if str(error) == "late":
                return self._late(seconds)
            if str(error) == "closed":
                return self._dead()
            return self._ended(NONSENSE, "crashed")

    def _wait(self, limit: float) -> bool:
        """Until an answer comes; False if it uses too much meanwhile."""
        began, before = time.monotonic(), None
        while True:
            ready, _, _ = select.select([self.source, self.prints], [], [], LOOK)
            if self.prints in ready:
                self._drain()
            if self.source in ready:
                return True
            wall = time.monotonic() - began
            if wall > LOOK:
                use = limits.use_of(self.pid)
                before = use.seconds if before is None else before
                if use.memory > limits.MEMORY + (1 << 30) or use.tasks > 8 * limits.TASKS:
                    return False
                if is_over(limit, wall, use.seconds - before):
                    raise wire.WireError("late")

    def _drain(self) -> None:
        """Take what was printed, keep the first of it, count the rest."""
        while select.select([self.prints], [], [], 0)[0]:
            text = os.read(self.prints, 1 << 20)
            room = max(0, PRINTED - len(self.printed))
            self.printed += text[:room]
            self.more += len(text[room:])
            if not text or select.select([self.source], [], [], 0)[0]:
                time.sleep(0.001 if not text else 0)  # it closed its output; or it has answered
                return

    def _late(self, seconds: float) -> Outcome:
        """Out of time, in code that Python cannot interrupt: ask where, then end it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(0.1)
        sentence = stopped_sentence(self._place(), seconds)
        return self._ended(sentence, "stopped")

    def _dead(self) -> Outcome:
        status = self._reap(patience=1.0)
        number, line = self._place() or (0, "")
        at_en = f" It was at line {number}: {line}" if line else ""
        at_zh = f"当时在第 {number} 行：{line}" if line else ""
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            if name == "SIGKILL":
                return Outcome("crashed", sentence=limits.TOO_MUCH)
            text = Text(
                f"It crashed its process ({name}); your notebook is untouched.{at_en}",
                f"它让自己的进程崩溃了（{name}）；你的 notebook 不受影响。{at_zh}",
            )
        else:
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
            text = Text(
                f"It ended its own process (exit status {code}) instead of returning.{at_en}",
                f"它没有返回，而是结束了自己的进程（退出码 {code}）。{at_zh}",
            )
        return Outcome("crashed", sentence=text)

    def _ended(self, sentence: Text, kind: Any) -> Outcome:
        self._reap()
        return Outcome(kind, sentence=sentence)

    def _place(self) -> tuple[int, str] | None:
        """The learner's line that the crash file names, innermost first."""
        try:
            told = (self.folder / learner.CRASH).read_text(errors="replace")
        except OSError:
            return None
        for file, number in _PLACE.findall(told):
            if is_learners(file) and Path(file).parent == self.folder:
                return int(number), linecache.getline(file, int(number)).strip()
        return None

    def _reap(self, patience: float = 0.0) -> int:
        """Kill what is left of its session, and return how it ended.

        Args:
            patience: seconds in which it may end by itself, so that its status is its own.
        """
        pid, self.pid = self.pid, 0
        if not pid:
            return 0
        until = time.monotonic() + patience
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() >= until:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # children of its own
        with contextlib.suppress(OSError):
            self._drain()
        for fd in (self.sink, self.source, self.prints):
            os.close(fd)
        return status

    def close(self) -> str:
        """End the process; what it printed, cut to a readable length."""
        self._reap()
        text = self.printed.decode(errors="replace")
        return text + (f"… (+{self.more:,} bytes)" if self.more else "")


class Child(Process):
    """The process that holds the function of one check."""

    def __init__(
        self, exercise: Exercise, packed: dict[str, Any], folder: Path, *, on_gpu: bool
    ) -> None:
        def serve(here: Path, source: int, sink: int) -> None:
            learner.serve_calls(exercise, packed, here, source, sink)

        super().__init__(serve, folder, on_gpu=on_gpu)

    def start(self, seconds: float) -> Outcome:
        """Fork, and have the function made there."""
        self.fork()
        return _heard(self.ask({"seconds": seconds}, seconds))

    def call(self, what: What, index: int, seconds: float, keys: int | None = None) -> Outcome:
        """Call there, and come back whatever happens."""
        if self.pid == 0:
            made = self.start(seconds)
            if made.kind != "ok":
                return made
        head = {"what": what, "index": index, "seconds": seconds, "keys": keys}
        return _heard(self.ask(head, seconds))


def _keep_only(source: int, sink: int, prints: int) -> None:
    """0 reads nothing, 1 and 2 are what is printed, 3 and 4 the messages; nothing else is open."""
    kept = [os.dup2(fd, 200 + i) for i, fd in enumerate((source, sink, prints))]
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, place in ((null, 0), (kept[2], 1), (kept[2], 2)):
        os.dup2(fd, place)
    os.dup2(kept[0], 3, inheritable=False)
    os.dup2(kept[1], 4, inheritable=False)
    os.closerange(5, 256)


def _heard(message: Outcome | wire.Message) -> Outcome:
    """The answer of a process that ran a learner's code: every field is checked."""
    if isinstance(message, Outcome):
        return message
    head, blobs = message.head, message.blobs
    kind = head.get("kind")
    if kind not in KINDS:
        return Outcome("error", sentence=NONSENSE)
    seen, told = Seen(), head.get("seen")
    if isinstance(told, dict):
        for name in ("largest", "read"):
            number = told.get(name, 0)
            setattr(seen, name, number if isinstance(number, int) else 0)
        shape, tiles = told.get("largest_shape", []), told.get("tiles", [])
        seen.largest_shape = tuple(shape) if isinstance(shape, list) else ()
        if isinstance(tiles, list):
            seen.tiles = [tuple(x) for x in tiles if _is_tile(x)]
        called = told.get("called", [])
        seen.called = {str(x)[:60] for x in called} if isinstance(called, list) else set()
    after, used = head.get("after"), head.get("used")
    return Outcome(
        kind,
        unpack(head.get("value"), blobs),
        learner.heard(head.get("sentence", "")),
        [unpack(x, blobs) for x in after] if isinstance(after, list) else [],
        seen,
        used if isinstance(used, (int, float)) and used >= 0 else 0.0,
    )


def _is_tile(told: Any) -> bool:
    return (
        isinstance(told, list)
        and len(told) == 2
        and all(isinstance(x, int) and x > 0 for x in told)
    )


NONSENSE = Text("The process that ran it answered nonsense.", "运行它的进程给出了无法理解的回答。")
