"""Which chapter `fa lab` opens, and at which heading: where the learner was last, if it is there.

Reads the store and the notebooks' names; starts nothing and imports nothing heavy.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import study
from ..errors import ArgumentError, FaError
from ..language import LANGUAGES, Language, Text, say
from ..progress import reading, store
from . import chapters
from .parts import parts

_FIRST = Text("Opening {chapter}, where the course begins.", "打开 {chapter}，课程从这里开始。")
_ASKED = Text("Opening {chapter}, as asked.", "按你的要求打开 {chapter}。")
_LAST = Text("Opening {chapter}, where you were last.", "打开 {chapter}，你上次学到这里。")
_LAST_AT = Text(
    "Opening {chapter} at “{heading}”, where you were last.",
    "打开 {chapter} 的“{heading}”，你上次学到这里。",
)
_GONE = Text(
    "You were last in chapter {number:02d}, which is not here any more. Opening {chapter}.",
    "你上次在第 {number:02d} 章，它已经不在这里了。打开 {chapter}。",
)
_ANOTHER = Text(
    "Another chapter: {fa} lab 5. All of them: {all}.", "打开别的章：{fa} lab 5。共有：{all}。"
)
_COMMA = Text(", ", "、")


@dataclass(frozen=True)
class Opening:
    """What to open: the notebook in the study folder, a heading's cell, and what to say of it."""

    notebook: str | None
    cell: str
    sentence: str


def opening(
    folder: Path, *, chapter: int | None, asked: Language | None, lang: Language
) -> Opening:
    """Decide what to open.

    Args:
        folder: the learner's copies.
        chapter: the chapter that was asked for; None: where the learner was last.
        asked: the language that was asked for; None: that of the last place, else `lang`.
        lang: the language of the terminal.

    Raises:
        ArgumentError: if a chapter was asked for that does not exist.
    """
    if chapter is not None:
        return _opened(folder, chapter, asked or lang, _ASKED)
    last = _place()
    if last is not None:
        read_in: Language = next((known for known in LANGUAGES if known == last.lang), lang)
        spoken = asked or read_in
        try:
            return _opened(folder, last.chapter, spoken, _LAST, cell=last.cell)
        except ArgumentError:
            return _opened(folder, 0, spoken, _GONE, number=last.chapter)
    try:
        return _opened(folder, 0, asked or lang, _FIRST)
    except ArgumentError:
        return Opening(None, "", "")  # a study folder without notebooks still opens


def _opened(
    folder: Path, chapter: int, lang: Language, text: Text, *, cell: str = "", number: int = 0
) -> Opening:
    name = study.notebook(chapter, lang, source=folder)
    part = next((one for one in parts(chapter, lang) if cell and cell in one.cells), None)
    title = f"{chapter:02d} {_title(chapter, name)}"
    if part is not None:
        text = _LAST_AT
    plain = part.title.replace("`", "").replace("*", "") if part else ""
    sentence = say(text, chapter=title, heading=plain, number=number)
    return Opening(name, part.id if part else "", f"{sentence} {_others(folder)}")


def _title(chapter: int, name: str) -> str:
    try:
        return say(chapters.title(chapter))
    except ArgumentError:  # a notebook of the learner's own
        return Path(name).stem[3:]


def _others(folder: Path) -> str:
    found = sorted({path.name[:2] for path in folder.glob("[0-9][0-9]_*.ipynb")})
    return say(_ANOTHER, fa=_command(), all=say(_COMMA).join(found))


def _command() -> str:
    """How `fa` is called here: by its name where a shell finds it, else by where it lies."""
    beside = Path(sys.executable).with_name("fa")
    if shutil.which("fa") or not beside.is_file():
        return "fa"
    return os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)


def _place() -> reading.Place | None:
    try:
        return reading.place(store())
    except (FaError, OSError):
        return None
