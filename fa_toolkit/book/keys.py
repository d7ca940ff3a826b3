"""Looks for what a built book must not hold: keys of questions and solutions of exercises.

What the pages are made of never has them; this looks at what was made. A text that the course gives
its readers anyway, a question or the stub of another exercise, is no secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bs4 import BeautifulSoup

from .faults import Fault

#: Fields of a question that a reader sees only after an answer.
_HIDDEN = {"why", "explain", "feedback", "why_wrong", "key_points", "misconceptions",
           "model_answer", "listens_for"}  # fmt: skip
#: Shorter texts occur by chance.
_SHORTEST = 16
_SHORTEST_CODE = 30


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
            for hidden, text in _texts(question.model_dump(), hidden=False):
                if not hidden:
                    given.add(text)
                elif len(text) >= _SHORTEST:
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


def _texts(node: Any, *, hidden: bool) -> Iterator[tuple[bool, str]]:
    """Every text of a question as it would be shown, and whether it is hidden."""
    from ..quiz.markup import to_plain

    if isinstance(node, str):
        yield hidden, _line(to_plain(node))
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from _texts(value, hidden=hidden or name in _HIDDEN)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _texts(value, hidden=hidden)


def look(folder: Path) -> list[Fault]:
    """Every key and solution that a file of the book holds, in its text or in its data."""
    found = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".html", ".js"):
            continue
        raw = file.read_text(encoding="utf-8")
        page = file.relative_to(folder).as_posix()
        if file.suffix == ".html":
            soup = BeautifulSoup(raw, "html.parser")
            data = " ".join(script.get_text() for script in soup.find_all("script"))
            texts = [soup.get_text(), soup.get_text(" "), data]
        else:
            texts = [raw]
        lines, code = [_line(text) for text in texts], _code(texts[0])
        names = {name for key, name in secrets().keys.items() if any(key in x for x in lines)}
        found += [Fault(page, "key", name) for name in sorted(names)]
        names = {name for body, name in secrets().solutions.items() if body in code}
        found += [Fault(page, "solution", name) for name in sorted(names)]
    return found


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _code(text: str) -> str:
    """Lines of code without their indentation, which a kernel and a cell need not share."""
    return "\n".join(line.strip() for line in text.splitlines())
