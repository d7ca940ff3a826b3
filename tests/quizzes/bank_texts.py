"""Every bilingual text of the quiz files, with where it stands; and shingles of Chinese text."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
QUIZZES = ROOT / "quizzes"
SHINGLE = 12  # as many Chinese characters in a row count as copied
CJK = "\u4e00-\u9fff"
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_TOKEN = re.compile(rf"[{CJK}]|[A-Za-z0-9]+")


@functools.cache
def bilingual_texts() -> tuple[tuple[str, str, str], ...]:
    """(where, English, Chinese) of every text under quizzes/."""
    files = sorted(QUIZZES.rglob("*.yaml"))
    return tuple(
        text for file in files for text in _walk(yaml.safe_load(file.read_text("utf-8")), file.name)
    )


def _walk(node: Any, where: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, dict):
        if {"en", "zh"} <= set(node):
            yield where, node["en"], node["zh"]
        else:
            for name, inner in node.items():
                yield from _walk(inner, f"{where}.{name}")
    elif isinstance(node, list):
        for at, inner in enumerate(node):
            name = inner.get("id", at) if isinstance(inner, dict) else at
            yield from _walk(inner, f"{where}[{name}]")


def chinese_prose() -> Iterator[tuple[str, str]]:
    """(where, text) of all Chinese written for readers: quiz files and Chinese notebooks."""
    for where, _, zh in bilingual_texts():
        yield where, zh
    for notebook in sorted((ROOT / "notebooks" / "zh").glob("*.ipynb")):
        for at, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
            if cell["cell_type"] == "markdown":
                yield f"{notebook.name} cell {at}", "".join(cell["source"])


def without_code(text: str) -> str:
    """`text` without fenced and inline code."""
    return _CODE.sub(" ", text)


def shingles(text: str) -> Iterator[tuple[str, str]]:
    """(hash, words) of every run of SHINGLE tokens of which two thirds are Chinese.

    A token is one Chinese character or one Latin word or number; punctuation and blanks vanish.
    Runs of fewer Chinese characters are formulas and names, which nobody can restate.
    """
    tokens = [token.lower() for token in _TOKEN.findall(without_code(text))]
    for at in range(len(tokens) - SHINGLE + 1):
        run = tokens[at : at + SHINGLE]
        if sum("\u4e00" <= token <= "\u9fff" for token in run) * 3 >= SHINGLE * 2:
            words = " ".join(run)
            yield hashlib.blake2s(words.encode(), digest_size=5).hexdigest(), words
