"""The form of a notebook: order, sizes, names, nothing stored in it that a run should make."""

from __future__ import annotations

import itertools
import re
import statistics
from pathlib import Path

import pytest
import yaml
from chapters import ENGLISH, FOLDER, GALLERY, ROOT, TAUGHT, code, number, prose, read
from chapters import cells as all_cells

from fa_toolkit import __version__, exercises, viz
from fa_toolkit.course import chapters
from fa_toolkit.course.parts import MARK

EVERY = sorted(FOLDER.rglob("[0-9][0-9]_*.ipynb"))
SLUG = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")
LONGEST_CELL = 25
#: which players teach in which chapter
PLAYERS = {
    0: ["stepper"],
    1: ["memory_ladder", "scrub"],
    2: ["traffic_player"],
    3: ["stepper"],
    4: ["tile_player", "block_chooser"],
    6: ["kernel_view"],
}
FORBIDDEN = {
    "pip": r"(^|\n)\s*[!%]\s*pip|\bpip install\b.*\n?",
    "path changes": r"sys\.path",
    "shell or magics": r"(^|\n)[!%]",
    "stored images": r"data:image",
    "images from elsewhere": r"!\[[^\]]*\]\(https?:|<img[^>]+src=.https?:",
    "star imports": r"from \S+ import \*",
}


def named(paths: list[Path]) -> pytest.MarkDecorator:
    ids = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in paths]
    return pytest.mark.parametrize("path", paths, ids=ids)


def test_the_chapters_are_there_and_have_their_quizzes() -> None:
    numbers = [number(path) for path in ENGLISH]
    assert len(set(numbers)) == len(numbers)
    assert {*range(7), 12} <= set(numbers) <= {*chapters.TITLES, *chapters.GALLERIES}
    for path in TAUGHT:
        file = ROOT / "quizzes" / f"{path.stem}.yaml"
        assert yaml.safe_load(file.read_text(encoding="utf-8"))["chapter"] == number(path)


@named(EVERY)
def test_nothing_that_a_run_makes_is_stored(path: Path) -> None:
    for cell in read(path).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None, cell.id
        assert "execution" not in cell.metadata, cell.id


@named(EVERY)
def test_kernel_and_version(path: Path) -> None:
    metadata = read(path).metadata
    assert metadata.kernelspec.name == "python3"
    assert metadata.get("fa", {}).get("version") == __version__, "metadata fa.version"


@named(EVERY)
def test_ids_are_readable_and_unique(path: Path) -> None:
    ids = [cell.id for cell in all_cells(path)]
    assert len(set(ids)) == len(ids)
    assert [i for i in ids if not SLUG.match(i) or len(i) > 40] == []
    assert [i for i in ids if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f-]+)?", i)] == [], "generated ids"


@named(EVERY)
def test_nothing_forbidden(path: Path) -> None:
    for cell in all_cells(path):
        for name, pattern in FORBIDDEN.items():
            if name in ("shell or magics", "path changes", "star imports") and cell.kind != "code":
                continue
            assert not re.search(pattern, cell.source), f"{cell.id}: {name}"


@named(TAUGHT)
def test_sizes(path: Path) -> None:
    own = [cell for cell in code(path) if not cell.tagged]
    told = [c for c in all_cells(path)
            if not (c.tagged or c.id.startswith("links-") or c.source.startswith("fa.course.check"))]  # fmt: skip
    assert 30 <= len(told) <= 80, "stubs and checks, which a reader may leave out, not counted"
    lengths = [len(cell.lines) for cell in own]
    assert statistics.median(lengths) <= 5
    long = {c.id: len(c.lines) for c in code(path) if len(c.lines) > LONGEST_CELL}
    assert not long
    own_prose = [MARK.sub("", c.source) for c in prose(path) if not c.id.startswith("links-")]
    words = sum(len(re.findall(r"[\w’'-]+", text)) for text in own_prose)
    assert 900 <= words <= 2600
    assert words >= 6 * sum(lengths), "at least six words for a line of code"


def test_the_gallery_shows_every_player_with_a_sentence() -> None:
    """A player is a door of `viz` whose package holds a widget; one may be opened by `course`."""
    home = Path(viz.__file__).parent
    players = [name for name, part in viz._NAMES.items() if (home / part / "widget.py").is_file()]
    assert len(players) >= 5
    found = all_cells(GALLERY)
    shown = "\n".join(cell.source for cell in found if cell.kind == "code")
    assert [name for name in players if f".{name}(" not in shown] == []
    assert [name for name in players if f".{name}`" not in found[-2].source] == [], "the recap"
    for before, cell in itertools.pairwise(found):
        assert cell.kind == "markdown" or before.kind == "markdown", f"{cell.id}: no sentence"
    assert all(len(cell.lines) <= 5 for cell in found if cell.kind == "code")


@named([path for path in EVERY if number(path) in PLAYERS])
def test_a_player_follows_a_question(path: Path) -> None:
    """Chapters teach with players, and none is opened without a prediction asked for before it."""
    found = all_cells(path)
    for player in PLAYERS[number(path)]:
        opened = [i for i, cell in enumerate(found)
                  if cell.kind == "code" and f".{player}(" in cell.source]  # fmt: skip
        assert opened, player
        for at in opened:
            before = found[at - 1]
            assert before.kind == "markdown" and re.search(r"[?？]|猜", before.source), before.id


@named(EVERY)
def test_lines_fit_the_page(path: Path) -> None:
    for cell in code(path):
        wide = [line for line in cell.source.splitlines() if len(line) > 100]
        assert not wide, cell.id


@named(EVERY)
def test_headings(path: Path) -> None:
    found = [
        len(match.group(1))
        for cell in prose(path)
        for match in re.finditer(r"^(#+) ", re.sub(r"```.*?```", "", cell.source, flags=re.S), re.M)
    ]
    assert found[0] == 1 and found.count(1) == 1 and max(found) <= 3
    assert all(b - a <= 1 for a, b in itertools.pairwise(found)), "no level is skipped"


@named(EVERY)
def test_order_title_setup_quiz_recap(path: Path) -> None:
    found = all_cells(path)
    assert found[0].kind == "markdown" and found[0].source.startswith("# ")
    assert "GPU" in found[0].source, "the title says whether a GPU is needed"
    setup = next(cell for cell in found if cell.kind == "code")
    assert setup.id == "setup" and len(setup.lines) <= 5
    assert "import fa_toolkit as fa" in setup.source
    start = rf"fa\.course\.start\({number(path)}(, lang=\"(en|zh)\")?\)$"
    assert re.search(start, setup.source), "the set-up ends with start"
    last = code(path)[-1]
    if path.name == GALLERY.name:
        assert not any("fa.course.quiz" in cell.source for cell in found)
    else:
        assert last.id == "quiz" and last.source == f"fa.course.quiz({number(path)})"
    assert [found[1].id, found[-1].id] == ["links-top", "links-end"]
    assert found[-2].kind == "markdown" and "|" in found[-2].source, "a recap with a table"


@named(EVERY)
def test_stubs_are_those_of_the_package_and_are_checked_next(path: Path) -> None:
    found = all_cells(path)
    stubs = [cell for cell in found if cell.exercise]
    assert [c.id for c in found if c.tagged] == [c.id for c in stubs], "tag and metadata agree"
    assert sorted(c.exercise or "" for c in stubs) == sorted(exercises.ids(number(path)))
    lang = "zh" if path.parent.name == "zh" else "en"
    for cell in stubs:
        assert cell.source == exercises.stub(str(cell.exercise), lang), cell.id
        entry = exercises.get(str(cell.exercise)).entry
        following = next(c for c in found[found.index(cell) + 1 :] if c.kind == "code")
        assert following.source == f'fa.course.check("{cell.exercise}", {entry})'


@named(EVERY)
def test_files_and_links_that_are_named_exist(path: Path) -> None:
    for cell in prose(path):
        for file in re.findall(r"`(fa_toolkit/[\w/]+\.\w+|quizzes/[\w/]+\.\w+)`", cell.source):
            assert (ROOT / file).is_file(), f"{cell.id}: {file}"
        for link in re.findall(r"\]\(([^)#\s]+)", cell.source):
            if not link.startswith(("http", "mailto")):
                assert (path.parent / link).exists(), f"{cell.id}: {link}"


@named(ENGLISH)
def test_the_prose_keeps_to_the_voice(path: Path) -> None:
    banned = (
        r"in this (section|chapter|notebook),? we", r"it is important to", r"let's dive", r"\bpowerful\b",
        r"\bseamless", r"\bsimply\b", r"note that", r"as we can see", r"\bdelve\b",
    )  # fmt: skip
    for cell in prose(path):
        for phrase in banned:
            assert not re.search(phrase, cell.source, re.I), f"{cell.id}: {phrase}"
        assert "!" not in re.sub(r"!\[|!=|`[^`]*`", "", cell.source), f"{cell.id}: exclamation mark"
