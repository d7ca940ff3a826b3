"""Plants a bug in the source of the kernels: one text replaced, everything loaded beside the real.

A bug in a file that launchers share reaches all of them, and the real modules stay as they are.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from fa_toolkit.bench.editing import Edit, load_edited, sources_of
from fa_toolkit.kernels.configuration import LaunchPlan, choose_launch

PACKAGE = "fa_toolkit.kernels"
FILES = (
    "tiles",
    "call",
    "backward_delta",
    "backward_dkdv",
    "backward_dq",
    "flash_forward",
    "flash_backward",
    "flash_varlen",
)
BACKWARD = ("tiles", "backward_delta", "backward_dkdv", "backward_dq", "flash_backward")


@dataclass(frozen=True)
class Bug:
    """`old` occurs once in `file`; `new` stands there instead."""

    file: str
    old: str
    new: str


def backward_bug(old: str, new: str) -> Bug:
    """The bug in whichever file of the backward pass holds `old`."""
    sources = sources_of(PACKAGE, BACKWARD)
    holders = [name for name in BACKWARD if old in sources[name]]
    assert len(holders) == 1, f"{old!r} is in {holders}"
    return Bug(holders[0], old, new)


def plant(bug: Bug | None) -> dict[str, ModuleType]:
    """All files with the bug in one of them, or with none."""
    edits = []
    if bug is not None:
        times = sources_of(PACKAGE, FILES)[bug.file].count(bug.old)
        assert times == 1, f"{bug.old!r} occurs {times} times"
        edits = [Edit.of_text(bug.file, bug.old, bug.new)]
    return load_edited(PACKAGE, FILES, edits, "planted")


def on_grids(
    loaded: dict[str, ModuleType], check: Callable[[], object], *, one_axis: bool, side: int = 1
) -> None:
    """The check on grids of one axis, which else takes a batch above 65,535, or with `side` heads
    that take turns, which no plan of the interpreter has."""

    def choose(*arguments: Any, **keywords: Any) -> LaunchPlan:
        return replace(choose_launch(*arguments, **keywords), side=side)

    with ExitStack() as patched:
        if one_axis:
            patched.enter_context(patch.object(loaded["call"], "LONGEST_AXIS", 0))
        for name in ("flash_forward", "flash_backward"):
            patched.enter_context(patch.object(loaded[name], "choose_launch", choose))
        check()


#: which check noticed each bug when that was last recorded: a guess that saves time, never a verdict
NOTICED = Path(__file__).with_name("noticed.json")


@functools.cache
def _guesses() -> dict[str, int]:
    return dict(json.loads(NOTICED.read_text(encoding="utf-8"))) if NOTICED.exists() else {}


def noticed(checks: Sequence[Callable[[], object]]) -> bool:
    """Whether any check raises; the one that did so last time goes first.

    `FA_NOTICED=folder` writes there which one it was, a file for each test; `python planting.py
    folder` makes noticed.json of them.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].split("/")[-1].removesuffix(" (call)")
    guess = _guesses().get(test, 0)
    order = sorted(range(len(checks)), key=lambda at: at != guess)
    for at in order:
        try:
            checks[at]()
        except Exception:  # an error is a kill as much as a wrong number
            if folder := os.environ.get("FA_NOTICED"):
                (Path(folder) / f"{abs(hash(test))}.json").write_text(json.dumps({test: at}))
            return True
    return False


if __name__ == "__main__":
    found = [json.loads(path.read_text()) for path in Path(sys.argv[1]).glob("*.json")]
    merged = {test: at for one in found for test, at in one.items() if at}
    NOTICED.write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n", encoding="utf-8")
