"""The kernel view in a real JupyterLab and on a page of its own.

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
from test_players import _page, _scrub, _theme

from fa_toolkit import course, kernels
from fa_toolkit.io_model import flash_forward_traffic
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="only the interpreter is watched"),
]
VIEW = ".fa-player:has(.fa-listing)"
TILES = (TileShape(4, 4), TileShape(8, 4))
CELLS = [
    "import fa_toolkit as fa\nfrom fa_toolkit.problem import TileShape\n"
    "view = fa.course.kernel_view(beside={'tile': TileShape(8, 4)})\nview",
    "view.step, view.lang, [made.moved for made in view.reels]",
]


def _shot(page: Any, name: str) -> None:
    if folder := os.environ.get("FA_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(250)
        page.locator(".fa-player").first.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    work = tmp_path_factory.mktemp("kernel")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, work / "kernel.ipynb")
    with Lab(work) as running:
        yield running


def _bills() -> list[str]:
    """What the I/O model says both runs read and write, as the ledgers write it."""
    problem = AttentionProblem(len_q=7, len_k=7, head_dim=12, dtype="float32", causal=True)
    models = [flash_forward_traffic(problem, tile) for tile in TILES]
    return [f"{count:,} B" for model in models for count in (model.reads, model.writes)]


def _ledgers(root: Any) -> list[str]:
    return [
        text
        for run in root.locator(".fa-run").all()
        for text in run.locator(".fa-ledger").first.locator(".fa-bar-value").all_inner_texts()
    ]


def test_the_view_in_jupyterlab(lab: Lab) -> None:
    with lab.open("kernel.ipynb", width=1320, height=1000) as notebook:
        page = notebook.page
        for cell in (0, 1):
            notebook.value(cell)
        assert notebook.errors() == []
        root = page.locator(VIEW)
        root.wait_for()
        root.focus()
        page.keyboard.press("Space")  # plays to the question and waits there
        page.wait_for_function(
            "p => document.querySelector(p).classList.contains('fa-asking')", arg=VIEW
        )
        assert "How many are masked off?" in root.inner_text()
        assert root.locator(".fa-lane-off").first.get_attribute("d") == ""
        page.keyboard.type("16")
        page.keyboard.press("Enter")
        assert "✓ you said 16" in root.inner_text()
        assert root.locator(".fa-lane-off").first.get_attribute("d")
        lit = root.locator(".fa-touches code").all_inner_texts()
        assert len(lit) == 1 and "tl.load(q_ptrs" in lit[0]
        page.keyboard.press("End")
        assert _ledgers(root) == _bills()
        assert any("tl.store" in line for line in root.locator(".fa-touches").all_inner_texts())
        last = notebook.value(1, lambda shown: shown.startswith("(18, 'en'"))
        assert last.startswith("(18, 'en'")
        for key, step in (("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
            root.focus()
            page.keyboard.press(key)
            assert f"step {step} of 19" in root.inner_text()
        _in_other_steps_themes_and_languages(notebook, root)
        notebook.save()
        assert notebook.problems == []
        notebook.reload()
        page.locator(VIEW).wait_for()
        assert "program" in page.locator(VIEW).inner_text()
        assert [p for p in notebook.problems if "Failed to fetch" not in p] == []


def _pane_shows(page: Any, line: str) -> bool:
    box = page.locator(line).first.bounding_box()
    pane = page.locator(".fa-listing").bounding_box()
    return bool(pane["y"] <= box["y"] <= pane["y"] + pane["height"])


def _in_other_steps_themes_and_languages(notebook: Notebook, root: Any) -> None:
    page = notebook.page
    root.locator(".fa-step-kind").select_option("programs")
    root.focus()
    page.keyboard.press("End")
    assert "step 3 of 3" in root.inner_text() and _ledgers(root) == _bills()
    root.locator(".fa-step-kind").select_option("lines")
    root.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert root.locator(".fa-ran").count() == 1  # both runs are at their first line
    for theme in ("dark", "light"):
        _theme(notebook, theme)
        shade = root.evaluate("e => getComputedStyle(e).backgroundColor")
        assert all(int(p) < 60 for p in shade.strip("rgba()").split(",")[:3]) == (theme == "dark")
    root.locator(".fa-speak").click()
    assert "逐行看 kernel" in root.inner_text()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_of_its_own_plays_without_kernel_and_network(lang: str, tmp_path: Path) -> None:
    with using(lang):  # type: ignore[arg-type]
        made = {
            "kernel": course.kernel_view(),
            "kernel_two": course.kernel_view(beside={"tile": TILES[1]}),
        }
    for name, view in made.items():
        path = tmp_path / f"{name}.html"
        view.to_html(path)
        for width, scheme in ((900, "dark"), (1600, "light")):
            with _page(path, width=width, scheme=scheme) as (page, wrong):
                root = page.locator(".fa-player")
                root.focus()
                _shot(page, f"{name}_{lang}_{scheme}_{width}_first")
                middle = page.locator(".fa-range").evaluate("e => Math.round(e.max / 2)")
                _scrub(page, middle)
                _shot(page, f"{name}_{lang}_{scheme}_{width}_middle")
                assert _pane_shows(page, ".fa-touches")  # the pane has followed
                height = root.bounding_box()["height"]
                page.keyboard.press("End")
                assert root.bounding_box()["height"] == height  # nothing jumps
                whole = page.locator(".fa-bar-track u").evaluate_all(
                    "all => all.map(e => e.style.width)"
                )
                read = [reel.moved[0] for reel in view.reels]  # bars of both runs on one scale
                wide = [float(whole[3 * i].rstrip("%")) for i in range(len(read))]
                assert wide == pytest.approx([100 * n / max(read) for n in read], abs=0.01)
                _shot(page, f"{name}_{lang}_{scheme}_{width}_last")
                assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
                assert wrong == []


def test_it_opens_at_its_line_though_it_is_put_on_the_page_later(tmp_path: Path) -> None:
    with using("en"):
        made = course.kernel_view(start="store", cut="lines").to_html()
    show = "widget.render({ model, el: place });"
    late = (
        "const el = document.createElement('div'); widget.render({ model, el });"
        " setTimeout(() => place.append(el), 50);"
    )
    assert show in made
    (tmp_path / "late.html").write_text(made.replace(show, late), encoding="utf-8")
    with _page(tmp_path / "late.html") as (page, wrong):
        page.locator(".fa-ran").wait_for()
        page.wait_for_timeout(100)
        assert _pane_shows(page, ".fa-ran")
        assert wrong == []
