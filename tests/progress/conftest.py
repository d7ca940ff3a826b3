"""A progress file in a folder with a space and Chinese characters in its name."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "学习 数据" / "progress.sqlite3"
