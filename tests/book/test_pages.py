"""What a page of the book is made of: frame, links, headings, outputs, and what it leaves out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from small_book import NAMES, Small, chapter, put

from fa_toolkit.book import editions, site
from fa_toolkit.book.words import NOTES, UI
from fa_toolkit.errors import ArgumentError

EN, ZH = "03_softmax_in_blocks.html", "zh/03_softmax_in_blocks.html"
LAST = "04_flash_attention_in_tiles.html"


def soup(small: Small, href: str) -> BeautifulSoup:
    return BeautifulSoup(small.read(href), "html.parser")


def the(found: BeautifulSoup | Tag, selector: str) -> Tag:
    (one,) = found.select(selector)
    return one


def output(page: BeautifulSoup, cell: str) -> Tag:
    return the(page, f"#{cell} > .bk-output")


def test_the_site_is_laid_out_as_the_notebooks_are(small: Small) -> None:
    found = {path.relative_to(small.folder).as_posix() for path in small.folder.rglob("*.html")}
    names = {"index.html", EN, LAST, "glossary.html"}
    assert found == names | {f"zh/{name}" for name in names}
    assert small.built.pages == 8 and small.built.players == 4 and small.built.executed == 0


@pytest.mark.parametrize(("href", "tag", "other"), [(EN, "en", ZH), (ZH, "zh-CN", f"../{EN}")])
def test_every_page_leads_to_itself_in_the_other_language(
    small: Small, href: str, tag: str, other: str
) -> None:
    page = soup(small, href)
    assert the(page, "html")["lang"] == tag
    assert the(page, ".bk-other")["href"] == other
    assert the(page, ".bk-home")["href"] == "index.html"


def test_before_and_after(small: Small) -> None:
    first, last = soup(small, ZH), soup(small, LAST)
    assert first.select("[rel=prev]") == []
    assert the(first, "[rel=next]")["href"] == LAST
    assert "04 分块的 Flash Attention" in the(first, "[rel=next]").get_text()
    assert the(last, "[rel=prev]")["href"] == EN and last.select("[rel=next]") == []


def test_contents_of_a_page_and_of_the_book(small: Small) -> None:
    page = soup(small, EN)
    rows = the(page, ".bk-toc").select("li")
    assert [row.get_text().split("\n")[0].strip() for row in rows] == [
        "A part, named 7′", "Deeper", "Exercises", "Recap",
    ]  # fmt: skip
    assert [row.a["href"] for row in rows if row.a] == [
        "#A-part,-named", "#Deeper", "#Exercises", "#Recap",
    ]  # fmt: skip
    book = soup(small, "zh/index.html")
    assert [a["href"] for a in book.select("main ol a")] == [EN, LAST]
    assert the(book, "main li:first-of-type > p:first-of-type").get_text() == "The promise."
    assert [a["href"] for a in book.select("main ul a")] == ["glossary.html"]


def test_links_between_notebooks_become_links_between_pages(small: Small) -> None:
    english, chinese = soup(small, EN), soup(small, ZH)
    assert the(english, "#first p a")["href"] == f"{LAST}#A-part,-named"
    for page in (english, chinese):  # the glossary's source leads to the glossary
        assert [a["href"] for a in page.select("#deeper p a")] == [
            "glossary.html#word",
            "glossary.html",
        ]
        assert "nowhere-else" not in page.get_text()


def test_a_chapter_that_is_not_built_is_text_and_one_that_is_not_there_a_fault(
    small: Small, tmp_path: Path
) -> None:
    folder = small.source
    one = site.build(tmp_path / "one", langs=["en"], chapters=[3], source=folder, kept=small.kept)
    page = BeautifulSoup((one.folder / EN).read_text(encoding="utf-8"), "html.parser")
    assert page.select("#first p a") == [] and "See the other." in page.get_text()
    assert page.select(".bk-other") == []
    notebook = chapter(3, "en")
    notebook.cells[3].source += "\n\n[gone](05_gone.ipynb)"
    file = tmp_path / "notebooks" / NAMES[3]
    file.parent.mkdir()
    put(file, notebook, small.kept)
    site.build(tmp_path / "two", source=file.parent, kept=small.kept, langs=["en"])
    assert 'href="05_gone.ipynb"' in (tmp_path / "two" / EN).read_text(encoding="utf-8")


def test_outputs_that_stay_what_they_are(small: Small) -> None:
    page = soup(small, EN)
    figure = output(page, "figure")
    assert the(figure, "svg")["aria-label"] == "a line" and figure.select("img, style") == []
    assert ".x{}" in the(page, "head > style").get_text()
    assert output(page, "printed").get_text().strip() == "red 1<2"
    assert the(page, "#end .bk-table table")


@pytest.mark.parametrize(("href", "lang"), [(EN, "en"), (ZH, "zh")])
def test_what_belongs_to_a_person_or_a_machine_is_left_out(
    small: Small, href: str, lang: str
) -> None:
    page = soup(small, href)
    text = page.get_text()
    for shown in ("CPU of this machine", "not attempted", "0 of 12", "No guess yet"):
        assert shown not in text
    assert page.select("#setup > .bk-output") == []
    for cell, note in (("check", "check"), ("mine", "yours")):
        assert output(page, cell).get_text() == getattr(NOTES[note], lang)
    assert the(page, "#stub > .bk-stub-label").get_text() == getattr(NOTES["stub"], lang)
    guess = the(output(page, "guess"), "details")
    assert not guess.has_attr("open") and "0.25 MiB" in the(guess, "p").get_text()


def test_a_quiz_is_its_questions_and_nothing_else(small: Small) -> None:
    page = soup(small, EN)
    quiz = the(output(page, "questions"), ".bk-quiz")
    assert len(quiz.select("ol > li")) > 10
    assert quiz.select("script, input, button") == [] and "QuizCard" not in small.read(EN)


def test_a_player_comes_with_its_state_and_its_script(small: Small) -> None:
    page = soup(small, ZH)
    player = the(output(page, "play"), ".bk-player")
    state = json.loads(the(player, "script").get_text())
    assert player["data-player"] == "Stepper" and state["lang"] == "zh"
    assert state["settings"]["row"]["x"] == [1, 2, 3, 4] and "_esm" not in state
    assert UI["no_scripts"].zh in the(player, "noscript").get_text()
    scripts = [str(tag["src"]) for tag in page.select("script[src]")]
    assert [re.sub(r"-\w{10}\.", ".", src) for src in scripts] == [
        "../assets/Stepper.js", "../assets/book.js",
    ]  # fmt: skip
    code = (small.folder / "zh" / scripts[0]).read_text(encoding="utf-8")
    assert 'faPlayers ??= {})["Stepper"]' in code and "export" not in code


def test_sliders_move_where_their_pictures_came_along(small: Small) -> None:
    page = soup(small, EN)
    film = the(output(page, "film"), ".bk-film")
    data = json.loads(the(film, "script").get_text())
    assert data["controls"] == [{"label": "n", "choices": ["1", "2", "3"], "at": 1}]
    assert set(data["frames"]) == {"0", "1", "2"} and "<style>" not in "".join(
        data["frames"].values()
    )
    assert the(film, ".bk-film-picture svg")
    dead = the(output(page, "dead"), ".bk-still")
    assert dead.select("script, input") == [] and NOTES["still"].en in dead.get_text()


def test_nothing_is_loaded_from_elsewhere(small: Small) -> None:
    for file in small.folder.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            found = set(re.findall(r"https?://[\w.]+", text))
            assert found <= {"http://www.w3.org"}, file
            assert str(small.source.parent) not in text, "a path of this machine"


def test_a_book_is_replaced_and_nothing_else_is(small: Small, tmp_path: Path) -> None:
    out = tmp_path / "out"
    site.build(out, langs=["zh"], chapters=[3], source=small.source, kept=small.kept)
    assert "zh/index.html" in (out / "index.html").read_text(encoding="utf-8")
    site.build(out, langs=["en"], chapters=[4], source=small.source, kept=small.kept)
    assert (out / LAST).exists() and not (out / "zh").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("three years")
    with pytest.raises(ArgumentError, match="--out"):
        site.build(tmp_path / "mine", chapters=[3], source=small.source, kept=small.kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out"]
    with pytest.raises(ArgumentError, match="5"):
        editions.pages(small.source, chapters=[3, 5])
