"""The notebook's hold on the server of checks: start it, ask it, replace it, end it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from ..errors import BackendUnavailable
from ..language import Text
from . import wire

_COMMAND = "from fa_toolkit.exercises.server import main; main()"
#: Seconds to start.
START = 120.0
_FORKS = hasattr(os, "fork")
#: "--one-process" where the system cannot fork.
arguments: list[str] = [] if _FORKS else ["--one-process"]


class Server:
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
                    [sys.executable, "-c", _COMMAND, *arguments],
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
            elif arguments:
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
    found["CUDA_LAUNCH_BLOCKING"] = "1"  # a kernel's fault comes up at the line that starts it
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
