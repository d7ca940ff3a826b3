"""What a learner's process may use: memory, files, other processes.

Linux holds all of it. macOS does not limit address space, so there and on a GPU memory is watched
from outside. Windows has neither; there only the time of a check is limited.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import FaError
from ..language import Text
from .landlock import confine_writes

#: Bytes a check may use beyond what the started process has; files; threads and processes.
MEMORY, FILES, TASKS = 4 << 30, 64 << 20, 64
_LINUX = sys.platform.startswith("linux")
_ASKED = re.compile(r"tried to allocate (\d+) bytes|Unable to allocate ([\d.]+) (\w+)")
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


class RefusedError(FaError, PermissionError):
    """Something that no exercise needs and that could do harm."""


def memory_sentence(error: BaseException) -> Text | None:
    """A sentence if `error` says that memory was refused."""
    if not isinstance(error, (MemoryError, RuntimeError)):
        return None
    text = BaseException.__str__(error)
    if "can't start new thread" in text:
        return Text(
            "It started more threads than a check allows.", "启动的线程太多，超过了检查允许的数量。"
        )
    if not isinstance(error, MemoryError) and "can't allocate memory" not in text:
        return None
    found = _ASKED.search(text)
    size = 0.0
    if found and found[1]:
        size = float(found[1])
    elif found:
        size = float(found[2]) * _UNITS.get(found[3], 1)
    asked_en = f"It asked for {size / 2**30:.3g} GiB of memory" if size else "It ran out of memory"
    asked_zh = f"申请了 {size / 2**30:.3g} GiB 内存" if size else "内存用完了"
    return Text(
        f"{asked_en}; a check may use {MEMORY >> 30} GiB.",
        f"{asked_zh}，一次检查至多用 {MEMORY >> 30} GiB。",
    )


_ON_GPU = re.compile(r"Tried to allocate ([\d.]+ \w+).*? total capacity of ([\d.]+ \w+)", re.S)
_OUTSIDE = Text(
    "a kernel reached memory outside its tensors; look at its masks and offsets",
    "有 kernel 访问了张量之外的内存；检查它的掩码和偏移",
)
_FAULTS = {
    "illegal memory access": _OUTSIDE,
    "operation not supported on global/shared address space": _OUTSIDE,  # far outside
    "misaligned address": Text(
        "a kernel used an address that its data type does not allow",
        "有 kernel 用了数据类型不允许的地址",
    ),
    "unspecified launch failure": Text(
        "a kernel was stopped, most often because it reached memory outside its tensors",
        "有 kernel 被中止，多半是因为访问了张量之外的内存",
    ),
    "device-side assert triggered": Text(
        "an assertion in a kernel failed", "有 kernel 里的断言不成立"
    ),
}


def gpu_sentence(error: BaseException) -> Text | None:
    """A sentence if `error` is one of a GPU: its memory, or a kernel that reached too far."""
    if not isinstance(error, RuntimeError):
        return None
    text = BaseException.__str__(error)
    found = _ON_GPU.search(text)
    if found:
        return Text(
            f"It asked for {found[1]} of GPU memory; this GPU has {found[2]}.",
            f"申请了 {found[1]} 显存；这块 GPU 有 {found[2]}。",
        )
    for name, meaning in _FAULTS.items():
        if name in text:
            return Text(f"{name}: {meaning.en}.", f"{name}：{meaning.zh}。")
    return None


TOO_MUCH = Text(
    f"It used more than {MEMORY >> 30} GiB of memory, or started too many processes, and was stopped.",
    f"用了超过 {MEMORY >> 30} GiB 的内存，或者启动了太多进程，已停止。",
)


def confine(folder: Path, *, on_gpu: bool) -> None:
    """Limit this process for the rest of its life."""
    sys.dont_write_bytecode = True
    with contextlib.suppress(ImportError):
        _limit(on_gpu)
    watchman = _Watchman(folder, on_gpu)
    # CUDA gives its threads names, which are files of this process, and does not start otherwise
    names = ("/proc/self/task",) if on_gpu else ()
    confine_writes((x for x in watchman.roots if x != os.devnull), ("/dev", *names))
    sys.addaudithook(watchman)


def _limit(on_gpu: bool) -> None:
    import resource

    def lower(name: str, value: int) -> None:
        kind = getattr(resource, name, None)
        if kind is None:
            return
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, limit))

    lower("RLIMIT_CORE", 0)
    lower("RLIMIT_FSIZE", FILES)
    if not on_gpu and _LINUX:  # a GPU's driver reserves terabytes of addresses
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        lower("RLIMIT_AS", pages * resource.getpagesize() + MEMORY)


#: Events of Python that reach outside, and what they reach.
_STARTS = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
    "os.forkpty", "pty.spawn", "os.startfile",
)  # fmt: skip
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")
_CHANGES = (
    "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link",
    "os.symlink", "os.mkdir", "os.utime", "shutil.rmtree", "shutil.move", "os.setxattr",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ONLY_HERE = Text("files in the check's own folder only", "只动检查自己文件夹里的文件")


class _Watchman:
    """An audit hook: Python calls it before it opens, deletes, starts or connects anything."""

    def __init__(self, folder: Path, on_gpu: bool) -> None:
        roots = [str(folder.resolve()), os.devnull]
        if on_gpu:  # compiled kernels are kept from check to check
            home = os.environ.get("TRITON_HOME", str(Path.home()))
            roots += [os.environ.get("TRITON_CACHE_DIR", str(Path(home, ".triton")))]
            roots += [os.environ.get("CUDA_CACHE_PATH", str(Path.home() / ".nv"))]
            for cache in roots[2:]:  # it must be there before it can be named as an exception
                with contextlib.suppress(OSError):
                    Path(cache).mkdir(parents=True, exist_ok=True)
            roots += [tempfile.gettempdir(), "/dev/"]
        self.roots, self.on_gpu, self.own = tuple(roots), on_gpu, os.getpid()

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writing = any(c in mode for c in "wax+") if isinstance(mode, str) else flags & _WRITES
            if writing and not isinstance(path, int):
                self._inside("open", path)
        elif event in _CHANGES:
            for path in args[:2] if event in ("os.rename", "os.link", "shutil.move") else args[:1]:
                if isinstance(path, (str, bytes, os.PathLike)):
                    self._inside(event, path)
        elif event in _STARTS and not (self.on_gpu and _from_triton()):
            raise RefusedError(
                event,
                expected=Text("no other programs during a check", "检查时不启动别的程序"),
                got=repr(args[0])[:60] if args else event,
            )
        elif event in _NETWORK:
            raise RefusedError(
                event,
                expected=Text("no network during a check", "检查时不用网络"),
                got=repr(args[-1])[:60],
            )
        elif event in ("os.kill", "os.killpg", "signal.pthread_kill") and args[0] != self.own:
            raise RefusedError(
                event,
                expected=Text("other processes left alone", "不去动别的进程"),
                got=repr(args)[:60],
            )

    def _inside(self, event: str, path: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if not real.startswith(self.roots):
            raise RefusedError(event, expected=_ONLY_HERE, got=real)


def _from_triton() -> bool:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if f"{os.sep}triton{os.sep}" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@dataclass(frozen=True)
class Use:
    """What all processes of a session use: bytes of memory, tasks, seconds of processor time."""

    memory: int = 0
    tasks: int = 0
    seconds: float = 0.0


def use_of(session: int) -> Use:
    """What the processes of a session use now."""
    if _LINUX:
        return _use_on_linux(session)
    done = subprocess.run(
        ["ps", "-g", str(session), "-o", "rss=,time="], capture_output=True, text=True, check=False
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    memory = sum(int(row[0]) for row in rows) << 10
    return Use(memory, len(rows), sum(seconds_of(row[1]) for row in rows))


def seconds_of(told: str) -> float:
    """The processor time that `ps` tells: `[[days-]hours:]minutes:seconds`."""
    days, _, clock = told.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part.replace(",", "."))
    return total + 86400 * int(days or 0)


def _use_on_linux(session: int) -> Use:
    size = tasks = ticks = 0
    for entry in _processes():
        try:
            fields = Path(entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session:  # fields are counted from the one after the name
            tasks += int(fields[17])
            size += int(fields[21]) * os.sysconf("SC_PAGESIZE")
            ticks += int(fields[11]) + int(fields[12])
    return Use(size, tasks, ticks / os.sysconf("SC_CLK_TCK"))


def _processes() -> Iterator[str]:
    with os.scandir("/proc") as entries:
        yield from (entry.path for entry in entries if entry.name.isdigit())
