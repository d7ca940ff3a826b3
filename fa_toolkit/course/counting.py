"""What stands in a chapter, counted: words, code, cells, questions, exercises, widgets; an estimate.

Counts come from the English notebook and the question bank. Nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import exercises, study
from .chapters import GALLERIES, TITLES
from .parts import END, MARK, TOP, grouped, parts, source_of

#: calls that open something to play with
WIDGETS = re.compile(
    r"\bfa\.(?:viz\.(?:stepper|tile_player|traffic_player|memory_ladder|block_chooser|kernel_view|"
    r"scrub)|course\.(?:kernel_view|interview|departure))\("
)
_WORD = re.compile(r"[\w’'-]+")
#: what one reader takes, by guess: words a minute, minutes a cell, a player, a question of each kind
READING, RUNNING, PLAYING, CHOOSING, WRITING = 100, 1.5, 3.0, 1.0, 3.0
#: an exercise: to understand it, and a minute for so many lines of the solution
STARTING, LINES_A_MINUTE = 5.0, 1 / 0.6


@dataclass(frozen=True)
class Counts:
    """One chapter, or one part of it."""

    words: int
    code_lines: int
    cells: int
    questions: int
    written: int
    exercises: int
    exercise_lines: int
    widgets: int
    runs: int

    @property
    def exercise_minutes(self) -> float:
        """What its exercises take, an estimate."""
        return STARTING * self.exercises + self.exercise_lines / LINES_A_MINUTE

    @property
    def minutes(self) -> float:
        """What all of it takes, an estimate by the rule above."""
        asked = CHOOSING * (self.questions - self.written) + WRITING * self.written
        seen = self.words / READING + RUNNING * self.runs + PLAYING * self.widgets
        return seen + asked + self.exercise_minutes

    def estimates(self, mark: Mapping[str, Any]) -> dict[str, int]:
        """Minutes, of all and of the exercises: those of `mark` as long as they are near."""
        found = {}
        for name, counted in (("minutes", self.minutes), ("exercises", self.exercise_minutes)):
            said = mark.get(name, 0)
            fresh = rounded(counted) if counted else 0
            found[name] = said if near(said, counted) and bool(said) == bool(counted) else fresh
        return found


def written(exercise: str) -> float:
    """Minutes of one exercise by the same rule."""
    return STARTING + len(exercises.solved(exercise).splitlines()) / LINES_A_MINUTE


def near(said: float, counted: float) -> bool:
    """Whether an estimate may stand beside what the contents say."""
    return abs(said - counted) <= max(2.5, 0.3 * counted)


def of_chapter(chapter: int) -> Counts:
    """The counts of a whole chapter."""
    return _counts(_cells(chapter), chapter)


def of_parts(chapter: int, source: Path | None = None) -> dict[str, Counts]:
    """{id of the heading's cell: counts} of each part of a chapter."""
    groups = grouped(_cells(chapter, source))
    return {group[0]["id"]: _counts(group, chapter) for group in groups}


def _cells(chapter: int, source: Path | None = None) -> list[dict[str, Any]]:
    folder = source or study.source_folder()
    path = folder / study.notebook(chapter, "en", folder)
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["id"] not in (TOP, END)]


def _counts(cells: Sequence[dict[str, Any]], chapter: int) -> Counts:
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    prose = [cell for cell in cells if cell["cell_type"] == "markdown"]
    names = [name for cell in code if (name := cell["metadata"].get("fa", {}).get("exercise"))]
    asked = any("fa.course.quiz(" in source_of(cell) for cell in code)
    kinds = _kinds(chapter) if asked else []
    plain = [source_of(c) for c in code if "exercise" not in c["metadata"].get("fa", {})]
    return Counts(
        words=sum(len(_WORD.findall(MARK.sub("", source_of(cell)))) for cell in prose),
        code_lines=sum(bool(line.strip()) for text in plain for line in text.splitlines()),
        cells=len(cells),
        questions=len(kinds),
        written=kinds.count("text"),
        exercises=len(names),
        exercise_lines=sum(len(exercises.solved(name).splitlines()) for name in names),
        widgets=sum(len(WIDGETS.findall(text)) for text in plain),
        runs=sum(not re.match(r"fa\.course\.(check|quiz)\(", text) for text in plain),
    )


def _kinds(chapter: int) -> list[str]:
    from ..quiz import load_bank

    found = load_bank().chapters.get(chapter)
    return [question.kind for question in found.questions] if found else []


def rounded(minutes: float) -> int:
    """Whole minutes below ten, fives above: an estimate is no more exact than that."""
    return max(1, round(minutes)) if minutes < 10 else 5 * round(minutes / 5)


def chapter_minutes(chapter: int) -> int:
    """What a chapter takes as its title and the map say it: its parts together, in tens."""
    return tens(sum(part.minutes for part in parts(chapter, "en")))


def tens(minutes: int) -> int:
    """To the nearest ten."""
    return 10 * int(minutes / 10 + 0.5)


def numbers() -> Iterable[int]:
    """Every chapter that has a notebook, the gallery last."""
    return (*TITLES, *GALLERIES)
