"""The checks themselves. Each returns findings; none raises, none imports torch or Jupyter."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ..language import Text, current
from ..study import INSTALL_COURSE
from . import probe
from .findings import Finding, Report, Status
from .packages import requirement, version_of, widgets_pair

GB = 1e9
LEAST_MEMORY, LEAST_DISK = 1.5 * GB, 1.0 * GB

_AGAIN = Text("make env builds the tested versions", "make env 会装好测试过的版本")
_MODES = {
    "gpu": Text("kernels are compiled and run on {gpu}", "kernel 编译后在 {gpu} 上运行"),
    "interpreter": Text(
        "Triton's interpreter on the CPU: same results, small sizes only",
        "Triton 解释器，在 CPU 上运行：结果相同，只适合小尺寸",
    ),
    "none": Text("kernels cannot run here: {reason}", "这里不能运行 kernel：{reason}"),
}


def examine(timeout: float) -> Report:
    """All checks, the slow ones in a child that runs meanwhile."""
    child = probe.start()
    before = [finding for check in (python, versions, jupyter, widgets) for finding in _safe(check)]
    after = [finding for check in (memory, disk, data_folder, study) for finding in _safe(check)]
    found = probe.result(child, timeout)
    parts = (kernels, exercises, questions, font)
    told = [finding for check in parts for finding in _safe(partial(check, found))]
    return Report((*before, *told, *after), mode=str(found.get("mode", "none")), facts=found)


def _safe(check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings of a check; a check that breaks is a finding too, never a traceback."""
    try:
        return list(check())
    except Exception as error:
        name = getattr(check, "__name__", None) or check.func.__name__  # type: ignore[attr-defined]
        seen = Text(f"could not be looked at: {error!r}", f"无法检查：{error!r}")
        return [Finding(name, "warning", name, seen)]


def python() -> Iterable[Finding]:
    """The interpreter that runs this."""
    seen = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("python", "ok", "Python", seen)


def versions() -> Iterable[Finding]:
    """torch, triton and NumPy against the ranges this package declares."""
    for name in ("torch", "triton", "numpy"):
        wanted = requirement(name)
        if wanted is None:
            seen = Text(
                f"none for {platform.system()}: all but the kernels of 05 and 06 works",
                f"没有 {platform.system()} 的安装包：除第 05、06 章的 kernel 外都能用",
            )
            remedy = Text("Linux or WSL2 for the kernels", "要写 kernel，请用 Linux 或 WSL2")
            yield Finding(name, "warning", name, seen, remedy)
            continue
        found = version_of(wanted.name)
        if found is None:
            missing = Text("not installed", "没有安装")
            line = f'pip install "{wanted.name}{wanted.specifier}"'
            yield Finding(name, "fault", name, missing, line)
        elif wanted.specifier.contains(found, prereleases=True):
            yield Finding(name, "ok", name, found)
        else:
            seen = Text(
                f"{found}, outside the tested range {wanted.specifier}",
                f"{found}，不在测试过的范围 {wanted.specifier} 内",
            )
            yield Finding(name, "warning", name, seen, _AGAIN)


def jupyter() -> Iterable[Finding]:
    """JupyterLab and the kernel that runs the notebooks."""
    subject = "JupyterLab"
    missing = [name for name in ("jupyterlab", "ipykernel", "matplotlib") if not version_of(name)]
    if missing:
        names = ", ".join(missing)
        yield Finding(
            "jupyter", "fault", subject, Text(f"missing: {names}", f"缺少 {names}"), INSTALL_COURSE
        )
    else:
        yield Finding("jupyter", "ok", subject, str(version_of("jupyterlab")))


def widgets() -> Iterable[Finding]:
    """A widget needs its Python half and its browser half, of versions that fit."""
    for name in ("ipywidgets", "anywidget"):
        back, front, fits = widgets_pair(name)
        subject = Text(f"widgets: {name}", f"组件：{name}")
        if back is None:
            yield Finding(name, "fault", subject, Text("not installed", "没有安装"), INSTALL_COURSE)
        elif front is None:
            seen = Text(
                f"{back}, but its part for the browser is not in {sys.prefix}",
                f"{back}，但浏览器一侧的文件不在 {sys.prefix}",
            )
            line = f"pip install --force-reinstall --no-deps {name} jupyterlab_widgets"
            yield Finding(name, "fault", subject, seen, line)
        elif not fits:
            seen = Text(
                f"{back} does not fit its part for the browser, {front}",
                f"{back} 与浏览器一侧的 {front} 不配套",
            )
            line = f"pip install --upgrade {name} jupyterlab_widgets"
            yield Finding(name, "fault", subject, seen, line)
        else:
            seen = Text(f"{back}, browser part {front}", f"{back}，浏览器一侧 {front}")
            yield Finding(name, "ok", subject, seen)


def kernels(found: dict[str, Any]) -> Iterable[Finding]:
    """Where kernels run, and whether one that was run gave the right sum."""
    subject = Text("a kernel, run and compared", "运行一个 kernel 并核对结果")
    error = found.get("error") or found.get("torch_error") or found.get("kernel_error")
    if error:
        seen = Text(f"failed: {error}", f"失败：{error}")
        yield Finding("kernel", "fault", subject, seen, _AGAIN)
        return
    mode = found["mode"]
    reason = Text(*found["reason"])
    fields = {"gpu": found.get("gpu", "GPU")}
    text = Text(
        _MODES[mode].en.format(reason=reason.en, **fields),
        _MODES[mode].zh.format(reason=reason.zh, **fields),
    )
    can = mode != "none"
    no_wheel = requirement("triton") is None
    status: Status = "ok" if can else "warning" if no_wheel else "fault"
    yield Finding("mode", status, Text("mode", "模式"), text)
    if not can:
        return
    if found["kernel_right"]:
        seconds = f"{found['kernel_seconds']:.2f}"
        right = Text(f"1,000 sums, all equal, {seconds} s", f"1,000 个和全部相等，{seconds} 秒")
        yield Finding("kernel", "ok", subject, right)
    else:
        yield Finding("kernel", "fault", subject, Text("wrong result", "结果不对"), _AGAIN)
    if "hopper_absent" in found:
        yield _hopper(found["hopper_absent"])


def _hopper(absent: list[str] | None) -> Finding:
    """Whether this Triton can compile the kernels for the Hopper GPU that is here."""
    subject = Text("kernels for Hopper", "Hopper 版 kernel")
    if absent is None:
        seen = Text(
            'there; impl="auto" takes them where they are better',
            '可用；impl="auto" 会在更快时采用',
        )
        return Finding("hopper", "ok", subject, seen)
    why = Text(*absent)
    seen = Text(f"not with {why.en}; the readable ones run", f"不可用：{why.zh}；改用可读版")
    return Finding("hopper", "note", subject, seen, "triton==3.7.1")


def exercises(found: dict[str, Any]) -> Iterable[Finding]:
    """Whether the exercises can be loaded."""
    n = found.get("exercises", 0)
    seen = Text(f"{n} can be checked", f"{n} 道可以检查")
    yield from _loaded("exercises", Text("exercises", "练习"), n, seen, found)


def questions(found: dict[str, Any]) -> Iterable[Finding]:
    """Whether the question bank can be read."""
    n, chapters = found.get("questions", 0), found.get("chapters", 0)
    seen = Text(f"{n} questions in {chapters} chapters", f"{chapters} 章，{n} 道题")
    yield from _loaded("quiz", Text("question bank", "题库"), n, seen, found)


def _loaded(id: str, subject: Text, n: int, seen: Text, found: dict[str, Any]) -> Iterable[Finding]:
    """A part of the course that the child has loaded; nothing if there was no such child."""
    if "error" in found:  # told once, with the kernels
        return
    if n:
        yield Finding(id, "ok", subject, seen)
        return
    why = found.get(f"{id}_error") or Text("nothing there", "里面什么都没有")
    failed = Text("could not be loaded: {why}", "无法载入：{why}")
    both = why if isinstance(why, Text) else Text(why, why)
    seen = Text(failed.en.format(why=both.en), failed.zh.format(why=both.zh))
    yield Finding(id, "fault", subject, seen, INSTALL_COURSE)


def memory() -> Iterable[Finding]:
    """Memory that can still be had; unknown where the system does not tell without help."""
    free = _free_memory()
    if free is None:
        return
    low = free < LEAST_MEMORY
    seen = Text(f"{free / GB:.1f} GB free", f"剩余 {free / GB:.1f} GB")
    remedy = Text(
        "close other programs; a notebook takes about 1 GB",
        "关掉别的程序；一个 notebook 约占 1 GB",
    )
    yield Finding(
        "memory", "warning" if low else "ok", Text("memory", "内存"), seen, remedy if low else None
    )


def disk() -> Iterable[Finding]:
    """Room for the learner's files."""
    from ..study import study_folder

    folder = next(path for path in (study_folder(), *study_folder().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    low = free < LEAST_DISK
    seen = Text(f"{free / GB:.1f} GB free", f"剩余 {free / GB:.1f} GB")
    remedy = Text("make room", "请腾出空间") if low else None
    yield Finding("disk", "warning" if low else "ok", Text("disk", "磁盘"), seen, remedy)


def data_folder() -> Iterable[Finding]:
    """Where progress is kept."""
    from ..progress.files import location

    remedy = Text("name another folder: FA_DATA_DIR=<folder>", "换一个文件夹：FA_DATA_DIR=<文件夹>")
    yield _writable(
        "data", Text("progress is kept in", "学习进度存放在"), location().parent, remedy
    )


def study() -> Iterable[Finding]:
    """Where the learner's notebooks are."""
    from ..study import study_folder

    remedy = Text("name another folder: FA_STUDY=<folder>", "换一个文件夹：FA_STUDY=<文件夹>")
    subject = Text("your notebooks are in", "你的 notebook 存放在")
    yield _writable("study", subject, study_folder(), remedy)


def font(found: dict[str, Any]) -> Iterable[Finding]:
    """A font with Chinese characters for the figures; asked for only by who reads Chinese."""
    subject = Text("Chinese font for figures", "图中的中文字体")
    name = found.get("font")
    if name:
        yield Finding("font", "ok", subject, name)
        return
    status: Status = "warning" if current() == "zh" else "note"
    seen = Text("none; figures stay English", "没有；图里的文字会是英文")
    remedy = Text(
        "Debian and Ubuntu: sudo apt install fonts-noto-cjk; elsewhere: Noto Sans CJK SC",
        "Debian/Ubuntu：sudo apt install fonts-noto-cjk；其他系统：安装 Noto Sans CJK SC",
    )
    yield Finding("font", status, subject, seen, remedy)


def _writable(id: str, subject: Text | str, folder: Path, remedy: Text) -> Finding:
    """Try it with a file, since permission bits do not tell the whole truth."""
    near = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=near):
            pass
    except OSError as error:
        seen = Text(
            f"{folder}, which cannot be written: {error.strerror}",
            f"{folder}，但不能写入：{error.strerror}",
        )
        return Finding(id, "fault", subject, seen, remedy)
    return Finding(id, "ok", subject, str(folder))


def _free_memory() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        import psutil  # comes with ipykernel

        return float(psutil.virtual_memory().available)
    except ImportError:
        return None
