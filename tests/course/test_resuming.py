"""Where `fa lab` opens the course: the beginning, the chapter asked for, or the last place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fa_toolkit import cli, lab, study
from fa_toolkit.course.parts import parts
from fa_toolkit.course.resuming import Opening, opening
from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import Language, using
from fa_toolkit.progress import reading, store

SOURCE = study.source_folder()


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "data"))


def found(
    folder: Path = SOURCE, chapter: int | None = None, asked: Language | None = None
) -> Opening:
    return opening(folder, chapter=chapter, asked=asked, lang=asked or "en")


def was_at(chapter: int, cell: str, lang: str = "en") -> None:
    reading.note(store(), chapter, cell, lang)


def test_the_first_time_it_is_the_beginning() -> None:
    first = found()
    assert (first.notebook, first.cell) == ("00_start_here.ipynb", "")
    assert "where the course begins" in first.sentence and "fa lab 5" in first.sentence
    assert "00, 01, 02" in first.sentence and "12" in first.sentence


def test_afterwards_it_is_the_heading_of_the_last_cell() -> None:
    was_at(4, "setup")
    was_at(3, "merge-states")
    again = found()
    assert again.notebook == "03_softmax_in_blocks.ipynb"
    assert again.cell == "merge-ask"
    assert "03 Softmax in blocks" in again.sentence
    assert "Merging is the better idea" in again.sentence


def test_the_last_place_is_the_last_run_and_not_the_latest_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    was_at(3, "merge-states")
    monkeypatch.setattr("fa_toolkit.progress.schema.now", lambda: "1999-01-01T00:00:00.000+00:00")
    was_at(3, "first-half")
    assert found().cell == "half-row"
    was_at(3, "merge-states")  # once more: the same cell is the last again
    assert found().cell == "merge-ask"


def test_it_speaks_the_language_in_which_was_read_unless_another_is_asked() -> None:
    was_at(3, "merge-states", "zh")
    assert found().notebook == "zh/03_softmax_in_blocks.ipynb"
    [part] = [part for part in parts(3, "zh") if "merge-states" in part.cells]
    with using("zh"):
        assert part.title in found().sentence and found().cell == part.id
    assert found(asked="en").notebook == "03_softmax_in_blocks.ipynb"


def test_a_chapter_that_is_asked_for_is_opened_at_its_top() -> None:
    was_at(3, "merge-states")
    five = found(chapter=5)
    assert (five.notebook, five.cell) == ("05_triton_basics.ipynb", "")
    assert "05 Triton basics" in five.sentence
    with pytest.raises(ArgumentError, match="99"):
        found(chapter=99)


def test_a_cell_that_is_gone_opens_its_chapter_and_a_chapter_that_is_gone_the_first() -> None:
    was_at(3, "no-such-cell")
    assert (found().notebook, found().cell) == ("03_softmax_in_blocks.ipynb", "")
    assert "03 Softmax in blocks, where you were last" in found().sentence
    was_at(77, "anything")
    gone = found()
    assert gone.notebook == "00_start_here.ipynb"
    assert "chapter 77, which is not here any more" in gone.sentence


def test_an_empty_folder_opens_without_a_notebook(tmp_path: Path) -> None:
    assert found(tmp_path) == Opening(None, "", "")


def test_a_store_that_cannot_be_read_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "file"))
    assert found().notebook == "00_start_here.ipynb"


def test_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, fa_toolkit.cli, fa_toolkit.course.resuming as r; from pathlib import Path;"
        f"r.opening(Path({str(SOURCE)!r}), chapter=None, asked=None, lang='en');"
        "print([m for m in ('torch', 'triton', 'matplotlib', 'pydantic') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr


def test_the_command_says_it_and_the_address_carries_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FA_STUDY", str(tmp_path / "study"))
    monkeypatch.setenv("FA_LANG", "en")
    planned: list[lab.Lab] = []
    monkeypatch.setattr(lab, "serve", lambda one, **_: planned.append(one) or 0)
    was_at(3, "merge-states")
    assert cli.main(["lab"]) == cli.main(["lab", "5"]) == 0
    said = capsys.readouterr().out
    assert "at “Merging is the better idea”, where you were last" in said
    assert "Opening 05 Triton basics, as asked" in said
    assert planned[0].url.endswith("#cell-id=merge-ask")
    assert "/lab/tree/03_softmax_in_blocks.ipynb" in planned[0].url
    command = planned[0].command(browser=True)
    assert any(word.endswith("03_softmax_in_blocks.ipynb#cell-id=merge-ask") for word in command)
    assert planned[1].url.rpartition("token=")[0].endswith("05_triton_basics.ipynb?")
