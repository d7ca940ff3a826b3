"""Grade a notebook headless: run its cells, check its exercises, report. Nothing of it runs here.

The cells run in one confined process, every check in another; see `server`. A cell that fails, hangs
or ends its process is named, and the others still count.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ArgumentError
from ..language import Text, say
from . import client
from .catalog import EXERCISES
from .checker import not_attempted
from .report import OUTCOMES, Report
from .told import tell

#: Bytes of a notebook and number of its code cells; a course chapter has a hundredth.
LARGEST, MOST_CELLS = 32 << 20, 2000
_CHECKED = re.compile(r"""course\.check\(\s*["']([\w.]+)["']""")
_ABSENT = Text(
    "The notebook defines no {entry} and checks none.",
    "notebook 里没有定义 {entry}，也没有检查它。",
)
_SUM = Text("{passed} of {of} exercises passed", "{of} 道练习，通过 {passed} 道")
_CELL = Text("cell {cell}: {sentence}", "第 {cell} 格：{sentence}")
_VERSION = Text(
    "The notebook is of version {its} of the course, this is {ours}.",
    "notebook 属于课程版本 {its}，这里是 {ours}。",
)
_NOT_THERE = Text("{path}, which does not exist", "{path}，它不存在")
_UNREADABLE = Text("{path}, which cannot be read: {reason}", "{path}，无法读取：{reason}")
_NO_JSON = Text("{path}, which is no valid JSON", "{path}，内容不是合法的 JSON")
_NO_CELLS = Text("{path}, JSON without a list of cells", "{path}，是 JSON，但没有 cells 列表")
_TOO_LARGE = Text("{path}, more than {limit} MiB", "{path}，超过 {limit} MiB")
_TOO_MANY = Text("{path} with {n} cells, more than {limit}", "{path}，有 {n} 格，超过 {limit} 格")
_OURS = Text(
    "This is the package's own function, not the learner's.",
    "这是工具包自己的函数，不是学习者写的。",
)


@dataclass(frozen=True)
class CellError:
    """A cell that did not run through: its number among all cells, from 1, and why."""

    cell: int
    sentence: Text | str

    def __str__(self) -> str:
        return say(_CELL, cell=self.cell, sentence=say(self.sentence))


@dataclass(frozen=True)
class Grades:
    """What a notebook is worth, exercise by exercise."""

    notebook: str
    reports: tuple[Report, ...]
    errors: tuple[CellError, ...] = ()
    version: str = ""

    @property
    def passed(self) -> int:
        """Exercises that passed."""
        return sum(report.outcome == "passed" for report in self.reports)

    @property
    def summary(self) -> str:
        """How many of how many, as a phrase."""
        return say(_SUM, passed=self.passed, of=len(self.reports))

    @property
    def warning(self) -> str:
        """That notebook and package are of different versions; empty if they fit."""
        fits = self.version.split(".")[:2] in ([""], __version__.split(".")[:2])
        return "" if fits else say(_VERSION, its=self.version, ours=__version__)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON; texts in both languages."""
        return {
            "notebook": self.notebook,
            "notebook_version": self.version,
            "package_version": __version__,
            "passed": self.passed,
            "exercises": len(self.reports),
            "reports": [tell(report) for report in self.reports],
            "cell_errors": [tell(error) for error in self.errors],
        }

    def __str__(self) -> str:
        head = [self.notebook, self.summary]
        lines = [*head, *([self.warning] if self.warning else []), *map(str, self.errors)]
        return "\n\n".join(["\n".join(lines), *map(str, self.reports)])


def grade(path: Path) -> Grades:
    """Grade one notebook: its exercises, and those of the same chapters that it leaves out.

    Raises:
        ArgumentError: if it is no notebook, or has no exercise of the course.
    """
    notebook = _read(path)
    cells = [(i + 1, _source(c)) for i, c in enumerate(notebook["cells"]) if _is_code(c)]
    wanted = _wanted(notebook)
    if not wanted:
        raise ArgumentError(
            "notebook",
            expected=Text("a notebook with exercises of the course", "含有课程练习的 notebook"),
            got=str(path),
        )
    triton = any(EXERCISES[x].needs_triton for x in wanted)
    ran = client.run_cells([text for _, text in cells], triton=triton)
    errors = tuple(CellError(cells[n][0], sentence) for n, sentence in ran.errors)
    reports = tuple(_graded(x, ran.functions.get(x)) for x in wanted)
    version = notebook.get("metadata", {}).get("fa", {}).get("version", "")
    return Grades(path.name, reports, errors, version if isinstance(version, str) else "")


def _graded(exercise_id: str, packed: dict[str, Any] | None) -> Report:
    exercise = EXERCISES[exercise_id]
    if packed is None:
        entry = exercise.entry
        note = Text(_ABSENT.en.format(entry=entry), _ABSENT.zh.format(entry=entry))
        return not_attempted(exercise, note)
    try:
        root = packed["nodes"][packed["root"]]
    except (KeyError, IndexError, TypeError):  # it comes from a process that ran the notebook
        return not_attempted(exercise, _OURS)
    if root.get("k") == "import":
        return Report(exercise.id, exercise.title, "not yet", note=_OURS)
    return client.check_packed(exercise, {**packed, "graded": True})


def _read(path: Path) -> dict[str, Any]:
    """The notebook of a file, whatever is in the file.

    Raises:
        ArgumentError: saying why it is none.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise _no_notebook(path, _TOO_LARGE, limit=LARGEST >> 20)
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _no_notebook(path, _NOT_THERE) from None
    except OSError as error:
        raise _no_notebook(path, _UNREADABLE, reason=error.strerror or error) from error
    except (ValueError, RecursionError) as error:
        raise _no_notebook(path, _NO_JSON) from error
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        raise _no_notebook(path, _NO_CELLS)
    cells = found["cells"]
    if len(cells) > MOST_CELLS:
        raise _no_notebook(path, _TOO_MANY, n=len(cells), limit=MOST_CELLS)
    metadata = found.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    mark = metadata.get("fa")
    metadata["fa"] = mark if isinstance(mark, dict) else {}
    return {"metadata": metadata, "cells": [c for c in cells if isinstance(c, dict)]}


def _no_notebook(path: Path, why: Text, **fields: object) -> ArgumentError:
    fields = {"path": path, **fields}
    return ArgumentError(
        "notebook",
        expected=Text("a Jupyter notebook", "Jupyter notebook 文件"),
        got=Text(why.en.format(**fields), why.zh.format(**fields)),
    )


def _is_code(cell: dict[str, Any]) -> bool:
    return cell.get("cell_type") == "code"


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _wanted(notebook: dict[str, Any]) -> list[str]:
    """The exercises of the chapters that the notebook belongs to, in the order of the course."""
    named: set[str] = set()
    for cell in notebook["cells"]:
        metadata = cell.get("metadata")
        mark = metadata.get("fa") if isinstance(metadata, dict) else None
        if isinstance(mark, dict):
            named.add(str(mark.get("exercise", "")))
        if _is_code(cell):
            named |= set(_CHECKED.findall(_source(cell)))
    chapters = {EXERCISES[x].chapter for x in named if x in EXERCISES}
    return [x.id for x in EXERCISES.values() if x.chapter in chapters]


def table(grades: Grades) -> Any:
    """The grades as a table for a terminal."""
    from rich.table import Table

    made = Table(title=f"{grades.notebook}: {grades.summary}", title_justify="left")
    for name in (
        Text("Exercise", "练习"), Text("Outcome", "结果"), Text("Failed", "未成立"),
        Text("Likeliest mistake", "最可能的错误"),
    ):  # fmt: skip
        made.add_column(say(name), overflow="fold")
    for report in grades.reports:
        failed = ", ".join(f.label for f in report.findings if f.status == "failed")
        first = str(report.diagnosis[0]) if report.diagnosis else say(report.note)
        cells = (report.exercise, say(OUTCOMES[report.outcome]), failed, first)
        made.add_row(*(cell.replace("[", r"\[") for cell in cells))
    return made
