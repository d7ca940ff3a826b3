"""The notebooks as the tests see them. Holds no tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
ENGLISH = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
#: Shows every player; teaches nothing of its own, so it has neither quiz nor exercises.
GALLERY = FOLDER / "13_widget_gallery.ipynb"
TAUGHT = [path for path in ENGLISH if path != GALLERY]
CHINESE = sorted((FOLDER / "zh").glob("[0-9][0-9]_*.ipynb"))


@dataclass(frozen=True)
class Cell:
    """One cell: id, kind, source, and the exercise it is the stub of, if it is one."""

    id: str
    kind: str
    source: str
    exercise: str | None
    tagged: bool

    @property
    def lines(self) -> list[str]:
        """Lines that are not blank."""
        return [line for line in self.source.splitlines() if line.strip()]


def read(path: Path) -> Any:
    """The notebook as nbformat sees it."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def cells(path: Path) -> list[Cell]:
    """Its cells."""
    return [
        Cell(
            cell.get("id", ""),
            cell.cell_type,
            cell.source,
            cell.metadata.get("fa", {}).get("exercise"),
            "exercise" in cell.metadata.get("tags", []),
        )
        for cell in read(path).cells
    ]


def code(path: Path) -> list[Cell]:
    """Its code cells."""
    return [cell for cell in cells(path) if cell.kind == "code"]


def prose(path: Path) -> list[Cell]:
    """Its Markdown cells."""
    return [cell for cell in cells(path) if cell.kind == "markdown"]


def number(path: Path) -> int:
    """The chapter."""
    return int(path.name[:2])


def wordless(text: str) -> list[str]:
    """Images, in Markdown or HTML, that say nothing to who does not see them."""
    found = [m.group() for m in re.finditer(r"!\[\s*\]\([^)]*\)", text)]
    for tag in re.findall(r"<(?:img|svg)\b[^>]*>", text):
        spoken = re.search(r'\b(alt|aria-label)="[^"]*\w[^"]*"', tag)
        if not spoken and 'aria-hidden="true"' not in tag:
            found.append(tag)
    return found
