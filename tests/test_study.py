"""The learner's copies: every case in which something could be lost, or come too late."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import study
from fa_toolkit.errors import ArgumentError, StoreError
from fa_toolkit.language import using

NAME = "03_softmax_in_blocks.ipynb"
BESIDE = "03_softmax_in_blocks.new.ipynb"


def notebook(*sources: str, **more: Any) -> bytes:
    """A notebook with one code cell per source; `more` goes into every cell."""
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), **more}
        for source in sources
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course's own folder with two chapters, one also in Chinese, and a figure."""
    folder = tmp_path / "课 程" / "notebooks"
    for name in ("00_start_here.ipynb", NAME, f"zh/{NAME}"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(notebook(f"# {name}", "version = 1"))
    (folder / "figures").mkdir()
    (folder / "figures" / "row.svg").write_text("<svg/>")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / NAME).write_text("not ours to copy")
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The learner's folder, not there yet."""
    return tmp_path / "学 习" / "study"


def new_version(course: Path, text: str = "version = 2", name: str = NAME) -> bytes:
    raw = notebook(f"# {name}", text)
    (course / name).write_bytes(raw)
    return raw


def edit(mine: Path, text: str = "my own answer", name: str = NAME) -> bytes:
    raw = notebook(f"# {name}", "version = 1", text)
    (mine / name).write_bytes(raw)
    return raw


def test_first_time_everything_is_copied_and_said(course: Path, mine: Path) -> None:
    update = study.prepare(mine, course)
    assert set(update.copied) == {"00_start_here.ipynb", NAME, f"zh/{NAME}", "figures/row.svg"}
    assert (mine / "zh" / NAME).read_bytes() == (course / "zh" / NAME).read_bytes()
    assert not (mine / ".ipynb_checkpoints").exists()
    with using("en"):
        assert update.messages()[0].startswith("4 new: ")
    with using("zh"):
        assert update.messages()[0].startswith("新增 4 个")
        update.copied += [f"{n:02d}.ipynb" for n in range(24)]
        said = update.messages()[0]
        assert said.startswith("新增 28 个") and said.endswith("…") and "23.ipynb" not in said


def test_second_time_nothing_is_written(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    before = {path: path.stat().st_mtime_ns for path in mine.rglob("*")}
    update = study.prepare(mine, course)
    assert (update.copied, update.refreshed, update.beside) == ([], [], {})
    assert {path: path.stat().st_mtime_ns for path in mine.rglob("*")} == before
    assert update.messages() == []


@pytest.mark.parametrize(
    "touched",
    [
        notebook(f"# {NAME}", "version = 1", outputs=[{"text": "42"}], execution_count=7),
        notebook(f"# {NAME}", "version = 1", metadata={"scrolled": True}, id="abc"),
        notebook(f"# {NAME}", "version = 1", ""),
        notebook("", f"# {NAME}", "version = 1", "  \n"),
    ],
    ids=["run", "metadata", "shift-enter", "empty-cells"],
)
def test_a_copy_that_was_only_run_follows_the_course(
    course: Path, mine: Path, touched: bytes
) -> None:
    study.prepare(mine, course)
    (mine / NAME).write_bytes(touched)
    assert study.prepare(mine, course).refreshed == []
    assert (mine / NAME).read_bytes() == touched, "outputs were lost for nothing"
    raw = new_version(course)
    assert study.prepare(mine, course).refreshed == [NAME]
    assert (mine / NAME).read_bytes() == raw


def test_a_new_release_reaches_copies_whose_cells_did_not_change(course: Path, mine: Path) -> None:
    """Else the notebook would say forever that it was written for another version."""

    def release(version: str) -> None:
        raw = json.loads((course / NAME).read_bytes())
        raw["metadata"] = {"fa": {"version": version}}
        (course / NAME).write_text(json.dumps(raw))

    release("0.1.0")
    study.prepare(mine, course)
    release("0.2.0")
    assert study.prepare(mine, course).refreshed == [NAME]
    assert study.prepare(mine, course).refreshed == []
    own = edit(mine)
    release("0.3.0")
    assert study.prepare(mine, course).beside == {}, "nothing to offer but a number"
    assert (mine / NAME).read_bytes() == own


@pytest.mark.parametrize("name", [NAME, f"zh/{NAME}"])
def test_an_edited_copy_stays_and_the_new_version_comes_beside_it(
    course: Path, mine: Path, name: str
) -> None:
    study.prepare(mine, course)
    own = edit(mine, name=name)
    assert study.prepare(mine, course).beside == {}, "the course has nothing new to offer"
    raw = new_version(course, name=name)
    update = study.prepare(mine, course)
    beside = name.replace(".ipynb", ".new.ipynb")
    assert update.beside == {name: beside}
    assert (mine / name).read_bytes() == own
    assert (mine / beside).read_bytes() == raw
    with using("en"):
        assert beside in update.messages()[-1] and "stays" in update.messages()[-1]


def test_a_new_version_is_offered_once(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    edit(mine)
    new_version(course)
    study.prepare(mine, course)
    (mine / BESIDE).unlink()
    assert study.prepare(mine, course).beside == {}
    assert not (mine / BESIDE).exists()


def test_an_untouched_offer_follows_the_course(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    edit(mine)
    new_version(course)
    study.prepare(mine, course)
    raw = new_version(course, "version = 3")
    assert study.prepare(mine, course).beside == {NAME: BESIDE}
    assert (mine / BESIDE).read_bytes() == raw
    assert len(list(mine.glob("03_*"))) == 2


def test_an_offer_the_learner_worked_in_stays(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    edit(mine)
    new_version(course)
    study.prepare(mine, course)
    own = edit(mine, "more of mine", name=BESIDE)
    raw = new_version(course, "version = 3")
    second = BESIDE.replace(".new.", ".new-2.")
    assert study.prepare(mine, course).beside == {NAME: second}
    assert (mine / BESIDE).read_bytes() == own
    assert (mine / second).read_bytes() == raw


def test_taking_the_new_version_over_ends_the_matter(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    edit(mine)
    new_version(course)
    study.prepare(mine, course)
    (mine / BESIDE).replace(mine / NAME)
    assert study.prepare(mine, course).beside == {}
    new_version(course, "version = 3")
    assert study.prepare(mine, course).refreshed == [NAME]


def test_undoing_an_edit_makes_the_copy_follow_again(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    first = (mine / NAME).read_bytes()
    edit(mine)
    study.prepare(mine, course)
    (mine / NAME).write_bytes(first)
    new_version(course)
    assert study.prepare(mine, course).refreshed == [NAME]


def test_a_deleted_copy_comes_back_fresh(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    edit(mine)
    (mine / NAME).unlink()
    assert study.prepare(mine, course).copied == [NAME]


def test_files_of_the_learner_are_left_alone(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    (mine / "my notes.ipynb").write_bytes(b"{}")
    (course / NAME).unlink()
    study.prepare(mine, course)
    assert (mine / "my notes.ipynb").read_bytes() == b"{}"
    assert (mine / NAME).exists(), "a chapter the course dropped is still the learner's"


def test_an_attachment_counts_as_an_edit(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    cell = {"cell_type": "markdown", "source": "", "attachments": {"a.png": {"image/png": "AA=="}}}
    own = json.loads((mine / NAME).read_bytes())
    own["cells"].append(cell)
    (mine / NAME).write_text(json.dumps(own))
    new_version(course)
    assert study.prepare(mine, course).beside == {NAME: BESIDE}


@pytest.mark.parametrize("broken", [b"", b"{", b'{"cells": 3}', b'{"cells": [{}]}', b"[]", b"\xff"])
def test_a_damaged_notebook_is_not_thrown_away(course: Path, mine: Path, broken: bytes) -> None:
    study.prepare(mine, course)
    (mine / NAME).write_bytes(broken)
    new_version(course)
    assert study.prepare(mine, course).beside == {NAME: BESIDE}
    assert (mine / NAME).read_bytes() == broken


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b'{"form": 1}',
        b'{"form": 99, "files": {}}',
        b'{"form": 1, "files": {"a": 1}}',
    ],
)
def test_without_a_readable_manifest_nothing_is_overwritten(
    course: Path, mine: Path, manifest: bytes
) -> None:
    study.prepare(mine, course)
    own = edit(mine)
    (mine / study.MANIFEST).write_bytes(manifest)
    new_version(course)
    update = study.prepare(mine, course)
    assert update.manifest_lost
    assert (mine / NAME).read_bytes() == own
    assert update.beside == {NAME: BESIDE}
    with using("en"):
        assert study.MANIFEST in update.messages()[0]
    assert not study.prepare(mine, course).manifest_lost, "it was not written anew"


def test_a_manifest_that_was_deleted_costs_nothing(course: Path, mine: Path) -> None:
    study.prepare(mine, course)
    own = edit(mine)
    (mine / study.MANIFEST).unlink()
    study.prepare(mine, course)
    assert (mine / NAME).read_bytes() == own


def test_a_linked_notebook_is_never_replaced(course: Path, mine: Path, tmp_path: Path) -> None:
    study.prepare(mine, course)
    elsewhere = tmp_path / "elsewhere.ipynb"
    (mine / NAME).rename(elsewhere)
    (mine / NAME).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    new_version(course)
    assert study.prepare(mine, course).beside == {NAME: BESIDE}
    assert (mine / NAME).is_symlink() and elsewhere.read_bytes() == before
    elsewhere.unlink()
    new_version(course, "version = 3")
    study.prepare(mine, course)
    assert (mine / NAME).is_symlink(), "a link whose target is away is still the learner's"


def test_the_study_folder_may_be_a_link(course: Path, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "big disk").mkdir()
    mine.parent.mkdir()
    mine.symlink_to(tmp_path / "big disk", target_is_directory=True)
    assert study.prepare(mine, course).copied
    assert (tmp_path / "big disk" / NAME).is_file()


def test_a_folder_in_place_of_a_notebook_is_no_crash(course: Path, mine: Path) -> None:
    (mine / NAME).mkdir(parents=True)
    assert study.prepare(mine, course).beside == {NAME: BESIDE}


def test_a_file_in_place_of_the_folder_is_said(course: Path, mine: Path) -> None:
    mine.parent.mkdir()
    mine.write_text("")
    with pytest.raises(StoreError, match="FA_STUDY"):
        study.prepare(mine, course)


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
@pytest.mark.parametrize("blocked", ["open", "chmod"])
def test_a_folder_that_cannot_be_written_is_said(
    course: Path, mine: Path, blocked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.mkdir(parents=True)
    if blocked == "chmod":
        if os.geteuid() == 0:
            pytest.skip("root writes everywhere; the other case stands for this one")
        mine.chmod(0o500)
    else:

        def refuse(**_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(study.tempfile, "mkstemp", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        study.prepare(mine, course)
    mine.chmod(0o700)
    assert list(mine.iterdir()) == []


def test_a_write_that_is_cut_short_leaves_the_old_file(
    course: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.prepare(mine, course)
    before = (mine / NAME).read_bytes()
    new_version(course)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(study.os, "fsync", full)
        with pytest.raises(StoreError, match="No space left"):
            study.prepare(mine, course)
    assert (mine / NAME).read_bytes() == before
    assert not list(mine.rglob("*.tmp"))
    assert study.prepare(mine, course).refreshed == [NAME]


def test_killed_before_the_manifest_only_keeps_more(
    course: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.prepare(mine, course)
    manifest = (mine / study.MANIFEST).read_bytes()
    new_version(course)
    study.prepare(mine, course)
    (mine / study.MANIFEST).write_bytes(manifest)  # as if killed after the notebook, before this
    assert study.prepare(mine, course).beside == {}
    new_version(course, "version = 3")
    assert study.prepare(mine, course).refreshed == [NAME]


def test_an_empty_course_is_said(mine: Path, tmp_path: Path) -> None:
    with using("en"):
        assert "No notebooks" in study.prepare(mine, tmp_path / "nothing").messages()[0]


def test_the_right_notebook_is_opened(course: Path) -> None:
    assert study.notebook(0, "en", course) == "00_start_here.ipynb"
    assert study.notebook(3, "zh", course) == f"zh/{NAME}"
    assert study.notebook(0, "zh", course) == "00_start_here.ipynb", "not written in Chinese yet"
    with pytest.raises(ArgumentError, match="00, 03"), using("en"):
        study.notebook(7, "en", course)


def test_folders_of_a_checkout_and_of_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FA_STUDY", raising=False)
    root = study.checkout()
    assert root is not None
    assert study.source_folder() == root / "notebooks"
    assert study.study_folder() == root / "study"
    monkeypatch.setattr(study, "PACKAGE", tmp_path / "site-packages" / "fa_toolkit")
    assert study.source_folder() == tmp_path / "site-packages/fa_toolkit/_data/notebooks"
    assert study.study_folder().is_absolute()
    monkeypatch.setenv("FA_STUDY", str(tmp_path / "here"))
    assert study.study_folder() == tmp_path / "here"
