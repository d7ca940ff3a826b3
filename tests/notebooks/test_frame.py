"""What every chapter has alike: links, tracks, minutes, GPU cells, sizes, words for pictures."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
from chapters import ENGLISH, FOLDER, ROOT, TAUGHT, cells, code, number, prose, read, wordless

from fa_toolkit.course import counting, frame, gpu_cells
from fa_toolkit.course.parts import FULL, MARK, anchor, parts
from fa_toolkit.course.strip import hours
from fa_toolkit.course.tracks import TRACKS

EVERY = sorted(FOLDER.rglob("[0-9][0-9]_*.ipynb"))
CHAPTERS = [path for path in EVERY if number(path) != 13]
#: a screen: lines of code, and lines of prose at so many columns
CODE_LINES, PROSE_LINES, COLUMNS = 40, 30, 100


def named(paths: list[Path]) -> pytest.MarkDecorator:
    ids = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in paths]
    return pytest.mark.parametrize("path", paths, ids=ids)


def lang_of(path: Path) -> str:
    return "zh" if path.parent.name == "zh" else "en"


def headings(path: Path) -> list[str]:
    found = []
    for cell in prose(path):
        text = re.sub(r"```.*?```", "", cell.source, flags=re.S)
        found += re.findall(r"^#+ +(.+)$", text, re.M)
    return found


def test_frames_and_glossary_are_as_the_command_writes_them() -> None:
    assert frame.bring(FOLDER, write=False) == [], "python -m fa_toolkit.course.frame"


def test_the_command_mends_what_differs(tmp_path: Path) -> None:
    for path in (*FOLDER.glob("*.*"), *(FOLDER / "zh").glob("*.*")):
        target = tmp_path / path.relative_to(FOLDER)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    spoilt = tmp_path / "zh" / "03_softmax_in_blocks.ipynb"
    notebook = json.loads(spoilt.read_text(encoding="utf-8"))
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] != "links-end"]
    marked = next(c for c in notebook["cells"] if c["id"] == "half-row")
    marked["source"] = [line for line in marked["source"] if not line.startswith("*路线")]
    spoilt.write_text(frame.as_text(notebook), encoding="utf-8")
    assert frame.bring(tmp_path, write=True) == ["zh/03_softmax_in_blocks.ipynb"]
    assert frame.bring(tmp_path, write=False) == []
    assert spoilt.read_bytes() == (FOLDER / "zh" / "03_softmax_in_blocks.ipynb").read_bytes()


@named(EVERY)
def test_links_lead_somewhere_also_within_a_page(path: Path) -> None:
    found = {cell.id: cell.source for cell in prose(path)}
    assert found["links-top"] == found["links-end"]
    row = re.findall(r"\]\(([^)]+)\)", found["links-top"])
    before, after = frame.neighbours(number(path))
    beside = sum(other is not None for other in (before, after))
    assert len(row) == beside + 3, "the neighbours, the map, the glossary, the other language"
    for cell in prose(path):
        for target, heading in re.findall(r"\]\(([^)#\s]+\.ipynb)#([^)\s]+)\)", cell.source):
            there = (path.parent / target).resolve()
            known = [unquote(anchor(text)) for text in headings(there)]
            assert unquote(heading) in known, f"{cell.id}: {target}#{heading}"


@named(CHAPTERS)
def test_every_section_says_its_tracks_and_minutes(path: Path) -> None:
    for cell in read(path).cells:
        heads = re.findall(r"^## .+$", cell.source, re.M) if cell.cell_type == "markdown" else []
        mark = cell.metadata.get("fa", {}).get("part")
        assert len(heads) == (mark is not None), cell.id
        if mark is None:
            continue
        assert cell.source.startswith("## "), f"{cell.id}: the heading opens its cell"
        assert set(mark.tracks) <= set(TRACKS) - {FULL} and mark.minutes >= 1
        assert MARK.findall(cell.source) and cell.source.count("*路线") <= 1


@named(TAUGHT)
def test_both_editions_have_the_same_parts(path: Path) -> None:
    chapter = number(path)
    english, chinese = parts(chapter, "en"), parts(chapter, "zh")
    for a, b in zip(english, chinese, strict=True):
        assert (a.id, a.minutes, a.exercise_minutes, a.tracks) == (
            b.id, b.minutes, b.exercise_minutes, b.tracks
        )  # fmt: skip
        assert (a.cells, a.code, a.exercises) == (b.cells, b.code, b.exercises)


@named(TAUGHT)
def test_minutes_are_near_what_the_contents_say(path: Path) -> None:
    counted = counting.of_parts(number(path))
    for part in parts(number(path), "en"):
        expected = counted[part.id]
        for said, guess in (
            (part.minutes, expected.minutes),
            (part.exercise_minutes, expected.exercise_minutes),
        ):
            assert counting.near(said, guess), f"{part.id}: {said}, not {guess:.0f}"


@named(CHAPTERS)
def test_the_title_and_the_map_say_the_same_minutes_as_the_parts(path: Path) -> None:
    chapter, lang = number(path), lang_of(path)
    wanted = counting.chapter_minutes(chapter)
    title = prose(path)[0].source
    assert re.search(rf"(about|约) {wanted} (minutes|分钟)", title), wanted
    assert re.search("an estimate|估计", title), "and calls them an estimate"
    folder = path.parent
    (start,) = folder.glob("00_*.ipynb")
    table = next(cell.source for cell in prose(start) if cell.id == "map")
    readme = (ROOT / ("README.zh.md" if lang == "zh" else "README.md")).read_text("utf-8")
    for text in (table, readme):
        assert re.search(rf"^\| {chapter:02d} \|.*\| {wanted} \|$", text, re.M), wanted


def test_tracks_take_what_their_names_say() -> None:
    minutes = {n: track.minutes(track.parts("en"), track.kept()) for n, track in TRACKS.items()}
    assert 110 <= minutes["short"] <= 130
    assert 8 * 60 <= minutes["interview"] <= 13 * 60
    assert 25 * 60 <= minutes[FULL] <= 35 * 60
    assert {part.chapter for part in TRACKS["interview"].parts("en")} == {
        *range(5),
        *range(7, 10),
        11,
        12,
    }
    for lang, folder in (("en", FOLDER), ("zh", FOLDER / "zh")):
        (start,) = folder.glob("00_*.ipynb")
        said = next(cell.source for cell in prose(start) if cell.id == "tracks")
        told = [int(n) for n in re.findall(r"(?:about|约) (\d+) (?:hours|小时)", said)]
        assert len(told) == 2, "those of the interview and of the full track"
        for name, number_told in zip(("interview", FULL), told, strict=True):
            assert abs(number_told - minutes[name] / 60) <= 1, hours(minutes[name])
        assert all(name in said for name in TRACKS["interview"].kept()), (
            "the whiteboard's exercises"
        )
        for track in TRACKS.values():
            assert (track.name.zh if lang == "zh" else track.name.en).lower() in said.lower()


@named(EVERY)
def test_no_cell_is_longer_than_a_screen(path: Path) -> None:
    for cell in cells(path):
        lines = cell.source.splitlines()
        if cell.kind == "code":
            assert len(lines) <= CODE_LINES, cell.id
        else:
            assert sum(-(-columns(line) // COLUMNS) or 1 for line in lines) <= PROSE_LINES, cell.id


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


@named(EVERY)
def test_a_heading_opens_its_cell(path: Path) -> None:
    """So that a link to it, and the table of contents, arrive at the top of a cell."""
    for cell in prose(path):
        text = re.sub(r"```.*?```", "", cell.source, flags=re.S)
        at = [match.start() for match in re.finditer(r"^#+ ", text, re.M)]
        assert at in ([], [0]), cell.id


@named(CHAPTERS)
def test_promise_prerequisites_recap_glossary_and_reading(path: Path) -> None:
    found = {cell.id: cell.source for cell in prose(path)}
    _, promise, facts = found["title"].split("\n\n")[:3]
    assert len(promise) > 30
    assert re.match(r"\*(You need|需要|先修)[:：]", facts) and "GPU" in facts
    recap = found["recap"]
    assert re.match(r"## (Recap|小结)", recap) and recap.count("\n|") >= 5
    assert re.search(r"(Further reading: |延伸阅读：).+（?\(?\d{4}", recap), "a work with its year"
    assert "](glossary.md)" in found["links-end"]
    words = (path.parent / "glossary.md").read_text("utf-8")
    assert len(re.findall(r"^## ", words, re.M)) > 60


@named(CHAPTERS)
def test_gpu_cells_are_those_of_the_course_and_the_title_says_so(path: Path) -> None:
    sources = [cell.source for cell in code(path)]
    asked = [m for text in sources for m in re.findall(r'fa\.course\.on_gpu\("([\d.\w]+)"\)', text)]
    assert all(
        name.startswith(f"{number(path):02d}.") and name in gpu_cells.CELLS for name in asked
    )
    assert not [text for text in sources if "fa.bench.main(" in text or "cuda.is_available" in text]
    optional = re.search(r"GPU[:：] ?(optional|可有可无|可选)", prose(path)[0].source)
    assert bool(asked) == bool(optional), "optional exactly where a cell can use one"
    every = cells(path)
    for at, cell in enumerate(every):
        if "fa.course.on_gpu(" in cell.source and cell.kind == "code":
            assert re.match(r"### (I have a GPU|我有 GPU)\n\n", every[at - 1].source), cell.id


def test_every_gpu_cell_stands_in_a_chapter() -> None:
    shown = "\n".join(cell.source for path in ENGLISH for cell in code(path))
    assert [name for name in gpu_cells.CELLS if f'on_gpu("{name}")' not in shown] == []


@named(EVERY)
def test_pictures_in_prose_have_words(path: Path) -> None:
    for cell in prose(path):
        assert wordless(cell.source) == [], cell.id


def test_the_guard_of_pictures_sees_them() -> None:
    assert wordless("![](a.svg) <img src='x'> <svg viewBox='0'>") != []
    assert len(wordless('![](a.svg) <img src="x" alt=""> <svg role="img">')) == 3
    assert wordless('![a tile](a.svg) <img alt="a"> <svg role="img" aria-label="b">') == []
