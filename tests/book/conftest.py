"""One small book for all tests of its looks; each worker makes it once, without a kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_book import Small, course

from fa_toolkit.book import site


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """Two chapters in both languages; not to be changed."""
    work = tmp_path_factory.mktemp("book")
    source, kept = course(work)
    built = site.build(work / "book", source=source, kept=kept)
    return Small(work / "book", source, kept, built)


@pytest.fixture
def own(small: Small, tmp_path: Path) -> Path:
    """A copy of the book, to be spoilt."""
    return Path(shutil.copytree(small.folder, tmp_path / "own"))
