"""Joins our ES modules into the single one a widget ships. A concatenation, not a build step.

The files in `static/` are ordinary modules that Node and a browser can import as they are. A
widget's front end must be one source text, so this inlines `import { … } from "./other.js"` lines
(one line each, no renaming, every top-level name unique) in the order they are needed.
"""

from __future__ import annotations

import re
from importlib.resources import files

from .palette import css_variables

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.-]+)";\n', re.M)
_EXPORT = re.compile(r"^export (?!default)", re.M)


def read(name: str) -> str:
    """The text of a file in `static/`."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")


def module(name: str) -> str:
    """One self-contained ES module: `name` with everything it imports before it."""
    parts: dict[str, str] = {}

    def add(file: str) -> None:
        if file in parts:
            return
        text = read(file)
        for needed in _IMPORT.findall(text):
            add(needed)
        text = _IMPORT.sub("", text)
        parts[file] = text if file == name else _EXPORT.sub("", text)

    add(name)
    return "\n".join(parts.values())


def style(*names: str) -> str:
    """The palette's CSS variables followed by the named style sheets."""
    return "\n".join([css_variables(), *(read(name) for name in names)])
