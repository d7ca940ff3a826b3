"""Loads kernels with edits in their source, beside the real ones: the shipped files stay as they are.

A changed file and everything that imports it is loaded anew as a package of its own; all other
files are the real modules. Knows nothing of which edits there are.
"""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..errors import ArgumentError
from ..language import Text

EVERY = "*"  # an edit of every file that the doors are made of
_IMPORT = re.compile(r"(?m)^from \.(\w+) import|^from \. import (\w+)")


@dataclass(frozen=True)
class Edit:
    """`pattern`, a regular expression, becomes `new` wherever it stands in `file`."""

    file: str
    pattern: str
    new: str

    @classmethod
    def of_text(cls, file: str, old: str, new: str) -> Edit:
        """The same for a text that is to be found as it is written."""
        return cls(file, re.escape(old), new.replace("\\", r"\\"))

    def applied(self, name: str, source: str) -> str:
        """`source` of file `name` with the edit in it; unchanged if it is about another file."""
        return re.sub(self.pattern, self.new, source) if self.file in (name, EVERY) else source


def edited(edits: Iterable[Edit], sources: Mapping[str, str], who: str) -> dict[str, str]:
    """The files that the edits change, {name: new source}.

    Args:
        who: whose edits they are, for the message.

    Raises:
        ArgumentError: if an edit finds nothing to change: the kernels moved on without it.
    """
    changed = dict(sources)
    for edit in edits:
        after = {name: edit.applied(name, source) for name, source in changed.items()}
        if after == changed:
            raise ArgumentError(
                f"edits of {who!r}",
                expected=Text(f"a source that has {edit.pattern}", f"源码里要有 {edit.pattern}"),
                got=edit.file,
                hint=Text("mend it in fa_toolkit/bench", "在 fa_toolkit/bench 里修正"),
            )
        changed = after
    return {name: source for name, source in changed.items() if source != sources[name]}


def sources_of(package: str, doors: Iterable[str]) -> dict[str, str]:
    """The files of `package` that make up the modules `doors`, {name: source}."""
    folder = Path(str(importlib.import_module(package).__file__)).parent
    found: dict[str, str] = {}
    waiting = list(doors)
    while waiting:
        name = waiting.pop()
        if name in found or not (folder / f"{name}.py").is_file():
            continue
        found[name] = (folder / f"{name}.py").read_text(encoding="utf-8")
        waiting += _imported(found[name])
    return found


def _imported(source: str) -> list[str]:
    return [first or second for first, second in _IMPORT.findall(source)]


def _importers(changed: Iterable[str], sources: Mapping[str, str]) -> set[str]:
    """The given files and all that import them, however far."""
    affected = set(changed)
    while True:
        more = {
            name
            for name, source in sources.items()
            if name not in affected and affected & set(_imported(source))
        }
        if not more:
            return affected
        affected |= more


_folders: list[tempfile.TemporaryDirectory[str]] = []  # Triton reads sources while it compiles


def load_edited(
    package: str, doors: Iterable[str], edits: Iterable[Edit], who: str
) -> dict[str, ModuleType]:
    """The modules that `doors` of `package` need, by their names; what the edits reach is loaded anew.

    Doors are always loaded anew, so that what is set in them stays with these kernels.

    Raises:
        ArgumentError: if an edit finds nothing to change.
    """
    doors = tuple(doors)
    sources = sources_of(package, doors)
    changed = edited(edits, sources, who)
    files = _importers({*changed, *doors}, sources)
    folder = tempfile.TemporaryDirectory(prefix="fa-edited-")
    _folders.append(folder)
    parent = package.rpartition(".")[0]
    home = f"{parent}._{re.sub(r'[^a-z0-9]+', '_', who)}_{len(_folders)}"
    made = ModuleType(home)
    made.__path__ = [folder.name]
    sys.modules[home] = made
    for name, source in sources.items():
        if name in files:
            text = changed.get(name, source)
            (Path(folder.name) / f"{name}.py").write_text(text, encoding="utf-8")
        else:
            real = importlib.import_module(f"{package}.{name}")
            sys.modules[f"{home}.{name}"] = real
            setattr(made, name, real)
    return {name: importlib.import_module(f"{home}.{name}") for name in sources}
