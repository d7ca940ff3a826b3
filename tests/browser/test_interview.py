"""A mock interview in a real JupyterLab: by keyboard, over a reload, to the report and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import Lab, Notebook, chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]

CELL = """
import fa_toolkit as fa
fa.language.choose({lang!r})
fa.course.interview(minutes=10)
"""
WRONG = "It never writes the N by N scores out. It is an approximation and loses a little accuracy."
FRONT = ".fa-interview .fq-prompt"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("面试 notebooks")
    for lang in ("en", "zh"):
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "p"}}
        )
        notebook.cells = [
            nbformat.v4.new_code_cell(CELL.format(lang=lang).strip()),
            nbformat.v4.new_code_cell("fa.course.last_interview()"),
            nbformat.v4.new_code_cell("fa.course.readiness()"),
        ]
        nbformat.write(notebook, folder / f"interview_{lang}.ipynb")
    for name in ("03_softmax_in_blocks", "04_flash_attention_in_tiles", "07_recomputation"):
        nbformat.write(nbformat.v4.new_notebook(), folder / f"{name}.ipynb")
    with Lab(folder) as running:
        yield running


def prompt(page: Any) -> str:
    page.wait_for_selector(FRONT)
    text: str = page.inner_text(FRONT)
    return text


def next_prompt(page: Any, before: str) -> str:
    page.wait_for_function(
        f"before => {{ const e = document.querySelector('{FRONT}'); return !e || e.innerText !== before }}",
        arg=before,
    )
    text: str = page.inner_text(FRONT) if page.locator(FRONT).count() else ""
    return text


def test_from_the_choice_to_the_report(lab: Lab) -> None:
    with lab.open("interview_en.ipynb") as notebook:
        page = notebook.page
        notebook.run_all()
        page.wait_for_selector(".fi-choose")
        assert page.locator(".fi-segment:has(input:checked)").first.inner_text() == "10"
        page.locator(".fi-segment input").first.focus()
        page.keyboard.press("ArrowRight")  # 20 minutes
        page.locator(".fi-topic", has_text="Exactness").click()
        page.locator(".fi-topic", has_text="Flash Attention, forward pass").click()
        assert not page.locator(".fi-topic input").first.is_checked(), "no longer all topics"
        page.locator(".fi-choose button[type=submit]").press("Enter")
        asked = prompt(page)
        assert page.evaluate("document.activeElement.classList.contains('fq-prompt')")
        page.locator(".fa-interview textarea").fill(WRONG)
        page.wait_for_timeout(2000)  # a draft is handed to the kernel a moment after the last key
        notebook.save()

        notebook.reload()  # the kernel lives on, and so do the clock and what was typed
        assert prompt(page) == asked
        page.wait_for_function(
            "t => document.querySelector('.fa-interview textarea').value === t", arg=WRONG
        )
        left = page.inner_text(".fi-time")
        page.wait_for_function(
            "t => document.querySelector('.fi-time').textContent !== t", arg=left
        )
        minutes = int(page.inner_text(".fi-time").split(":")[0])
        assert 17 <= minutes < 20

        page.locator(".fa-interview textarea").press("Control+Enter")
        challenge = next_prompt(page, asked)
        assert challenge.startswith("You said: “It is an approximation"), challenge
        assert asked in page.inner_text(".fi-context")
        assert page.locator(".fq-score, .fq-headline").count() == 0, "no verdict before the end"
        page.locator(".fa-interview textarea").fill("No, I take it back: it is exact.")
        page.locator(".fa-interview .fq-main").click()
        third = next_prompt(page, challenge)
        page.locator(".fa-interview .fq-foot .fq-button:not(.fq-main)").click()  # pass
        next_prompt(page, third)
        page.locator(".fi-end").click()

        page.wait_for_selector(".fi-summary")
        assert "of 100 over 2 questions" in page.inner_text(".fi-summary")
        assert "taken back" in page.inner_text(".fi-report")
        assert page.locator(".fi-blocked").count() == 0
        page.locator(".fi-entry summary").first.click()
        assert "I take it back" in page.locator(".fi-entry").first.inner_text()
        for at, start in ((0, "# Interview report"), (1, "<!doctype html>")):
            with page.expect_download() as download:
                page.locator(".fq-foot .fq-button").nth(at).click()
            assert Path(download.value.path()).read_text("utf-8").startswith(start)

        chapter = page.locator(".fa-interview [data-commandlinker-command]").first
        name = re.search(r"\d\d", chapter.inner_text())[0]  # type: ignore[index]
        chapter.click()
        page.wait_for_function(
            f"window.jupyterapp.shell.currentWidget.context.path.startsWith('{name}_')"
        )
        assert_clean(notebook)


def test_narrow_in_chinese_and_what_is_left_after_it(lab: Lab) -> None:
    with lab.open("interview_zh.ipynb", width=700) as notebook:
        page = notebook.page
        notebook.run_all()
        page.wait_for_selector(".fi-choose")
        assert page.get_attribute(".fa-interview", "lang") == "zh-CN"
        assert_fits(page)
        page.locator(".fi-choose button[type=submit]").click()
        prompt(page)
        assert_fits(page)
        page.locator(".fi-head .fq-link").click()
        page.wait_for_function(
            "document.querySelector('.fi-head .fq-title').innerText === 'Mock interview'"
        )
        page.locator(".fi-head .fq-link").click()
        page.wait_for_function(
            "document.querySelector('.fi-head .fq-title').innerText === '模拟面试'"
        )
        asked = prompt(page)
        page.locator(".fa-interview .fq-foot .fq-button:not(.fq-main)").click()
        next_prompt(page, asked)
        page.locator(".fi-end").click()
        page.wait_for_selector(".fi-summary")
        assert "用时" in page.inner_text(".fi-summary")
        assert_fits(page)
        notebook.restart()  # the interview is gone, its report is not
        notebook.run_all()
        page.wait_for_selector(".fi-choose")
        page.wait_for_selector(".fc-report")
        assert "面试" in page.inner_text(".fc-report")
        assert_clean(notebook)


def assert_fits(page: Any) -> None:
    assert page.evaluate(
        "(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.fa-interview'))"
    )


def assert_clean(notebook: Notebook) -> None:
    assert notebook.errors() == []
    assert notebook.problems == []
