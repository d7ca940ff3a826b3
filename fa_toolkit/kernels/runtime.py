"""Where kernels run in this process: GPU, interpreter, or nowhere. Decided here and only here.

Triton reads TRITON_INTERPRET when it is first imported and its own library is decorated then, so
the choice is made once, before that import, and cannot be changed afterwards.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from typing import Literal

from ..errors import BackendUnavailable
from ..language import Text, say

ModeName = Literal["gpu", "interpreter", "none"]
logger = logging.getLogger(__name__)


class Mode(str):
    """One of "gpu", "interpreter" and "none", with the reason for it."""

    reason: Text

    def __new__(cls, name: ModeName, reason: Text) -> Mode:
        self = super().__new__(cls, name)
        self.reason = reason
        return self

    @property
    def name(self) -> str:
        """The plain string."""
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"Mode({self.name!r}: {say(self.reason)})"


_REASONS = {
    "missing": Text(
        "Triton is not installed; there is no wheel for this platform",
        "没有安装 Triton；它没有为这个平台提供安装包",
    ),
    "broken": Text("Triton is installed but cannot be imported", "装了 Triton，但无法导入"),
    "device": Text("a GPU is present, kernels are compiled for it", "有 GPU，kernel 会为它编译"),
    "no device": Text(
        "no GPU here, Triton's interpreter runs the kernels on the CPU",
        "这里没有 GPU，由 Triton 解释器在 CPU 上运行 kernel",
    ),
    "asked": Text(
        "TRITON_INTERPRET=1 is set, Triton's interpreter runs the kernels on the CPU",
        "设置了 TRITON_INTERPRET=1，由 Triton 解释器在 CPU 上运行 kernel",
    ),
    "compile only": Text(
        "TRITON_INTERPRET=0 is set and no GPU is here: kernels can be compiled but not run",
        "设置了 TRITON_INTERPRET=0，而这里没有 GPU：kernel 只能编译，不能运行",
    ),
    "too late": Text(
        "Triton was imported before fa_toolkit.kernels and compiles for a GPU that is not here",
        "Triton 在 fa_toolkit.kernels 之前就被导入了，它要为一块并不存在的 GPU 编译",
    ),
    "moved": Text(
        "this version of Triton moved parts of its interpreter that the package relies on",
        "这个版本的 Triton 改动了解释器中本工具包依赖的部分",
    ),
}
_HINTS = {
    "missing": Text(
        'impl="tiled" or impl="reference", or Linux or WSL2, where Triton can be installed',
        'impl="tiled" 或 impl="reference"；或者换到可以安装 Triton 的 Linux、WSL2',
    ),
    "broken": Text("fa doctor, which shows the error", "运行 fa doctor 查看错误"),
    "compile only": Text(
        "restart without TRITON_INTERPRET, or with TRITON_INTERPRET=1",
        "去掉 TRITON_INTERPRET 或设为 1，然后重启",
    ),
    "too late": Text(
        "restart the kernel and import fa_toolkit.kernels first",
        "重启 Jupyter 内核，并最先导入 fa_toolkit.kernels",
    ),
    "moved": Text("triton==3.7.1", "triton==3.7.1"),
}
_decided: list[Mode] = []
_cause: list[str] = []


def _interprets() -> bool:
    """Whether the Triton that is loaded decorated its own library for the interpreter."""
    language = importlib.import_module("triton.language")
    interpreter = importlib.import_module("triton.runtime.interpreter")
    return isinstance(language.max, interpreter.InterpretedFunction)


def installed() -> bool:
    """Whether there is a Triton to import."""
    try:
        return importlib.util.find_spec("triton") is not None
    except ImportError:
        return False


def _gpu_here() -> bool:
    import torch

    return torch.cuda.is_available()


def _interpreter(cause: str) -> tuple[ModeName, str]:
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        importlib.import_module("triton")
    except ImportError:
        logger.debug("import triton", exc_info=True)
        return "none", "broken"
    from . import interpreter

    moved = interpreter.missing_names()
    if moved:
        logger.warning("%s: %s", say(_REASONS["moved"]), ", ".join(moved))
        return "none", "moved"
    interpreter.install()
    if cause == "no device":
        logger.warning(
            say(
                Text(
                    "No GPU found: Triton kernels run in the interpreter on the CPU. "
                    "Same results, small sizes only.",
                    "没有找到 GPU：Triton kernel 将在 CPU 上由解释器执行，结果相同，只适合小尺寸。",
                )
            )
        )
    return "interpreter", cause


def _decide() -> tuple[ModeName, str]:
    loaded = sys.modules.get("triton") is not None
    if not loaded and not installed():
        return "none", "missing"
    if loaded and _interprets():
        return _interpreter("asked")
    wish = os.environ.get("TRITON_INTERPRET", "").strip().lower()
    asked = wish in ("1", "true", "on", "yes", "y")
    if loaded:
        if not asked and _gpu_here():
            return "gpu", "device"
        return "none", "compile only" if wish in ("0", "false", "off") else "too late"
    if asked:
        return _interpreter("asked")
    if _gpu_here():
        return "gpu", "device"
    return ("none", "compile only") if wish else _interpreter("no device")


def mode() -> Mode:
    """Where kernels run: "gpu", "interpreter" or "none"; `.reason` says why. Decided once."""
    if not _decided:
        name, cause = _decide()
        _cause.append(cause)
        _decided.append(Mode(name, _REASONS[cause]))
    return _decided[0]


def require() -> Mode:
    """The mode, if kernels can run here.

    Raises:
        BackendUnavailable: if they cannot, with the reason and what to do.
    """
    found = mode()
    if found == "none":
        raise BackendUnavailable(
            "Triton",
            expected=Text("a Triton that can run kernels here", "能在这里运行 kernel 的 Triton"),
            got=found.reason,
            hint=_HINTS[_cause[0]],
        )
    return found
