"""What each single edit of a solution gives, in a few digits a case: worked out once, looked up in no time.

    python -m fa_toolkit.exercises.fingerprints 05.matmul     write the table anew (minutes)

A table is a list of suspects only: whoever looks one up makes the edit and compares in full.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ..language import Text
from . import cells
from .calling import Local, Outcome
from .compare import parts, plain
from .mutants import can_run, edits_of, made, message_of
from .mutations import Mutation
from .spec import Exercise
from .values import Odd

FOLDER = Path(__file__).with_name("fingerprints")
#: Relative difference of two prints of one result: rounding, that of half types included.
_NEAR = 4e-3
#: What a print says of a call that raised something, or was stopped.
RAISED, _STOPPED = "!", "~"
#: Seconds for one call of an edit, on a machine that may be busy.
_PATIENT = 20.0
#: Errors that come of the edit itself, whatever the case: no learner has them from a slip of logic.
_NONSENSE = ("NameError", "TypeError", "ValueError", "AttributeError", "UnboundLocalError",
             "CompilationError", "SyntaxError")  # fmt: skip


def print_of(exercise: Exercise, found: Outcome) -> str:
    """One call in a few digits: for each output a weighted sum, a size, and its odd values."""
    if found.kind == "error":
        message = message_of(found.sentence)
        return RAISED + hashlib.sha1(message.encode()).hexdigest()[:8]
    if found.kind != "ok":
        return _STOPPED
    return print_of_value(exercise, found.value)


def print_of_value(exercise: Exercise, value: Any) -> str:
    """The same, of a result."""
    found = parts(exercise, value)
    if not isinstance(found, list):
        return "?"
    return " ".join(_digits(item) for item in found)


def _digits(item: Any) -> str:
    if not isinstance(item, torch.Tensor):
        number = plain(item)[0]
        if isinstance(number, Odd):
            return "?"
        return f"={number:.9g}" if isinstance(number, (int, float)) else f"={number}"
    flat = item.detach().double().cpu().flatten()
    odd = [int(flat.isnan().sum()), int((flat == math.inf).sum()), int((flat == -math.inf).sum())]
    flat = torch.where(flat.isfinite(), flat, torch.zeros_like(flat))
    weights = torch.sin(1.0 + 1.7 * torch.arange(flat.numel(), dtype=torch.float64))
    size = float(flat.abs().mean()) if flat.numel() else 0.0
    weighed = float((weights * flat).mean()) if flat.numel() else 0.0
    shape = "x".join(str(n) for n in item.shape)
    return f"{shape}:{weighed:.4g}:{size:.4g}:" + ":".join(str(n) for n in odd)


def alike(left: str, right: str) -> bool:
    """Whether two prints may be of one result."""
    if left == right or (RAISED in (left, right) and left[:1] == right[:1]):
        return True  # `RAISED` alone is any error
    mine, theirs = left.split(" "), right.split(" ")
    return len(mine) == len(theirs) and all(map(_alike, mine, theirs))


def _alike(left: str, right: str) -> bool:
    a, b = left.split(":"), right.split(":")
    if len(a) != 6 or len(b) != 6 or a[0] != b[0] or a[3:] != b[3:]:
        return left == right
    size = max(float(a[2]), float(b[2]))
    return all(abs(float(a[i]) - float(b[i])) <= _NEAR * size + 1e-6 for i in (1, 2))


def says_nothing(print_: str) -> bool:
    """Whether there is no finite number in it: NaN looks the same whatever made it."""
    items = [item.split(":") for item in print_.split(" ")]
    return all(len(i) == 6 and float(i[2]) == 0 and i[3] != "0" for i in items)


def key_of(mutation: Mutation) -> str:
    """A short name of an edited text."""
    return hashlib.sha1(mutation.source.encode()).hexdigest()[:8]


@lru_cache(maxsize=64)
def table(exercise_id: str) -> dict[str, Any] | None:
    """The table of an exercise; None if there is none, or it is of another solution."""
    file = FOLDER / f"{exercise_id}.json"
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text())
    return found if found["source"] == _source(exercise_id) else None


def _source(exercise_id: str) -> str:
    return hashlib.sha1(cells.solved(exercise_id).encode()).hexdigest()[:8]


def suspects(exercise_id: str, prints: Sequence[tuple[str, str]]) -> list[Mutation]:
    """Edits that gave these prints in the cases with these labels, the likeliest first."""
    known = table(exercise_id)
    if known is None:
        return []
    column = {label: i for i, label in enumerate(_numbered(known["cases"]))}
    seen = [(column[label], p) for label, p in prints if label in column]
    if not seen:
        return []
    keys = {
        key
        for group in known["groups"]
        if all(alike(p, group["prints"][i]) for i, p in seen)
        for key in group["keys"]
    }
    return [m for m in edits_of(exercise_id) if key_of(m) in keys]


def build(exercise: Exercise, seconds: float = math.inf) -> dict[str, Any]:
    """Run every edit on every case; groups of edits that nothing tells apart, and those that pass.

    What an older table of the same solution says of the same cases is kept. After `seconds` of this
    process no further edit is run; the likeliest ones come first.
    """
    from .checker import judge  # which looks tables up

    labels = labels_of(exercise)
    before = table(exercise.id) or {}
    old = _numbered(before.get("cases", []))
    had = {key: dict(zip(old, group["prints"], strict=True))
           for group in before.get("groups", []) for key in group["keys"]}  # fmt: skip
    senseless = set(before.get("senseless", []))
    unchanged = set(before.get("alive", []) if old == labels else [])
    right = _prints(exercise, cells.solution_of(exercise.id, exercise.entry))
    groups: dict[tuple[str, ...], list[str]] = {}
    until = time.process_time() + seconds
    alive: list[str] = []
    for mutation in edits_of(exercise.id):
        if key_of(mutation) in unchanged:
            alive.append(key_of(mutation))
            continue
        late = time.process_time() > until and key_of(mutation) not in had
        if late or key_of(mutation) in senseless:
            continue
        try:
            known = had.get(key_of(mutation), {})
            prints = _prints(exercise, made(exercise, mutation), known)
        except Exception:  # the edit defines no function
            continue
        if prints is None:
            senseless.add(key_of(mutation))
            continue
        near = all(map(alike, prints, right or ()))
        if near and judge(exercise, Local(exercise, made(exercise, mutation))).outcome == "passed":
            alive.append(key_of(mutation))
        else:
            groups.setdefault(prints, []).append(key_of(mutation))
    found = [{"prints": list(p), "keys": k} for p, k in groups.items()]
    head = {"source": _source(exercise.id), "cases": labels, "right": list(right or ())}
    return {**head, "groups": found, "alive": alive, "senseless": sorted(senseless)}


def labels_of(exercise: Exercise) -> list[str]:
    """The cases, in words that change when a case does."""
    return _numbered(
        f"{case.property}: {case.label.en if isinstance(case.label, Text) else case.label}"
        for case in exercise.cases
    )


def _numbered(labels: Iterable[str]) -> list[str]:
    """The same, with a number behind one that was there before."""
    found: list[str] = []
    for label in labels:
        same = sum(x.partition(" #")[0] == label for x in found)
        found.append(f"{label} #{same + 1}" if same else label)
    return found


def _prints(
    exercise: Exercise, fn: Any, known: Mapping[str, str] | None = None
) -> tuple[str, ...] | None:
    """The prints of all cases; those that are known are not made again."""
    local, found = Local(exercise, fn), list[str]()
    for index, label in enumerate(labels_of(exercise)):
        if known and known.get(label, _STOPPED) != _STOPPED:  # a busy machine, perhaps
            found.append(known[label])
            continue
        outcome = local.call("case", index, _PATIENT)
        first = index == 0 and outcome.kind == "error"
        if first and message_of(outcome.sentence).startswith(_NONSENSE):
            return None
        found.append(print_of(exercise, outcome))
    return tuple(found)


def main(arguments: list[str] | None = None) -> int:
    """Write the tables of the exercises that are named, by id or chapter."""
    from . import get, ids

    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.exercises.fingerprints")
    parser.add_argument("wanted", nargs="+")
    parser.add_argument("--seconds", type=float, default=math.inf, help="for one exercise")
    options = parser.parse_args(arguments)
    wanted = tuple(options.wanted)
    for exercise in map(get, ids()):
        if not exercise.id.startswith(wanted) or not can_run(exercise):
            continue
        found = build(exercise, options.seconds)
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(found, separators=(",", ":")).replace('{"prints"', '\n{"prints"')
        (FOLDER / f"{exercise.id}.json").write_text(text + "\n")
        named = sum(len(g["keys"]) for g in found["groups"])
        print(f"{exercise.id}: {named} edits in {len(found['groups'])} groups, "
              f"{len(found['alive'])} change nothing", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
