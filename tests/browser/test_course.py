"""The course as a learner meets it: chapters run in a real JupyterLab, answers kept, sliders moved.

One server works on a copy of the notebooks, as `fa lab` makes one. Every test opens a browser of
its own; cells are found by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lab import ROOT, Lab, Notebook, chromium

from fa_toolkit.quiz import load_bank
from fa_toolkit.reference import online_softmax_states
from fa_toolkit.study import prepare

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
#: An index of the notebook -> its cell on the page; only cells near the view exist there.
CELL = '.jp-Notebook [data-windowed-list-index="{}"]'
SHOW = """index => {
  const content = window.jupyterapp.shell.currentWidget.content;
  content.activeCellIndex = index;
  return content.scrollToItem(index, 'start').catch(() => null).then(() => null);
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    study = tmp_path_factory.mktemp("course") / "study"
    prepare(study, ROOT / "notebooks")
    with Lab(study) as running:
        yield running


def show(notebook: Notebook, cell_id: str, inside: str) -> Any:
    """Scroll to a cell and return the element of it that `inside` selects, once it is there."""
    index = [cell["id"] for cell in notebook.cells()].index(cell_id)
    found = notebook.page.locator(f"{CELL.format(index)} {inside}").first
    for _ in range(20):  # cells above take their height only when they are drawn
        notebook.page.evaluate(SHOW, index)
        notebook.page.wait_for_timeout(150)
        if found.is_visible():
            break
    found.wait_for(timeout=20_000)
    return found


def rerun(notebook: Notebook, *cell_ids: str) -> None:
    """Run some cells again, in order."""
    ids = [cell["id"] for cell in notebook.cells()]
    for cell_id in cell_ids:
        notebook.page.evaluate(SHOW, ids.index(cell_id))
        notebook.command("notebook:run-cell")
        notebook.wait_ready()


def assert_ran_clean(notebook: Notebook) -> None:
    """Every code cell ran, none failed, the page had no error and asked nobody outside."""
    cells = [cell for cell in notebook.cells() if cell["kind"] == "code"]
    assert [cell["id"] for cell in cells if cell["count"] is None] == []
    assert notebook.errors() == []
    assert notebook.problems == []


def choose(card: Any, option: str) -> None:
    """Answer a choice by keyboard alone: space, arrows to the option, enter."""
    keyboard = card.page.keyboard
    card.locator(".fq-option input").first.focus()
    keyboard.press("Space")
    for _ in range(card.locator(".fq-option").count()):
        if option in card.locator(".fq-option:has(input:checked)").inner_text():
            break
        keyboard.press("ArrowDown")
    keyboard.press("Enter")


def verdict(card: Any) -> str:
    card.locator(".fq-headline").wait_for()
    return str(card.locator(".fq-headline").inner_text())


def test_the_first_win_is_kept(lab: Lab) -> None:
    with lab.open("00_start_here.ipynb") as notebook:
        notebook.run_all()
        assert_ran_clean(notebook)
        assert "✓" in show(notebook, "doctor", ".fa-doctor").inner_text()
        card = show(notebook, "ask", ".fa-quiz")
        choose(card, "0.368")
        assert "Not yet" in verdict(card)
        assert "belongs to the new block" in card.inner_text()
        card.locator(".fq-buttons .fq-button").first.press("Enter")  # try again
        card.locator(".fq-option").first.wait_for()
        choose(card, "it stays as it is")
        assert "Right" in verdict(card)
        assert "holds" in card.locator(".fq-claims").inner_text()
        notebook.save()

        notebook.reload()  # the kernel lives on
        assert "Right" in verdict(show(notebook, "ask", ".fa-quiz"))

        notebook.restart()  # and then it does not
        rerun(notebook, "setup", "ask", "quiz")
        assert "Right" in verdict(show(notebook, "ask", ".fa-quiz"))
        whole = show(notebook, "quiz", ".fa-quiz")
        assert f"1 of {len(load_bank().chapter(0).questions)} answered" in whole.inner_text()
        assert notebook.errors() == [] and notebook.problems == []


def test_softmax_in_blocks_says_what_the_claims_say(lab: Lab) -> None:
    with lab.open("03_softmax_in_blocks.ipynb", height=1100) as notebook:
        page = notebook.page
        notebook.run_all()
        assert_ran_clean(notebook)
        player = show(notebook, "stepper", ".fa-player")
        player.focus()
        seen = []
        for _ in range(12):  # one of the steps asks first
            seen.append(player.inner_text())
            page.keyboard.press("ArrowRight")
        whole = "\n".join(seen)
        alone, both = online_softmax_states([1, 3, 2, 6], 2)
        first, last = (f"{state.l:.3f}" for state in (alone, both))
        assert first in seen[4] and last not in seen[4]  # S10: the first block alone
        assert f"{both.factor:.3f}"[:4] in whole  # S11: the factor e^(3 - 6)
        assert last in seen[-1]  # S12: the denominator of the whole row
        assert f"{1 / both.l:.3f}" in seen[-1]  # the weight of the largest score

        card = show(notebook, "quiz", ".fa-quiz")
        card.locator(".fq-dot:nth-child(2)").press("Enter")
        card.locator(".fq-number").wait_for()
        for answer, outcome in (("2 * (e^-1 + 1)", "Not yet"), ("1.553", "Right")):
            card.locator(".fq-number").fill(answer)
            card.locator(".fq-number").press("Enter")
            assert outcome in verdict(card), answer
            if outcome == "Not yet":
                assert "added as they are" in card.inner_text()
                card.locator(".fq-buttons .fq-button").first.press("Enter")
                card.locator(".fq-number").wait_for()
        assert notebook.problems == []


def test_a_slider_moves_by_keyboard_and_the_picture_follows(lab: Lab) -> None:
    with lab.open("01_memory_hierarchy.ipynb", height=1100) as notebook:
        notebook.run_all()
        assert_ran_clean(notebook)
        box = show(notebook, "roofline", ".fa-scrub")
        picture = box.locator("svg[role=img]")
        # a matrix product does N / 3 FLOPs for a byte, whatever the GPU
        assert f"matmul: {4096 / 3:,.0f} FLOPs" in str(picture.get_attribute("aria-label"))
        before = picture.inner_html()
        lengths = box.locator(".noUi-handle").first
        lengths.focus()
        for _ in range(3):
            notebook.page.keyboard.press("ArrowLeft")
        notebook.page.wait_for_function(
            "b => document.querySelector('.fa-scrub svg[role=img]').innerHTML !== b", arg=before
        )
        box.locator(f'svg[aria-label*="matmul: {64 / 3:.1f} FLOPs"]').wait_for()
        assert notebook.errors() == [] and notebook.problems == []


def test_the_flash_kernel_runs(lab: Lab) -> None:
    with lab.open("06_flash_kernel.ipynb") as notebook:
        notebook.run_all()
        assert_ran_clean(notebook)
        (bill,) = (cell["outputs"] for cell in notebook.cells() if cell["id"] == "bill")
        recorded, modelled = eval(bill[0]["data"]["text/plain"], {"__builtins__": {}})
        assert recorded == modelled and min(recorded) > 0


def test_a_chapter_in_chinese(lab: Lab) -> None:
    with lab.open("zh/03_softmax_in_blocks.ipynb", height=1100) as notebook:
        notebook.run_all()
        assert_ran_clean(notebook)
        assert "设备" in show(notebook, "setup", ".fa-card").inner_text()
        player = show(notebook, "stepper", ".fa-player")
        assert player.get_attribute("aria-label") == "softmax，一块一块来"
        assert "第 1 步，共 9 步" in player.inner_text()
        assert "尚未作答" in show(notebook, "merge-exercise-check", ".fa-card").inner_text()
        card = show(notebook, "quiz", ".fa-quiz")
        assert card.get_attribute("lang") == "zh-CN" and "提交" in card.inner_text()
        assert "1 of" not in card.inner_text() and "已答" in card.inner_text()
