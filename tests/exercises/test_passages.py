"""What an exercise names is there: the section to reread, the widget, the exercise that follows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fa_toolkit as fa
from fa_toolkit import exercises

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMED = [x for x in exercises.ids() if exercises.get(x).passage is not None]
FIRST = [x for x in exercises.ids() if "01" <= x[:2] <= "06"]


def headings(chapter: int, folder: Path = FOLDER) -> list[str]:
    """The sections of a chapter's notebook; none if it has none in this language."""
    found: list[str] = []
    for file in folder.glob(f"{chapter:02}_*.ipynb"):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                found += re.findall(r"^## (.*)$", "".join(cell["source"]), re.M)
    return found


def test_every_exercise_of_the_forward_chapters_names_a_passage() -> None:
    assert set(FIRST) <= set(NAMED)


@pytest.mark.parametrize("exercise_id", FIRST)
def test_the_passage_is_a_section_of_the_chapter(exercise_id: str) -> None:
    passage = exercises.get(exercise_id).passage
    assert passage is not None and passage.section.en in headings(passage.chapter)
    chinese = headings(passage.chapter, FOLDER / "zh")
    if chinese:
        assert passage.section.zh in chinese


@pytest.mark.parametrize("exercise_id", exercises.ids())
def test_widget_and_successor_exist(exercise_id: str) -> None:
    exercise = exercises.get(exercise_id)
    if exercise.widget:
        name = re.match(r"fa\.(viz|course)\.(\w+)\(", exercise.widget)
        assert name is not None and callable(getattr(getattr(fa, name[1]), name[2]))
    if exercise.then:
        assert exercises.get(exercise.then).id != exercise_id
