"""The stepper in a real JupyterLab: keyboard, prediction, own row, reload, both themes.

With FA_SHOTS set to a folder, pictures of what was seen are left there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import Lab, Notebook, chromium
from test_players import _page

from fa_toolkit import viz

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
PLAYER = ".fa-player"
CELLS = [
    "import fa_toolkit as fa\nwidget = fa.viz.stepper([1, 2, 3, 4], blocks=2, lang={lang!r})\nwidget",
    "widget.step, widget.prediction",
    "fa.viz.softmax_bars([1, 2, 3, 4], 2, lang={lang!r})",
    "box = fa.viz.scrub(fa.viz.softmax_bars, blocks=(1, 4), lang={lang!r})\nbox",
    "widget.x, widget.blocks, widget.view",
]


def _write(folder: Path, lang: str) -> str:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.format(lang=lang)) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, folder / f"stepper_{lang}.ipynb")
    return f"stepper_{lang}.ipynb"


def _shot(page: Any, name: str, selector: str = PLAYER) -> None:
    if folder := os.environ.get("FA_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(350)  # the bars have come to rest
        page.locator(selector).first.screenshot(path=str(Path(folder) / f"{name}.png"))


def _count(page: Any) -> str:
    return str(page.locator(f"{PLAYER} .fa-head span").first.inner_text())


def _caption(page: Any) -> str:
    return str(page.locator(f"{PLAYER} .fa-caption").first.inner_text())


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    work = tmp_path_factory.mktemp("stepper")
    for lang in ("en", "zh"):
        _write(work, lang)
    with Lab(work) as running:
        yield running


def test_a_reader_predicts_types_and_reloads(lab: Lab) -> None:
    with lab.open("stepper_en.ipynb", width=1320) as notebook:
        page = notebook.page
        notebook.run_all()
        assert notebook.errors() == []
        page.locator(PLAYER).wait_for()
        assert _count(page) == "step 1 of 9"
        _shot(page, "light_en_first")

        page.locator(PLAYER).focus()
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        assert _count(page) == "step 7 of 9"
        assert (
            "Which factor" in _caption(page) and "0.1353" not in page.locator(PLAYER).inner_text()
        )
        _shot(page, "light_en_ask")

        page.keyboard.type("e^(2-4)")  # typing goes to the open question
        page.keyboard.press("Enter")
        assert "0.1353" in _caption(page)
        assert "✓ you said e^(2-4)" in page.locator(".fa-verdict").inner_text()
        page.keyboard.press("End")
        assert _count(page) == "step 9 of 9" and "1.553" in _caption(page)
        _shot(page, "light_en_last")
        told = "(8, 0.1353352832366127)"
        assert notebook.value(1, told.__eq__) == told
        page.locator(PLAYER).focus()
        page.keyboard.press("Home")
        assert _count(page) == "step 1 of 9"

        row = page.locator(".fa-own input").first
        row.fill("1, two")
        row.press("Enter")
        page.locator(".fa-typed-error", has_text="two").wait_for()
        assert row.input_value() == "1, two" and page.locator(".fa-bar").count() == 4
        _shot(page, "light_en_error")
        row.fill("5, 1, 6")
        page.locator(".fa-own input").nth(1).fill("1, 2")
        page.locator(".fa-own button.fa-plain").click()
        page.locator(".fa-block", has_text="block 2").first.wait_for()
        page.wait_for_function("() => document.querySelectorAll('.fa-bar').length === 3")
        assert page.locator(".fa-typed-error").inner_text() == ""
        told = "([5.0, 1.0, 6.0], [1, 2], 'online')"
        assert notebook.value(4, told.__eq__) == told
        page.locator(".fa-preset", has_text="1000").click()
        page.wait_for_function("() => document.querySelectorAll('.fa-bar').length === 2")

        notebook.save()
        notebook.reload()
        page.locator(PLAYER).wait_for()
        assert page.locator(".fa-bar").count() == 2
        assert notebook.problems == []


def _theme(notebook: Notebook, name: str) -> None:
    notebook.page.evaluate(
        "theme => jupyterapp.commands.execute('apputils:change-theme', {theme}).then(() => null)",
        f"JupyterLab {name.title()}",
    )
    notebook.page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light",
        arg="true" if name == "light" else "false",
    )


def test_themes_in_chinese(lab: Lab) -> None:
    with lab.open("stepper_zh.ipynb", width=1060) as notebook:
        page = notebook.page
        notebook.run_all()
        player = page.locator(PLAYER)
        player.wait_for()
        assert player.get_attribute("aria-label") == "softmax，一块一块来"
        for theme in ("dark", "light"):
            _theme(notebook, theme)
            shade = player.evaluate("e => getComputedStyle(e).backgroundColor")
            brightness = sum(map(int, shade.strip("rgba()").split(",")[:3])) / 3
            assert (brightness > 128) == (theme == "light")
            player.focus()
            page.keyboard.press("Home")
            _shot(page, f"{theme}_zh_first")
            for _ in range(7):
                page.keyboard.press("ArrowRight")  # one of them opens the answer
            _shot(page, f"{theme}_zh_middle")
            page.keyboard.press("End")
            _shot(page, f"{theme}_zh_last")
            assert player.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
            page.locator(".fa-figure").first.scroll_into_view_if_needed()
            _shot(page, f"{theme}_zh_figure", ".fa-figure")
        assert notebook.problems == []


def test_play_runs_to_the_question_and_a_slider_redraws(lab: Lab) -> None:
    with lab.open("stepper_en.ipynb") as notebook:
        page = notebook.page
        page.emulate_media(reduced_motion="reduce")
        notebook.run_all()
        page.locator(PLAYER).wait_for()
        term = page.locator(".fa-term").first
        assert term.evaluate("e => getComputedStyle(e).transitionProperty") == "none"
        page.locator(PLAYER).focus()
        page.keyboard.press(" ")
        page.locator(f"{PLAYER} .fa-guess").wait_for(timeout=20_000)
        page.wait_for_timeout(2000)
        assert _count(page) == "step 7 of 9"  # it waits for the reader

        range_ = page.locator(".fa-range")
        range_.focus()
        page.keyboard.press("ArrowLeft")  # JupyterLab must not swallow it
        assert _count(page) == "step 6 of 9"

        slider = page.locator(".fa-scrub .noUi-handle").first
        picture = page.locator(".fa-scrub svg[role=img]")
        before = picture.inner_html()
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "b => document.querySelector('.fa-scrub svg[role=img]').innerHTML !== b", arg=before
        )
        _shot(page, "scrub", ".fa-scrub")
        assert notebook.problems == []


def _ways(page: Any) -> list[list[str]]:
    rows = page.locator(".fa-ways tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_of_its_own_takes_another_row_without_a_kernel(lang: str, tmp_path: Path) -> None:
    path = tmp_path / "stepper.html"
    viz.stepper(lang=lang).to_html(path)
    for width, scheme in ((900, "dark"), (1600, "light")):
        with _page(path, width=width, scheme=scheme) as (page, wrong):
            root = page.locator(PLAYER)
            found = []
            for tab in (0, 2, 1):
                page.locator(".fa-tab").nth(tab).click()
                name = f"stepper_{tab}_{lang}_{scheme}_{width}"
                _shot(page, f"{name}_first")
                last = int(page.locator(".fa-range").get_attribute("max"))
                for _ in range(last // 2 + 2):
                    page.keyboard.press("ArrowRight")
                _shot(page, f"{name}_middle")
                page.keyboard.press("End")
                _shot(page, f"{name}_last")
                found.append(_ways(page))
            assert found[0] == found[1] == found[2]
            assert len({tuple(row[1:]) for row in found[0]}) == 1 and found[0][0][-1] == "✓"
            assert "3" in found[0][0][0] and found[0][0][1:3] == ["4", "1.553"]
            fields = page.locator(".fa-own input")
            for number, text in ((0, "0, 2, 7"), (1, "2, 1"), (2, "1; 10; 100")):
                fields.nth(number).fill(text)
            fields.nth(2).press("Enter")
            page.keyboard.press("End")
            assert page.locator(".fa-bar").count() == 3 and "✓" in _ways(page)[1][-1]
            for text in ("1, x", "", "1 " * 100_000):
                fields.first.fill(text)
                fields.first.press("Enter")
                assert page.locator(".fa-typed-error").inner_text() != ""
                assert fields.first.input_value().strip() == text.strip()
                assert page.locator(".fa-bar").count() == 3
            before = root.inner_text()
            root.locator(".fa-speak").click()
            assert root.inner_text() != before and fields.first.input_value().startswith("1 1")
            page.locator(".fa-preset").nth(2).click()
            page.keyboard.press("End")
            assert "∞ ✗" in root.inner_text() and page.locator(".fa-bar").count() == 2
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            assert wrong == []
