"""The quiz card in a real JupyterLab: answered by keyboard, kept over a reload and a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from lab import Lab, Notebook, chromium
from small_bank import write_bank

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]

CELL = """
import fa_toolkit as fa
kept = fa.progress.store()
bank = fa.quiz.load_bank({bank!r})
fa.quiz.widget.quiz(3, lang={lang!r}, bank=bank, record=kept.record, restore=lambda: kept.latest(3))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("学习 notebooks")
    bank = str(write_bank(tmp_path_factory.mktemp("bank")))
    for lang in ("en", "zh"):
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "p"}}
        )
        notebook.cells = [nbformat.v4.new_code_cell(CELL.format(bank=bank, lang=lang).strip())]
        nbformat.write(notebook, folder / f"quiz_{lang}.ipynb")
    nbformat.write(nbformat.v4.new_notebook(), folder / "04_flash_attention_in_tiles.ipynb")
    with Lab(folder) as running:
        yield running


def headline(page: Any) -> str:
    page.wait_for_selector(".fa-quiz .fq-headline")
    text: str = page.inner_text(".fa-quiz .fq-headline")
    return text


def go(page: Any, number: int) -> None:
    page.locator(f".fq-dot:nth-child({number})").click()
    page.wait_for_selector(f".fq-dot:nth-child({number})[aria-current]")


def answer_by_keyboard(page: Any, option: str) -> None:
    """Tab to the options, walk to the wanted one with the arrows, hand in with Enter."""
    page.locator(".fq-option input").first.focus()
    page.keyboard.press("Space")
    for _ in range(page.locator(".fq-option").count()):
        if option in page.locator(".fq-option:has(input:checked)").inner_text():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def test_wrong_right_reload_and_restart(lab: Lab) -> None:
    with lab.open("quiz_en.ipynb") as notebook:
        page = notebook.page
        notebook.run_all()
        page.wait_for_selector(".fa-quiz .fq-option")
        answer_by_keyboard(page, "subtracted")
        assert "Not yet" in headline(page)
        claims = page.inner_text(".fq-claims")
        assert "S11" in claims
        assert "holds" in claims
        page.keyboard.press("Tab")  # the headline has the focus; the next stop is inside the card
        assert page.evaluate("document.activeElement.closest('.fa-quiz') !== null")
        go(page, 3)
        page.locator(".fq-number").fill("e^{2-4}")
        page.wait_for_function("document.querySelector('.fq-seen').textContent.includes('0.1353')")
        page.keyboard.press("Enter")
        assert "Right" in headline(page)
        assert page.inner_text(".fq-score").startswith("100 of 100")
        notebook.save()

        notebook.reload()  # the kernel lives on
        assert "Right" in headline(page)
        go(page, 1)
        assert "Not yet" in headline(page)
        page.locator(".fq-buttons .fq-button").first.click()  # try again
        page.wait_for_selector(".fq-option input")
        answer_by_keyboard(page, "multiplied")
        assert "Right" in headline(page)

        notebook.restart()  # and then it does not
        notebook.run_all()
        page.wait_for_selector(".fa-quiz .fq-dots")
        page.wait_for_function("document.querySelectorAll('.fq-dot.fq-good').length === 2")
        assert "2 of 8 answered" in page.inner_text(".fq-head")
        assert_clean(notebook)


def test_every_kind_can_be_answered_in_chinese(lab: Lab) -> None:
    with lab.open("quiz_zh.ipynb", width=700) as notebook:
        page = notebook.page
        notebook.run_all()
        page.wait_for_selector(".fa-quiz .fq-dots")
        assert page.get_attribute(".fa-quiz", "lang") == "zh-CN"
        go(page, 2)
        page.locator(".fq-option", has_text="它舍弃了").click()
        page.locator(".fq-option", has_text="精确算术").click()
        page.locator(".fq-main").first.click()
        assert "还不对" in headline(page)
        file = page.locator("[data-commandlinker-command]")
        assert file.inner_text() == "见第 04 章"
        go(page, 5)
        page.locator('.fq-order button[data-way="down"]').first.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.way") == "down"
        page.locator(".fq-main").first.click()
        assert headline(page)
        go(page, 6)
        page.locator(".fq-letter").first.select_option(index=1)
        page.locator(".fq-main").first.click()
        assert headline(page)
        go(page, 7)
        cells = page.locator(".fq-trace input")
        cells.nth(0).fill("1 + 1/e")
        cells.nth(1).fill("2 pi")
        page.locator(".fq-main").first.click()
        page.wait_for_function("document.querySelector('.fq-note').textContent.includes('acc')")
        assert cells.nth(0).input_value() == "1 + 1/e"  # what was typed is still there
        cells.nth(1).fill("1/e")
        page.keyboard.press("Enter")
        assert "对了一部分" in headline(page)
        overflow = "document.querySelector('.fa-quiz').scrollWidth <= document.querySelector('.fa-quiz').clientWidth"
        assert page.evaluate(overflow)
        go(page, 2)
        file.click()
        page.wait_for_function(
            "window.jupyterapp.shell.currentWidget.context.path.startsWith('04_')"
        )
        assert_clean(notebook)


def assert_clean(notebook: Notebook) -> None:
    assert notebook.errors() == []
    assert notebook.problems == []
