"""Everything in the outputs can be read: whole lines, letters that stand out, in both themes.

The gallery shows every player, chapter 09 cards, sources and figures; `reading.js` looks at what is
on the page, screen by screen.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import ROOT, Lab, Notebook, chromium

from fa_toolkit.study import prepare

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]
READING = Path(__file__).with_name("reading.js").read_text("utf-8")
SCROLL = """() => {
  const pane = document.querySelector('.jp-WindowedPanel-outer');
  const end = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 4;
  pane.scrollTop = end ? 0 : pane.scrollTop + pane.clientHeight - 60;
  return end;
}"""


def unreadable(notebook: Notebook) -> set[str]:
    """What `reading.js` finds from the first screen to the last."""
    notebook.run_all()
    notebook.page.evaluate(
        "() => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0 }"
    )
    found: set[str] = set()
    for _ in range(60):
        notebook.page.wait_for_timeout(900)  # the cells of a screen are drawn as it comes
        found |= set(notebook.page.evaluate(READING))
        if notebook.page.evaluate(SCROLL):
            break
    return found


@pytest.mark.parametrize(("theme", "prefix"), [("light", "zh/"), ("dark", "")])
def test_every_player_card_and_figure_can_be_read(theme: str, prefix: str, tmp_path: Path) -> None:
    prepare(tmp_path / "study", ROOT / "notebooks")
    with Lab(tmp_path / "study", theme=theme) as lab:
        for chapter in ("13_widget_gallery", "09_inference_and_variants"):
            with lab.open(f"{prefix}{chapter}.ipynb", width=1400, height=1000) as notebook:
                assert unreadable(notebook) == set(), chapter
                assert notebook.problems == []


def test_the_guard_sees_what_is_faint_or_runs_out(tmp_path: Path) -> None:
    prepare(tmp_path / "study", ROOT / "notebooks")
    with Lab(tmp_path / "study") as lab, lab.open("00_start_here.ipynb") as notebook:
        notebook.page.evaluate(
            """() => document.body.insertAdjacentHTML('beforeend', `<div class="jp-OutputArea-output"
              style="position: fixed; top: 0; width: 90px; background: white"><p style="color: #999">faint</p>
              <pre style="overflow-x: auto; white-space: pre">a line that runs out on the right</pre></div>`)"""
        )
        found = notebook.page.evaluate(READING)
        assert any(one.startswith("faint, 2.8") for one in found)
        assert any(one.startswith("runs out") for one in found)
