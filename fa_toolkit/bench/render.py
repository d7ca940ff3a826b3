"""Tables to a stream: by rich on a terminal where it is installed, in plain columns otherwise."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO

from .tables import Table


def show(tables: Iterable[Table], notes: Iterable[str], out: TextIO) -> None:
    """Write tables, the notes under each, and the notes under all of them."""
    console = _console(out)
    for table in tables:
        if console is None:
            out.write(f"\n{plain(table)}\n")
            continue
        console.print()
        console.print(_rich(table))
        for note in table.notes:
            console.print(note, style="dim")
    out.write("\n")
    for note in notes:
        out.write(f"{note}\n")
    out.flush()


def _console(out: TextIO) -> Any:
    if not out.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=out, highlight=False, markup=False)


def _rich(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable

    made = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column, right in zip(table.columns, numeric(table), strict=True):
        made.add_column(column, justify="right" if right else "left")
    for row in table.rows:
        made.add_row(*row)
    return made


def plain(table: Table) -> str:
    """A table as lines of text whose columns line up, Chinese included."""
    grid = [table.columns, *table.rows]
    widths = [max(width(row[at]) for row in grid) for at in range(len(table.columns))]
    rights = numeric(table)
    lines = [table.title]
    for row in grid:
        cells = [
            _pad(cell, size, right=right)
            for cell, size, right in zip(row, widths, rights, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, *table.notes])


def numeric(table: Table) -> list[bool]:
    """Which columns hold numbers, gaps and reasons, and so stand on the right."""
    return [
        any(row[at][:1].isdigit() or row[at][:1] in "+-−" for row in table.rows if row[at])
        and not any(row[at][:1].isalpha() and at == 0 for row in table.rows)
        for at in range(len(table.columns))
    ]


def width(text: str) -> int:
    """Columns a text takes in a terminal: a Chinese character takes two.

    Example:
        >>> width("N"), width("块")
        (1, 2)
    """
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _pad(text: str, size: int, *, right: bool) -> str:
    gap = " " * (size - width(text))
    return gap + text if right else text + gap
