"""The memory ladder and the block chooser in a real JupyterLab, and as pages without a network.

With FA_SHOTS set to a folder, pictures of what was seen are left there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import Lab, Notebook, chromium
from test_players import MANY, SCRUB, _page, _scrub, _shot, _theme

from fa_toolkit import viz
from fa_toolkit.io_model import flash_forward_traffic, standard_forward_traffic
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.viz.numbers import amount

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
CELLS = [
    "import fa_toolkit as fa\nladder = fa.viz.memory_ladder('a100-40', lang='en')\nladder",
    "ladder.step, ladder.gpu.key, ladder.bytes, ladder.first, ladder.lang",
    "chooser = fa.viz.block_chooser('a100-40', lang='en')\nchooser",
    "chooser.tile, chooser.settings['loaded'], chooser.player.tape.tile",
    "chooser.player",
]
LADDER, CHOOSER = ".fa-player:has(.fa-rungs)", ".fa-player:has(.fa-tilegrid)"
TILES = ".fa-player:has(.fa-scores-plane)"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    work = tmp_path_factory.mktemp("places")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, work / "places.ipynb")
    with Lab(work) as running:
        yield running


def test_ladder_and_chooser_in_jupyterlab(lab: Lab) -> None:
    with lab.open("places.ipynb", width=1320, height=1000) as notebook:
        page = notebook.page
        for cell in range(3):
            notebook.value(cell)
        assert notebook.errors() == []
        _ladder_is_walked_down(notebook)
        _tile_is_chosen_and_loaded(notebook)
        for theme in ("dark", "light"):
            _theme(notebook, theme)
            for selector in (LADDER, CHOOSER):
                back = "e => getComputedStyle(e).backgroundColor"
                shade = page.locator(selector).evaluate(back).strip("rgba()").split(",")[:3]
                assert all(int(part) < 60 for part in shade) == (theme == "dark")
        page.locator(LADDER).locator(".fa-speak").click()
        assert "第 8 步" in page.locator(LADDER).inner_text()
        assert notebook.value(1, lambda shown: shown.endswith("'zh')")).endswith("'zh')")
        notebook.save()
        assert notebook.problems == []
        notebook.reload()
        page.locator(LADDER).wait_for()
        assert "第 8 步" in page.locator(LADDER).inner_text()
        page.locator(CHOOSER).wait_for()
        assert page.locator(f"{CHOOSER} .fa-tilecell-chosen").get_attribute(
            "aria-label", timeout=5000
        )
        assert [p for p in notebook.problems if "Failed to fetch" not in p] == []


def _ladder_is_walked_down(notebook: Notebook) -> None:
    """Play to the question, click a level, and see the two levels of the claim."""
    page = notebook.page
    ladder = page.locator(LADDER)
    ladder.wait_for()
    assert "step 1 of 8" in ladder.inner_text() and "log scale" in ladder.inner_text()
    ladder.locator(".fa-pace").select_option("4")
    ladder.focus()
    page.keyboard.press("Space")
    page.wait_for_function(
        "p => document.querySelector(p).classList.contains('fa-asking')", arg=LADDER
    )
    assert "32 MiB" in ladder.inner_text() and "4.65 µs" not in ladder.inner_text()
    ladder.locator(".fa-rung-button").nth(2).click()
    assert "✓ you chose L2 cache" in ladder.inner_text() and "4.65 µs" in ladder.inner_text()
    page.keyboard.press("End")
    assert "20.25 MiB" in ladder.inner_text() and "two levels" in ladder.inner_text()
    for key, step in (("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 8)):
        page.keyboard.press(key)
        assert f"step {step} of 8" in ladder.inner_text()
    ladder.locator(".fa-slide-n").focus()
    page.keyboard.press("ArrowLeft")
    told = "(7, 'a100-40', 8388608, 'registers', 'en')"
    assert notebook.value(1, told.__eq__) == told


def _tile_is_chosen_and_loaded(notebook: Notebook) -> None:
    """Answer both questions, play to the end, click a tile and load it into the tile player."""
    page = notebook.page
    chooser = page.locator(CHOOSER)
    chooser.locator(".fa-pace").select_option("4")
    for answer, said in ((2, "✓ you said × 2"), (1, "✓ you said stays")):
        chooser.focus()
        page.keyboard.press("Space")
        page.wait_for_function(
            "p => document.querySelector(p).classList.contains('fa-asking')", arg=CHOOSER
        )
        chooser.locator(".fa-choice-guess").nth(answer).click()
        assert said in chooser.inner_text()
    page.keyboard.press("Space")
    page.wait_for_function(
        "p => document.querySelector(p).innerText.includes('step 12 of 12')", arg=CHOOSER
    )
    problem = AttentionProblem(len_q=4096, len_k=4096, head_dim=64, causal=True)
    bills = [flash_forward_traffic(problem, TileShape(64, 64)),
             standard_forward_traffic(problem, TileShape(128, 128))]  # fmt: skip
    shown = chooser.locator(".fa-ledger .fa-bar-value").all_inner_texts()
    assert shown[2:] == [amount(bill.total) for bill in bills]
    assert notebook.shows(3, "(TileShape(block_m=64, block_n=64), ''")
    notebook.value(4)
    page.locator(TILES).wait_for()
    chooser.locator(".fa-tilecell").nth(5 * 3 + 1).click()  # 128 × 32
    chooser.locator(".fa-choice-load").click()
    page.wait_for_function(
        "p => document.querySelector(p).innerText.includes('plays 128 × 32 now')", arg=CHOOSER
    )
    tile = "TileShape(block_m=128, block_n=32)"
    told = f"({tile}, '128x32', {tile})"
    assert (
        " ".join(notebook.value(3, lambda shown: " ".join(shown.split()) == told).split()) == told
    )
    assert (
        "512 keys" in page.locator(TILES).inner_text()
        or "512 queries" in page.locator(TILES).inner_text()
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_pages_of_their_own_play_without_kernel_and_network(lang: str, tmp_path: Path) -> None:
    for name, player in (
        ("ladder", viz.memory_ladder(lang=lang)),
        ("chooser", viz.block_chooser("h100", head_dim=128, lang=lang)),
    ):
        path = tmp_path / f"{name}.html"
        player.to_html(path)
        for width, scheme in ((900, "dark"), (900, "light"), (1600, "dark"), (1600, "light")):
            with _page(path, width=width, scheme=scheme) as (page, wrong):
                root = page.locator(".fa-player")
                root.focus()
                height = _through(page, f"{name}_{lang}_{scheme}_{width}")
                assert max(height) - min(height) <= 1, "nothing jumps"
                load = root.locator(".fa-choice-load")  # only a kernel could do it
                assert load.count() == (name == "chooser") and not load.is_visible()
                before = root.inner_text()
                root.locator(".fa-speak").click()
                assert root.inner_text() != before
                assert wrong == []


def _through(page: Any, name: str) -> list[float]:
    """First step, a question before and after its answer, middle, last: the heights they take."""
    root, heights = page.locator(".fa-player"), []
    last = int(page.locator(".fa-range").get_attribute("max"))
    question = 6 if page.locator(".fa-rungs").count() else 4
    for label, step in (("first", 0), ("asked", question), ("middle", last // 2), ("last", last)):
        _scrub(page, step)
        _shot(page, f"{name}_{label}", ".fa-player")
        heights.append(root.evaluate("e => e.getBoundingClientRect().height"))
        assert page.locator(".fa-asking").count() == (label == "asked")
        if label == "asked":
            page.keyboard.press("ArrowRight")  # shows the answer and stays
            assert page.locator(".fa-asking").count() == 0
            heights.append(root.evaluate("e => e.getBoundingClientRect().height"))
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    return heights


def test_they_are_quick_and_leave_nothing(tmp_path: Path) -> None:
    path, show = tmp_path / "many.html", "widget.render({ model, el: place });"
    for player in (
        viz.memory_ladder(lang="en", predict=False),
        viz.block_chooser(n=1 << 17, lang="en", predict=False),
    ):
        made = player.to_html()
        path.write_text(
            made.replace(show, f"window.fa = {{ widget, model, heard: model.heard }}; {show}"),
            "utf-8",
        )
        with _page(path) as (page, wrong):
            found = {**page.evaluate(MANY), **page.evaluate(SCRUB)}
            print({name: round(value, 2) for name, value in found.items()})
            assert found["listeners"] == 0 and found["elements"] == 0 and found["grown"] < 3e6
            assert found["open"] < 1000 and found["step20"] < 33
            assert found["p50"] < 16 and found["p95"] < 33, found
            assert wrong == []
