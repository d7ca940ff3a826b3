"""The process that runs a notebook's cells to find the functions that solve its exercises.

It is confined like the process of a check. `fa.course.check` judges nothing here: it notes what it
was given. Everything else of the course, which would show, ask or measure, does nothing.
"""

from __future__ import annotations

import builtins
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import wire
from .carrying import pack
from .catalog import EXERCISES
from .guard import call
from .learner import spoken

#: Lines for IPython, not for Python.
_MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)


def serve_cells(cells: list[str], folder: Path, source: int, sink: int) -> None:
    """Run the cells that are asked for one by one; at the end tell the functions."""
    noted: dict[str, Any] = {}
    _quiet_course(noted)
    module = types.ModuleType("notebook")
    module.__dict__.update(__builtins__=builtins, display=_nothing, get_ipython=_nothing)
    sys.modules["notebook"] = module
    while True:
        asked = wire.receive(source).head
        if "cell" in asked:
            wire.send(sink, _ran(cells, asked, module, folder))
        else:
            wire.send(sink, {"functions": _functions(noted, vars(module))})
            return


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _quiet_course(noted: dict[str, Any]) -> None:
    """Put a course in its place that does nothing but note what is to be checked."""

    def check(exercise_id: str, fn: Any) -> None:
        noted[str(exercise_id)] = fn

    name = f"{__package__.partition('.')[0]}.course"
    course = types.ModuleType(name)
    course.__dict__.update(check=check, __getattr__=lambda word: _nothing)
    sys.modules[name] = course


def _ran(
    cells: list[str], asked: dict[str, Any], module: types.ModuleType, folder: Path
) -> dict[str, Any]:
    number = asked["cell"]
    text = _MAGIC.sub("pass", cells[number])
    file = folder / f"cell_{number}.py"
    file.write_text(text, encoding="utf-8")

    def run() -> None:
        exec(compile(text, str(file), "exec", dont_inherit=True), vars(module))

    found = call(run, (), seconds=asked["seconds"])
    return {"kind": found.kind, "sentence": spoken(found.sentence)}


def _functions(noted: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """What solves each exercise, ready to travel: what was checked, else what has its name."""
    found = {}
    for exercise_id, exercise in EXERCISES.items():
        fn: Callable[..., Any] | None = noted.get(exercise_id, names.get(exercise.entry))
        if callable(fn):
            packed = call(lambda fn=fn: pack(fn), (), seconds=10)
            if packed.kind == "ok":
                found[exercise_id] = packed.value
    return found
