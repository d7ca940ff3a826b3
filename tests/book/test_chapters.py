"""Two real chapters in both languages, executed and built: sound, and without keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from fa_toolkit.book import faults, keys, site

pytestmark = [pytest.mark.notebook, pytest.mark.timeout(900)]  # four notebooks, on a busy machine


def test_real_chapters_make_a_sound_book(tmp_path: Path) -> None:
    built = site.build(tmp_path / "book", chapters=[3, 12])
    assert built.executed == 4 and built.players >= 6
    pages = faults.read(built.folder)
    assert [str(fault) for fault in faults.look(built.folder, pages).faults] == []
    assert [str(fault) for fault in keys.look(built.folder, pages)] == []
    for name in ("03_softmax_in_blocks.html", "zh/03_softmax_in_blocks.html"):
        page = BeautifulSoup((built.folder / name).read_text(encoding="utf-8"), "html.parser")
        assert len(page.select(".bk-player")) >= 3 and len(page.select(".bk-stub")) == 6
        assert len(page.select(".bk-quiz > div > ol > li")) >= 10
        assert page.select(".bk-stderr") == []
    again = site.build(tmp_path / "book", chapters=[3, 12])
    assert again.executed == 0 and again.players == built.players
