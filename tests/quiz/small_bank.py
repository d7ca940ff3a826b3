"""A small bank with one question of every kind, written for tests; not part of the course."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
PATTERNS = Path(__file__).with_name("small_patterns.yaml").read_text(encoding="utf-8")


def write_bank(folder: Path, text: str = FILE) -> Path:
    """The bank as a file in `folder`."""
    path = folder / "03_softmax_in_blocks.yaml"
    path.write_text(text, encoding="utf-8")
    patterns = folder / "patterns" / "Q-03-own-words.yaml"
    patterns.parent.mkdir(exist_ok=True)
    patterns.write_text(PATTERNS, encoding="utf-8")
    return path
