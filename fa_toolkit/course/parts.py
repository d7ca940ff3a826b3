"""The parts of a chapter: its second-level headings, with minutes, tracks and what stands in them.

Read from the course's own notebook, where each heading's cell carries them as metadata:

    {"fa": {"part": {"minutes": 50, "exercises": 35, "tracks": ["interview"]}}}

50 minutes, an estimate, 35 of them for exercises. Every part belongs to the full track besides. Knows
nothing of what the learner did.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import study
from ..errors import ArgumentError
from ..language import Language, current

#: the cells of links at top and bottom of every notebook
TOP, END = "links-top", "links-end"
#: the line under a heading, in either language; nothing else of a chapter looks like it
MARK = re.compile(r"^\*(?:Tracks?: |路线：).*\*$\n*", re.MULTILINE)
HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
#: calls whose cells are no part of the reading: exercises and questions are counted apart
_ASKED = re.compile(r"^fa\.course\.(quiz|check)\(", re.MULTILINE)
FULL = "full"


@dataclass(frozen=True)
class Part:
    """One heading and what follows it, up to the next.

    `id` is that of the heading's cell, `code` those of the cells to run that are neither exercises,
    nor their checks, nor the quiz.
    """

    chapter: int
    notebook: str
    id: str
    title: str
    minutes: int
    exercise_minutes: int
    tracks: tuple[str, ...]
    cells: tuple[str, ...]
    code: tuple[str, ...]
    exercises: tuple[str, ...]
    quiz: bool

    @property
    def link(self) -> str:
        """From a notebook of the same folder to this heading, as JupyterLab and nbconvert name it."""
        return f"{Path(self.notebook).name}#{anchor(self.title)}"


def anchor(title: str) -> str:
    """What follows `#` in a link to this heading.

    Example:
        >>> anchor("A row, `at` a time")
        'A-row%2C-at-a-time'
    """
    return quote(re.sub(r"[`*]", "", title).replace(" ", "-"))


def parts(chapter: int, lang: Language | None = None) -> tuple[Part, ...]:
    """The parts of a chapter in order; none where no notebook is installed, or in the gallery."""
    try:
        name = study.notebook(chapter, lang or current())
    except ArgumentError:
        return ()
    return _read(chapter, study.source_folder(), name)


@functools.lru_cache(maxsize=64)
def _read(chapter: int, folder: Path, name: str) -> tuple[Part, ...]:
    cells = json.loads((folder / name).read_text(encoding="utf-8"))["cells"]
    return tuple(_part(chapter, name, group) for group in grouped(cells))


def grouped(cells: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cells from one marked heading to the next; what stands before the first is left out."""
    group: list[dict[str, Any]] = []
    for cell in cells:
        if mark_of(cell) is not None:
            if group:
                yield group
            group = [cell]
        elif group:
            group.append(cell)
    if group:
        yield group


def mark_of(cell: dict[str, Any]) -> dict[str, Any] | None:
    """Minutes and tracks of a heading's cell; None for every other cell."""
    found = cell["metadata"].get("fa", {}).get("part")
    return found if isinstance(found, dict) else None


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell, which the format allows to be a list of lines."""
    return "".join(cell["source"])


def _part(chapter: int, name: str, group: list[dict[str, Any]]) -> Part:
    mark = mark_of(group[0]) or {}
    heading = HEADING.search(source_of(group[0]))
    code = [cell for cell in group if cell["cell_type"] == "code"]
    stubs = [(cell["id"], cell["metadata"].get("fa", {}).get("exercise")) for cell in code]
    return Part(
        chapter=chapter,
        notebook=name,
        id=group[0]["id"],
        title=heading.group(1).strip() if heading else "",
        minutes=int(mark.get("minutes", 0)),
        exercise_minutes=int(mark.get("exercises", 0)),
        tracks=(*mark.get("tracks", ()), FULL),
        cells=tuple(cell["id"] for cell in group),
        code=tuple(
            cell["id"]
            for cell, (_, exercise) in zip(code, stubs, strict=True)
            if exercise is None and not _ASKED.search(source_of(cell))
        ),
        exercises=tuple(exercise for _, exercise in stubs if exercise),
        quiz=any("fa.course.quiz(" in source_of(cell) for cell in code),
    )
