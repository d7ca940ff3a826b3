"""The frame of a chapter in a real JupyterLab: its strip, its links, and the place to go on from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, TOKEN, Lab, Notebook, chromium

from fa_toolkit.course.parts import parts
from fa_toolkit.lab import install_place
from fa_toolkit.study import prepare

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
CHAPTER = "03_softmax_in_blocks.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    study = tmp_path_factory.mktemp("frame") / "study"
    prepare(study, ROOT / "notebooks")
    with Lab(study) as running:
        install_place(Path(running._home.name) / "data")
        yield running


def run(notebook: Notebook, *cells: str) -> None:
    ids = [cell["id"] for cell in notebook.cells()]
    for cell in cells:
        at = ids.index(cell)
        notebook.page.evaluate(
            "i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", at
        )
        notebook.command("notebook:run-cell")
    notebook.wait_ready()


def at_the_top(page: Any, heading: str) -> None:
    """Wait until this heading stands near the top of the notebook."""
    page.wait_for_function(
        """words => {
          const panel = document.querySelector('.jp-WindowedPanel-outer');
          if (!panel) return false;  // still opening
          const box = panel.getBoundingClientRect();
          return [...document.querySelectorAll('.jp-Notebook h2')].some(h => {
            const off = h.getBoundingClientRect().top - box.top;
            return h.textContent.startsWith(words) && off > -20 && off < 250;
          });
        }""",
        arg=heading,
        timeout=40_000,
    )


def test_the_strip_follows_what_is_run_and_leads_to_every_part(lab: Lab) -> None:
    first, merge = parts(3, "en")[0], next(p for p in parts(3, "en") if p.id == "merge-ask")
    with lab.open(CHAPTER) as notebook:
        page = notebook.page
        run(notebook, "setup")
        strip = page.locator(".fc-way").first
        strip.wait_for()
        assert "Parts 0 / " in strip.inner_text().replace("\u2002", " ")
        run(notebook, *first.code)
        page.locator(".fc-part.fc-done").first.wait_for()  # the card above changed by itself
        assert page.locator(".fc-way").count() == 1
        assert "Parts 1 / " in strip.inner_text().replace("\u2002", " ")
        spoken = strip.aria_snapshot()
        assert "1 Why the maximum is subtracted: done" in spoken
        at = parts(3, "en").index(merge)
        page.locator(".fc-part a").nth(at).click()
        at_the_top(page, merge.title)
        assert notebook.problems == []


def test_links_of_a_chapter_lead_on_within_jupyterlab(lab: Lab) -> None:
    with lab.open(CHAPTER) as notebook:
        page = notebook.page
        page.locator(".jp-Notebook a", has_text="04 Flash Attention in tiles").first.click()
        page.locator("h1", has_text="Flash Attention in tiles").first.wait_for()
        assert notebook.problems == []


def test_an_address_with_a_cell_opens_there(lab: Lab) -> None:
    with lab.open("zh/" + CHAPTER) as notebook:
        page = notebook.page
        part = next(p for p in parts(3, "zh") if p.id == "merge-ask")
        page.goto("about:blank")
        page.goto(
            f"http://127.0.0.1:{lab.port}/lab/tree/zh/{CHAPTER}?token={TOKEN}&reset#cell-id=merge-ask"
        )
        at_the_top(page, part.title)
        assert notebook.problems == []
