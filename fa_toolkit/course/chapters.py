"""The chapters by number: titles, and which version of the package a notebook was written for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .. import __version__
from ..errors import ArgumentError
from ..language import Text

TITLES: dict[int, Text] = {
    0: Text("Start here", "从这里开始"),
    1: Text("Memory hierarchy", "存储层级"),
    2: Text("Standard attention", "标准注意力"),
    3: Text("Softmax in blocks", "分块 softmax"),
    4: Text("Flash Attention in tiles", "分块的 Flash Attention"),
    5: Text("Triton basics", "Triton 基础"),
    6: Text("The flash kernel", "Flash kernel"),
    7: Text("Recomputation", "重计算"),
    8: Text("Speed", "速度"),
    9: Text("Inference and variants", "推理与各种变体"),
    11: Text("Fact check", "事实核对"),
    12: Text("Interview", "面试"),
}

#: Notebooks that show and do not ask: no quiz, no exercises, no progress.
GALLERIES: dict[int, Text] = {13: Text("Widget gallery", "播放器一览")}

_MISMATCH = Text(
    "This notebook was written for fa_toolkit {asked}; {have} is installed. Texts and checks may "
    "disagree. git pull and then make lab bring both to the same version.",
    "这份 notebook 是为 fa_toolkit {asked} 写的，而安装的是 {have}，文字和检查可能对不上。"
    "先 git pull 再 make lab，两边就一致了。",
)


def title(chapter: int) -> Text:
    """The title of a chapter.

    Raises:
        ArgumentError: if there is no such chapter.
    """
    every = TITLES | GALLERIES
    if chapter not in every:
        raise ArgumentError("chapter", expected=f"0..{max(every)}", got=repr(chapter))
    return every[chapter]


def notebook_version() -> str | None:
    """The version in the metadata of the notebook that runs this kernel, if both can be found."""
    session = os.environ.get("JPY_SESSION_NAME", "")
    if not session.endswith(".ipynb") or not Path(session).is_file():
        return None
    try:
        metadata = json.loads(Path(session).read_text(encoding="utf-8"))["metadata"]
        found = metadata.get("fa", {}).get("version")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return found if isinstance(found, str) else None


def mismatch(notebook: str | None, package: str = __version__) -> Text | None:
    """A sentence if notebook and package differ in their first two numbers."""
    if notebook is None or notebook.split(".")[:2] == package.split(".")[:2]:
        return None
    return Text(*(text.format(asked=notebook, have=package) for text in _MISMATCH))
