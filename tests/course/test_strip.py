"""The strip of a chapter and the list of a track: what is done, what comes next, said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fa_toolkit import course, language
from fa_toolkit.course import watching
from fa_toolkit.course.memory import store
from fa_toolkit.course.parts import parts
from fa_toolkit.course.strip import counts, hours, strip_card, track_card
from fa_toolkit.course.tracks import TRACKS
from fa_toolkit.course.where import states, upcoming
from fa_toolkit.errors import UnknownNameError
from fa_toolkit.language import using
from fa_toolkit.progress import reading
from fa_toolkit.quiz import load_bank

NOON = datetime(2026, 1, 2, 12, 0)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path))
    language.choose("en")
    yield
    language._started.clear()
    watching.stop()


def run(chapter: int, *cells: str) -> None:
    for cell in cells:
        reading.note(store(), chapter, cell, "en")


def passed(exercise: str) -> None:
    attempt = {"item": exercise, "kind": "exercise", "chapter": 3, "lang": "en", "score": 100,
               "answer": {"outcome": "passed"}, "outcome": "passed", "version": "0"}  # fmt: skip
    store().record(attempt)


def answered(question: str, chapter: int) -> None:
    store().record({"item": question, "kind": "quiz", "chapter": chapter, "lang": "en",
                    "score": 0, "answer": "x", "outcome": "wrong", "version": "0"})  # fmt: skip


def numbers(chapter: int) -> dict[str, tuple[int, int]]:
    return {name: (done, of) for name, done, of in counts(states(chapter))}


def test_a_new_chapter_has_nothing_done_and_begins_at_its_first_part() -> None:
    found = numbers(3)
    assert {done for done, _ in found.values()} == {0}
    assert found["Exercises"] == (0, 6) and found["Questions"][1] == len(
        load_bank().chapters[3].questions
    )
    text = strip_card(3, now=NOON).text
    assert "as of 2026-01-02 12:00" in text
    assert f"Next: {parts(3)[0].title}" in text


def test_a_part_is_done_when_all_its_cells_were_run() -> None:
    first, second = parts(3)[:2]
    run(3, *first.code[:-1])
    assert numbers(3)["Parts"][0] == 0 and states(3)[0].begun
    run(3, first.code[-1])
    assert numbers(3)["Parts"][0] == 1 and states(3)[0].done and states(3)[0].here
    coming = upcoming(states(3))
    assert coming is not None and coming.part == second


def test_exercises_and_questions_count_as_soon_as_they_are_kept() -> None:
    passed("03.merge")
    answered(load_bank().chapters[3].questions[0].id, 3)
    assert numbers(3)["Exercises"][0] == numbers(3)["Questions"][0] == 1
    drill = next(state for state in states(3) if state.part.exercises)
    assert "03.merge" not in drill.unpassed and len(drill.unpassed) == 5 and drill.begun


def test_what_comes_next_is_the_exercise_then_the_questions_then_the_next_chapter() -> None:
    every = parts(3)
    run(3, *(cell for part in every for cell in part.code))
    assert "(exercise 03.three_pass, " in strip_card(3).text
    for part in every:
        for exercise in part.exercises:
            passed(exercise)
    questions = load_bank().chapters[3].questions
    assert f"({len(questions)} questions left)" in strip_card(3).text
    for question in questions:
        answered(question.id, 3)
    body = strip_card(3).body
    assert "Everything in this chapter is done." in body
    assert 'href="04_flash_attention_in_tiles.ipynb"' in body


def test_whoever_skips_ahead_is_sent_on_and_not_back() -> None:
    merge = next(part for part in parts(3) if part.id == "merge-ask")
    run(3, *merge.code)
    coming = upcoming(states(3))
    assert coming is not None
    assert parts(3).index(coming.part) == parts(3).index(merge) + 1
    run(3, *(cell for part in parts(3)[3:] for cell in part.code))
    last = states(3)[-1]
    assert not last.countable, "a recap is prose: nothing of it can be done"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_can_be_read_aloud(lang: str) -> None:
    with using(lang):
        run(3, *parts(3)[0].code)
        body = strip_card(3, now=NOON).body
        titles = [part.title for part in parts(3)]
    label = {"en": "Where you are in chapter 03", "zh": "你在第 03 章的位置"}[lang]
    assert f'<nav class="fc-way" aria-label="{label}">' in body
    items = re.findall(r"<li [^>]*>.*?</li>", body)
    assert len(items) == len(titles)
    for title, item in zip(titles, items, strict=True):
        spoken = re.search(r'aria-label="([^"]+)"', item)
        assert spoken and title.replace("`", "")[:12] in spoken.group(1).replace("&quot;", '"')
    words = {
        "en": ("done", "not yet", "you were here last"),
        "zh": ("已完成", "还没做", "上次在这里"),
    }
    assert words[lang][0] in items[0] and words[lang][2] in items[0] and words[lang][1] in items[1]
    assert 'aria-current="step"' in items[0] and sum("aria-current" in x for x in items) == 1
    assert "✓" in items[0] and "○" in items[1], "a sign, not colour alone"


def test_a_track_lists_its_parts_in_its_order() -> None:
    text = track_card("interview").text
    heads = re.findall(r"^(\d\d) ", text, re.M)
    assert heads == ["00", "03", "01", "02", "04", "07", "08", "09", "11", "12"]
    assert "Exercises" not in text and "One loop over the blocks" in text
    assert re.findall(r"exercise (\d\d\.\w+)", text) == list(TRACKS["interview"].kept())
    passed("03.merge")
    assert "✓ exercise 03.merge" in track_card("interview").text
    assert "○ exercise 03.online" in track_card("interview").text
    run(3, *next(p for p in parts(3) if p.id == "merge-ask").code)
    assert "✓ Merging is the better idea" in track_card("interview").text
    assert "1 of " in track_card("short").text and "2 of " in track_card("interview").text
    assert "exercise" not in track_card("short").text.replace("first exercise", "")
    with using("zh"):
        assert "路线：两小时" in track_card("short").text
    with pytest.raises(UnknownNameError, match="short, interview, full"):
        track_card("fast")


def test_minutes_in_hours() -> None:
    assert [hours(n) for n in (118, 150, 544, 1650)] == [
        "2 hours", "2.5 hours", "9 hours", "28 hours"
    ]  # fmt: skip


class Shell:
    """An IPython that keeps what is displayed and who listens."""

    def __init__(self) -> None:
        self.callbacks: dict[str, list[Any]] = {"post_run_cell": []}
        self.events = SimpleNamespace(
            callbacks=self.callbacks,
            register=lambda name, fn: self.callbacks[name].append(fn),
            unregister=lambda name, fn: self.callbacks[name].remove(fn),
        )
        self.cell = ""
        self.shown: list[tuple[str, str]] = []

    def get_parent(self) -> dict[str, Any]:
        return {"metadata": {"cellId": self.cell}}

    def run(self, cell: str = "", text: str = "", success: bool = True) -> None:
        self.cell = cell
        result = SimpleNamespace(success=success, info=SimpleNamespace(raw_cell=text))
        for listener in list(self.callbacks["post_run_cell"]):
            listener(result)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    import IPython.display

    made = Shell()
    monkeypatch.setattr(watching, "shell", lambda: made)
    for name, how in (("display", "new"), ("update_display", "again")):
        monkeypatch.setattr(
            IPython.display,
            name,
            lambda card, how=how, **words: made.shown.append((how, f"{card.text}{words}")),
        )
    return made


def test_the_strip_follows_what_is_run_and_the_place_is_kept(shell: Shell) -> None:
    watching.watch(3)
    assert len(shell.shown) == 1 and "'strip': 3" in shell.shown[0][1]
    first = parts(3)[0]
    for cell in first.code:
        shell.run(cell)
    assert shell.shown[-1][0] == "again" and "Parts 1/" in shell.shown[-1][1]
    place = reading.place(store())
    assert place is not None and place[:3] == (3, first.code[-1], "en")
    before = len(shell.shown)
    shell.run(first.code[-1])
    assert len(shell.shown) == before, "nothing new, nothing drawn"


def test_a_cell_that_failed_or_is_not_of_the_chapter_counts_for_nothing(shell: Shell) -> None:
    watching.watch(3)
    shell.run(parts(3)[0].code[0], success=False)
    shell.run("of-my-own", text="x = 1")
    assert reading.place(store()) is None and len(shell.shown) == 1


def test_without_ids_cells_are_known_by_their_text(shell: Shell) -> None:
    watching.watch(0)
    shell.run(text="guess = ...")
    place = reading.place(store())
    assert place is not None and place.cell == "my-guess"


def test_an_answer_brings_the_strip_up_to_date(shell: Shell) -> None:
    watching.watch(3)
    question = load_bank().chapters[3].questions[0].id
    keep = course._recording(store().record)
    keep({"item": question, "kind": "quiz", "chapter": 3, "lang": "en", "score": 0,
          "answer": "x", "outcome": "wrong", "version": "0"})  # fmt: skip
    assert "Questions 1/" in shell.shown[-1][1]


def test_only_the_last_chapter_is_watched_and_a_broken_store_is_no_noise(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching.watch(3)
    watching.watch(4)
    assert len(shell.callbacks["post_run_cell"]) == 1

    def broken(*_: object) -> None:
        raise OSError("disk")

    monkeypatch.setattr(reading, "note", broken)
    shell.run(parts(4)[0].code[0])  # raises nothing
    watching.stop()
    assert shell.callbacks["post_run_cell"] == []
