"""Looks for what a built book must not hold: keys of questions and solutions of exercises.

What the pages are made of never has them; this looks at what was made. A text that the course gives
its readers anyway, a question or the stub of another exercise, is no secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..language import LANGUAGES
from .faults import Fault, Parsed, read

#: What a reader sees of a question before an answer; every other text in two languages is hidden.
_SHOWN = {("prompt",), ("choices", "text"), ("items", "text"), ("pairs", "left"), ("pairs", "right"),
          ("rows",)}  # fmt: skip
#: Shorter texts are facts that a chapter may state too. In columns: a Chinese character has two.
_SHORTEST = 40
_SHORTEST_CODE = 30
#: Letters by which a key is looked up first.
_BEGINNING = 12


class Secrets(NamedTuple):
    """Text of a key or lines of a solution, and whose it is."""

    keys: dict[str, str]
    solutions: dict[str, str]


@lru_cache(maxsize=1)
def secrets() -> Secrets:
    """Everything hidden in the bank and in the solutions, in both languages."""
    from .. import exercises
    from ..exercises import cells
    from ..quiz import load_bank

    keys: dict[str, str] = {}
    given: set[str] = set()
    for chapter in load_bank().chapters.values():
        for question in chapter.questions:
            for path, text in _texts(question.model_dump(), ()):
                if path in _SHOWN:
                    given.add(text)
                elif _columns(text) >= _SHORTEST:
                    keys[text] = question.id
    stubs = "\n".join(_code(cells.stub(name)) for name in exercises.ids())
    solutions = {}
    for name in exercises.ids():
        lines = cells.solved(name).splitlines()
        for first, last in cells.solution_lines(name):
            written = _code("\n".join(lines[first - 1 : last]))
            if len(written) >= _SHORTEST_CODE and written not in stubs:
                solutions[written] = name
    return Secrets({text: name for text, name in keys.items() if text not in given}, solutions)


def _texts(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text that is written in two languages, as it would be shown, and the fields above it."""
    from ..quiz.markup import to_plain

    if isinstance(node, dict) and set(node) == set(LANGUAGES):
        yield from ((path, _line(to_plain(text))) for text in node.values())
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from _texts(value, (*path, name))
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _texts(value, path)


def look(folder: Path, pages: Mapping[str, Parsed] | None = None) -> list[Fault]:
    """Every key and solution that a file of the book holds, in its text or in its data."""
    found = []
    for href, page in sorted((read(folder) if pages is None else pages).items()):
        data = " ".join(script.get_text() for script in page.soup.find_all("script"))
        plain = page.soup.get_text()
        found += _in_texts(href, [plain, page.soup.get_text(" "), data], _code(plain))
    for file in sorted(folder.rglob("*.js")):
        text = file.read_text(encoding="utf-8")
        found += _in_texts(file.relative_to(folder).as_posix(), [text], _code(text))
    return found


def _in_texts(page: str, texts: list[str], code: str) -> list[Fault]:
    names = {name for text in texts for name in _keys_in(_line(text))}
    solved = {name for body, name in secrets().solutions.items() if body in code}
    return [
        *(Fault(page, "key", name) for name in sorted(names)),
        *(Fault(page, "solution", name) for name in sorted(solved)),
    ]


def _keys_in(text: str) -> Iterator[str]:
    """Whose keys occur in a text; their beginnings are looked up first, since there are many."""
    pieces = {text[at : at + _BEGINNING] for at in range(len(text) - _BEGINNING + 1)}
    for key, name in secrets().keys.items():
        if key[:_BEGINNING] in pieces and key in text:
            yield name


def _columns(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _code(text: str) -> str:
    """Lines of code without their indentation, which a kernel and a cell need not share."""
    return "\n".join(line.strip() for line in text.splitlines())
