"""Joins our ES modules into the single one a widget ships. A concatenation, not a build step.

The files in `static/` are ordinary modules that Node and a browser can import as they are. A
widget's front end must be one source text, so this inlines `import { … } from "./other.js";` lines
in the order they are needed. It knows one form of import and refuses every other: one line, no
renaming, every top-level name unique over all joined files.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from importlib.resources import files

from .palette import css_variables

_IMPORT = re.compile(r'^import \{[^}\n]*\} from "\./([\w.-]+)";\n', re.M)
_RENAMED = re.compile(r"^import \{[^}\n]*\bas\b", re.M)
_EXPORT = re.compile(r"^export (?!default)", re.M)
_LEFT = re.compile(r"^\s*(?:import\b(?!\()|export (?!default).*)", re.M)
_TOP = re.compile(r"^(?:async )?(?:const|let|var|function\*?|class) (\w+)", re.M)


def read(name: str) -> str:
    """The text of a file in `static/`."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=32)
def module(name: str) -> str:
    """One self-contained ES module: `name` with everything it imports before it.

    Raises:
        ValueError: if a file imports in a way that cannot be inlined, or two files use one name.
    """
    parts: dict[str, str] = {}

    def add(file: str) -> None:
        if file in parts:
            return
        text = read(file)
        if _RENAMED.search(text):
            raise ValueError(f"{file}: an import that renames cannot be inlined")
        for needed in _IMPORT.findall(text):
            add(needed)
        text = _IMPORT.sub("", text)
        parts[file] = text if file == name else _EXPORT.sub("", text)

    add(name)
    joined = "\n".join(parts.values())
    check(joined, name)
    return joined


def check(joined: str, name: str) -> None:
    """Refuse a joined module that would not run, or that a page could not show on its own."""
    if left := _LEFT.search(joined):
        raise ValueError(f"{name}: cannot inline {left[0].strip()!r}")
    twice = [top for top, count in Counter(_TOP.findall(joined)).items() if count > 1]
    if twice:
        raise ValueError(f"{name}: top-level names used by two files: {', '.join(twice)}")


def plain(name: str) -> str:
    """A module that imports nothing as a part of another script: without its `export`s."""
    return _EXPORT.sub("", read(name))


def style(*names: str) -> str:
    """The palette's CSS variables followed by the named style sheets."""
    return "\n".join([css_variables(), *(read(name) for name in names)])
