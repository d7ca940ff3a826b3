"""Notebooks are run in a real kernel, once, with nothing of the learner's; and the fa book command."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from small_book import Small, code, prose

from fa_toolkit import cli, language
from fa_toolkit.book import command, running, site
from fa_toolkit.book.inside import FILM, PREDICTION
from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import LANGUAGES, using

CELLS = [
    prose("title", "# One"),
    code("start", "import fa_toolkit as fa\n\nfa.course.start(3)"),
    code("folder", "import os\n\nos.environ['FA_DATA_DIR'], sorted(os.listdir())"),
    code("guess", 'guess = ...\nfa.course.compare(guess, 0.25, unit="MiB")'),
    code("film", "fa.viz.scrub(lambda n: fa.viz.softmax_bars([1, 2], n), n=(1, 2))"),
]


def written(path: Path, cells: list[Any]) -> Path:
    notebook = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    path.write_text(nbformat.writes(notebook), encoding="utf-8")  # type: ignore[no-untyped-call]
    return path


def test_a_notebook_is_run_once_and_brings_what_a_page_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "the learner's"))
    file = written(tmp_path / "03_x.ipynb", CELLS)
    told: list[str] = []

    def again() -> running.Ran:
        return running.run([("x", file)], tmp_path / "kept", jobs=1,
                           tell=lambda name, seconds: told.append(name))["x"]  # fmt: skip

    ran = again()
    cells = {cell.id: cell for cell in ran.notebook.cells}
    assert list(cells) == ["title", "start", "folder", "guess", "film"] and ran.seconds > 0
    shown = cells["folder"].outputs[0].data["text/plain"]
    assert "the learner's" not in shown and shown.endswith("[])")
    assert cells["guess"].outputs[0].data[PREDICTION] == {"value": "0.25", "unit": "MiB"}
    assert set(cells["film"].outputs[0].data[FILM]["frames"]) == {"0", "1"}
    kept = again()
    assert kept.seconds == 0 and kept.notebook.cells[3].outputs == cells["guess"].outputs
    assert told == ["x"]


def test_a_notebook_that_fails_is_a_sentence_and_is_not_kept(
    small: Small,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def fails(notebook: Any, name: str, folder: Path) -> None:
        raise running.RunError(name, expected="an end", got="ZeroDivisionError")

    monkeypatch.setattr(running, "_execute", fails)
    monkeypatch.setattr(language, "_started", [])
    monkeypatch.setattr("fa_toolkit.study.source_folder", lambda: small.source)
    written(small.source.parent / "other.ipynb", [])
    out = tmp_path / "out"
    assert cli.main(["book", "--lang", "en", "--out", str(out), "--chapters", "3"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err and not out.exists()
    assert list((tmp_path / "out-executed").iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "anew"),
    [
        ("fa_toolkit/viz/static/player.js", True),
        ("fa_toolkit/tiled/forward.py", True),
        ("fa_toolkit/book/inside.py", True),
        ("quizzes/03_softmax.yaml", True),
        ("fa_toolkit/book/site.py", False),
        ("fa_toolkit/book/static/book.css", False),
        ("fa_toolkit/tiled/__pycache__/forward.cpython-311.pyc", False),
        ("README.md", False),
    ],
)
def test_what_makes_a_kept_run_useless(
    changed: str, anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that can show in an output, and not what the book does with outputs afterwards."""

    def mark(cells: bytes = b"cells") -> str:
        running.package_mark.cache_clear()
        return running.mark(cells)

    file = tmp_path / changed
    file.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "quizzes").mkdir(exist_ok=True)
    file.write_text("a")
    monkeypatch.setattr(running, "PACKAGE", tmp_path / "fa_toolkit")
    try:
        before = mark()
        assert mark() == before != mark(b"other cells")
        file.write_text("b")
        assert (mark() != before) is anew
    finally:
        monkeypatch.undo()
        running.package_mark.cache_clear()


def test_the_command_looks_over_a_book_that_is_there(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "_started", [])
    monkeypatch.setenv("FA_LANG", "en")
    arguments = ["book", "--check", "--out", str(own)]
    assert cli.main(arguments) == 0
    assert "no fault" in capsys.readouterr().out
    page = own / "glossary.html"
    page.write_text(page.read_text().replace("</main>", '<a href="gone.html">x</a></main>'))
    assert cli.main(arguments) == 1
    said = capsys.readouterr().err.splitlines()
    assert said == ["glossary.html: leads to gone.html, which is not in the book", "1 faults"]
    assert cli.main([*arguments, "--lang", "zh"]) == 1
    assert "glossary.html: 链接到 gone.html" in capsys.readouterr().err
    assert cli.main(["book", "--check", "--out", str(own / "zh" / "no")]) == 2


def test_without_the_packages_of_the_course_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(language, "_started", [])
    monkeypatch.setattr(command, "_NEEDED", ("no_such_package",))
    assert cli.main(["book", "--lang", "en"]) == 2
    said = capsys.readouterr().err
    assert "no_such_package" in said and ".[course]" in said


def test_help_speaks_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    for lang in LANGUAGES:
        with pytest.raises(SystemExit), using(lang):
            cli.main(["book", "--help"])
        assert getattr(command.OPTIONS["check"], lang) in capsys.readouterr().out.replace("\n", "")


def test_what_no_build_has_needed_for_long_is_forgotten(tmp_path: Path) -> None:
    old, new = tmp_path / "old.ipynb", tmp_path / "new.ipynb"
    for file, age in ((old, 31), (new, 29)):
        file.write_text("{}")
        os.utime(file, (time.time() - age * 86400,) * 2)
    running.forget(tmp_path)
    assert not old.exists() and new.exists()


@pytest.mark.parametrize("jobs", [0, -3])
def test_no_notebook_at_a_time_is_refused_and_never_waited_for(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(ArgumentError, match="jobs"):
        site.build(tmp_path / "book", chapters=[0], jobs=jobs)


@pytest.mark.parametrize("text", ["x", "3-", "5-3", ",", "1.5", "0-99999999999", "-1"])
def test_chapters_that_are_no_numbers(text: str) -> None:
    with pytest.raises(ArgumentError, match="--chapters"):
        command.numbers(text)
