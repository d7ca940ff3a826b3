"""What stands in every notebook alike: the line under a heading, the links at top and bottom.

And the glossary beside them.
Written from metadata and titles, so that no chapter can differ:

    python -m fa_toolkit.course.frame            # write them into notebooks/
    python -m fa_toolkit.course.frame --check    # name the notebooks in which they are out of date
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import study
from ..language import LANGUAGES, Language, Text, say, using
from . import chapters, counting, glossary
from .parts import END, FULL, HEADING, MARK, TOP, anchor, grouped, mark_of, source_of
from .tracks import TRACKS

WORDS = study.PACKAGE.parent / "quizzes" / "glossary.yaml"
#: chapter and cell whose heading is the map of the course
MAP = (0, "map")

_TRACKS = Text("Tracks: {names}. About {minutes} min", "路线：{names}。约 {minutes} 分钟")
_TRACK = Text("Track: {names}. About {minutes} min", "路线：{names}。约 {minutes} 分钟")
_DRILL = Text(", {drill} of them for exercises", "，其中练习 {drill} 分钟")
_PREVIOUS = Text("Previous: {link}", "上一章：{link}")
_NEXT = Text("Next: {link}", "下一章：{link}")
_MAP = Text("[The map]({to})", "[课程地图]({to})")
_GLOSSARY = Text("[Glossary]({to})", "[词汇表]({to})")
#: to the other edition, in its own language
_OTHER = Text("[中文]({to})", "[English]({to})")
_TITLE_MINUTES = re.compile(r"((?:about|约) )\d+( minutes| 分钟)")
_END_OF_SENTENCE = Text(".", "。")
_COMMA = Text(", ", "、")


def mark_line(mark: dict[str, Any]) -> str:
    """Tracks and minutes of a part, in the language in force."""
    ids = [name for name in TRACKS if name == FULL or name in mark["tracks"]]
    text = _TRACK if len(ids) == 1 else _TRACKS
    names = say(_COMMA).join(say(TRACKS[name].name) for name in ids)
    line = say(text, names=names, minutes=mark["minutes"])
    if mark.get("exercises"):
        line += say(_DRILL, drill=mark["exercises"])
    return f"*{line}{say(_END_OF_SENTENCE)}*"


def marked(source: str, mark: dict[str, Any]) -> str:
    """The cell's text with this line, and no older one, under its heading."""
    clean = MARK.sub("", source, count=1)
    heading = HEADING.search(clean)
    if heading is None:
        return source
    rest = clean[heading.end() :].strip("\n")
    return "\n\n".join(filter(None, [clean[: heading.end()], mark_line(mark), rest]))


def neighbours(chapter: int) -> tuple[int | None, int | None]:
    """The chapter before and the one after; the gallery comes last."""
    every = [*chapters.TITLES, *chapters.GALLERIES]
    at = every.index(chapter)
    return (every[at - 1] if at else None), (every[at + 1] if at + 1 < len(every) else None)


def links(chapter: int, lang: Language, source: Path | None = None) -> str:
    """Previous, next, the map, the words, and the other language, relative to the notebook."""
    before, after = neighbours(chapter)
    found = [
        say(text, link=f"[{other:02d} {say(chapters.title(other))}]({_file(other, lang, source)})")
        for text, other in ((_PREVIOUS, before), (_NEXT, after))
        if other is not None
    ]
    found.append(say(_MAP, to=_map(lang, source)))
    found.append(say(_GLOSSARY, to=glossary.NAME))
    name = _file(chapter, lang, source)
    found.append(say(_OTHER, to=f"../{name}" if lang == "zh" else f"zh/{name}"))
    return " · ".join(found)


def _file(chapter: int, lang: Language, source: Path | None) -> str:
    return Path(study.notebook(chapter, lang, source)).name


def _map(lang: Language, source: Path | None) -> str:
    chapter, cell_id = MAP
    folder = source or study.source_folder()
    cells = json.loads((folder / study.notebook(chapter, lang, folder)).read_text("utf-8"))["cells"]
    heading = next(HEADING.search(source_of(c)) for c in cells if c["id"] == cell_id)
    return f"{_file(chapter, lang, folder)}#{anchor(heading.group(1))}" if heading else ""


def framed(notebook: dict[str, Any], chapter: int, lang: Language, source: Path) -> dict[str, Any]:
    """The notebook with links, minutes and lines as they should be; all else is left alone."""
    with using(lang):
        row = links(chapter, lang, source)
        _estimate(notebook["cells"], chapter, source)
        cells = [cell for cell in notebook["cells"] if cell["id"] not in (TOP, END)]
        for cell in cells:
            mark = mark_of(cell)
            if mark is not None:
                text = marked(source_of(cell), mark)
                cell["source"] = text.splitlines(keepends=True)
    cells = [cells[0], _cell(TOP, row), *cells[1:], _cell(END, row)]
    return {**notebook, "cells": cells}


def _estimate(cells: list[dict[str, Any]], chapter: int, source: Path) -> None:
    """Minutes of parts, title and map, where they are not near what the contents say."""
    counts = counting.of_parts(chapter, source)
    for group in grouped(cells):
        mark, counted = mark_of(group[0]) or {}, counts.get(group[0]["id"])
        if counted is not None:
            mark.update(counted.estimates(mark))
            if not mark.get("exercises"):
                mark.pop("exercises", None)
    for cell in cells:
        if cell["id"] == "title" and chapter in chapters.TITLES:
            text = _TITLE_MINUTES.sub(rf"\g<1>{total(cells)}\g<2>", source_of(cell), count=1)
            cell["source"] = text.splitlines(keepends=True)
        if (chapter, cell["id"]) == MAP:
            text = mapped(source_of(cell), source)
            cell["source"] = text.splitlines(keepends=True)


def total(cells: list[dict[str, Any]]) -> int:
    """Minutes of a chapter: its parts together, in tens."""
    return counting.tens(sum(mark["minutes"] for cell in cells if (mark := mark_of(cell))))


def mapped(text: str, source: Path) -> str:
    """A map of the course, in a notebook or a README, with the minutes of every chapter."""
    for chapter in chapters.TITLES:
        path = source / study.notebook(chapter, "en", source)
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        _estimate([cell for cell in cells if cell["id"] not in ("title", "map")], chapter, source)
        text = re.sub(rf"(?m)^(\| {chapter:02d} \|.*\| )\d+ \|$", rf"\g<1>{total(cells)} |", text)
    return text


def _cell(name: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": [text]}


def bring(folder: Path, *, write: bool) -> list[str]:
    """The files of a folder whose frame is out of date; written anew if asked."""
    stale = []
    for path, wanted in _wanted(folder):
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted:
            stale.append(os.path.relpath(path, folder))
            if write:
                path.write_text(wanted, encoding="utf-8")
    return stale


def _wanted(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file and what should stand in it."""
    for lang in LANGUAGES:
        home = folder / "zh" if lang == "zh" else folder
        yield home / glossary.NAME, glossary.page(WORDS, lang)
        for path in sorted(home.glob("[0-9][0-9]_*.ipynb")):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            yield path, as_text(framed(notebook, int(path.name[:2]), lang, folder))
    for name in ("README.md", "README.zh.md"):
        readme = folder.parent / name
        if readme.is_file():
            yield readme, mapped(readme.read_text(encoding="utf-8"), folder)


def as_text(notebook: dict[str, Any]) -> str:
    """A notebook as the course keeps it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the frames, or with --check only look; 1 if any was out of date."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    stale = bring(study.source_folder(), write="--check" not in arguments)
    for name in stale:
        print(name)
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
