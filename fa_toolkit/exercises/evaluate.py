"""Measure the diagnosis: every planted bug of every exercise, caught by what, named or not.

    python -m fa_toolkit.exercises.evaluate                 every exercise
    python -m fa_toolkit.exercises.evaluate 04 06.loop      chapters or exercises
    python -m fa_toolkit.exercises.evaluate --unseen DIR    bugs written without sight of the variants

Exit status 1 if a bug was not caught, or a right function was not passed. Planted bugs are called in
this process (they are ours); bugs out of a folder in a process of their own, as a learner's are.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import check, get, ids
from .calling import Local
from .checker import judge
from .report import Report


@dataclass(frozen=True)
class Row:
    """One bug: what caught it, and how it was named.

    Args:
        exercise: id of the exercise.
        bug: id of the variant, or name of the function.
        caught: properties that failed.
        first: id of the first diagnosis, "" if there is none.
        wanted: ids that name it rightly; empty if none does.
        right: whether the function is right and should pass.
    """

    exercise: str
    bug: str
    caught: tuple[str, ...]
    first: str
    wanted: frozenset[str]
    right: bool = False

    @property
    def is_caught(self) -> bool:
        """By what it computes, not only by how."""
        return bool(set(self.caught) - {"own-work"})

    @property
    def is_named(self) -> bool:
        """The first diagnosis is right."""
        return self.first in self.wanted


def planted(wanted: Iterable[str] = ()) -> Iterator[Row]:
    """Every planted bug of the exercises that are asked for, each in all its forms."""
    from .. import kernels

    asked = tuple(wanted)
    for exercise_id in ids():
        exercise = get(exercise_id)
        if asked and not exercise_id.startswith(asked):
            continue
        if exercise.needs_triton and kernels.mode() == "none":
            continue
        for variant in exercise.variants:
            for number, fn in enumerate((variant.fn, *variant.also)):
                report = judge(exercise, Local(exercise, fn))
                bug = variant.id + (f" ({number})" if number else "")
                yield _row(exercise_id, bug, report, {variant.id})


def unseen(place: Path) -> Iterator[Row]:
    """The bugs and the right functions of a file, or of all in a folder; CONTRIBUTING.md has the form."""
    for file in [place] if place.is_file() else sorted(place.glob("[0-9]*.py")):
        module = _loaded(file)
        for name, wanted in module.BUGS.items():
            report = check(module.EXERCISE, getattr(module, name))
            yield _row(module.EXERCISE, name, report, wanted)
        for name in getattr(module, "RIGHT", ()):
            report = check(module.EXERCISE, getattr(module, name))
            failed = report.failed or (() if report.outcome == "passed" else (report.outcome,))
            yield Row(module.EXERCISE, name, tuple(failed), _first(report), frozenset(), right=True)


def _row(exercise_id: str, bug: str, report: Report, wanted: Iterable[str]) -> Row:
    failed = report.failed if report.outcome == "not yet" else ()
    return Row(exercise_id, bug, failed, _first(report), frozenset(wanted))


def _first(report: Report) -> str:
    return report.diagnosis[0].id if report.diagnosis else ""


def _loaded(file: Path) -> Any:
    from .. import kernels

    kernels.mode()  # before the file imports Triton
    spec = importlib.util.spec_from_file_location(f"fa_unseen_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def table(rows: Iterable[Row], write: Callable[[str], object]) -> bool:
    """Write a line for each bug and the sums below; whether nothing slipped through."""
    bugs: list[Row] = []
    rights: list[Row] = []
    write(f"{'exercise':<18}{'bug':<34}{'named':<26}caught by")
    for row in rows:
        (rights if row.right else bugs).append(row)
        mark = "right" if row.right else "yes" if row.is_named else f"as {row.first or 'nothing'}"
        by = ", ".join(row.caught) or ("passed" if row.right else "NOTHING")
        write(f"{row.exercise:<18}{row.bug:<34}{mark:<26}{by}")
    caught, named = sum(r.is_caught for r in bugs), sum(r.is_named for r in bugs)
    passed = sum(not r.caught for r in rights)
    write(f"\n{len(bugs)} bugs in {len({r.exercise for r in bugs})} exercises: "
          f"{caught} caught, {named} named first")  # fmt: skip
    counts: dict[str, int] = {}
    for row in bugs:
        for name in row.caught:
            counts[name] = counts.get(name, 0) + 1
    for name, count in sorted(counts.items(), key=lambda x: -x[1]):
        write(f"  {name:<20}{count:>5} caught")
    if rights:
        write(f"{len(rights)} right functions: {passed} passed")
    return caught == len(bugs) and passed == len(rights)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 if every bug was caught and every right function passed."""
    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.exercises.evaluate")
    parser.add_argument("wanted", nargs="*", help="chapters or exercises, such as 04 or 06.loop")
    parser.add_argument("--unseen", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    rows = unseen(options.unseen) if options.unseen else planted(options.wanted)
    return 0 if table(rows, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
