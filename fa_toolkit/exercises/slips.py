"""Planted bugs as text: a right answer, and for each of its lines what somebody writes instead.

`drafts` holds the answers; a slip is run as the answer with those lines put in. Texts that name the
slips are given by the caller. `drafts/__init__` has the form.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..language import Text
from .spec import Variant

_MARK = re.compile(r"\s*# slip ([\w./-]+): (.*)")
_ENTRY = re.compile(r"def (\w+)\(")
#: Where a slip is made, if the same one can be made elsewhere: "place.name".
PLACES = {
    "forward": Text("In the forward pass: {}", "前向里：{}"),
    "backward": Text("In the backward pass, forward being right: {}", "前向没错，反向里：{}"),
    "dq": Text("Where dQ is summed: {}", "累加 dQ 的地方：{}"),
    "dkdv": Text("Where dK and dV are summed: {}", "累加 dK、dV 的地方：{}"),
}


@dataclass(frozen=True)
class Draft:
    """A right answer, line by line, and its slips: for a label the lines that it replaces."""

    lines: tuple[str, ...]
    slips: Mapping[str, tuple[tuple[int, str], ...]]

    def source(self, label: str = "") -> str:
        """The text of the answer with one slip."""
        lines = list(self.lines)
        for number, code in self.slips[label] if label else ():
            kept = lines[number]
            lines[number] = kept[: len(kept) - len(kept.lstrip())] + code
        return "\n".join(lines)


@lru_cache(maxsize=64)
def draft(name: str) -> Draft:
    """The draft in the file of this name."""
    file = Path(__file__).with_name("drafts") / f"{name}.py"
    lines: list[str] = []
    slips: dict[str, list[tuple[int, str]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        mark = _MARK.fullmatch(line)
        if mark is None:
            lines.append(line)
        else:
            slips.setdefault(mark[1], []).append((len(lines) - 1, mark[2]))
    return Draft(tuple(lines), {label: tuple(edits) for label, edits in slips.items()})


@lru_cache(maxsize=4096)
def _made(name: str, label: str) -> Callable[..., Any]:
    """The function that a draft with one slip defines; its text is ours."""
    source = draft(name).source(label)
    file = f"<draft {name} {label}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": f"{__package__}.drafts.{name}"}
    exec(compile(source, file, "exec", dont_inherit=True), space)
    entry = [said[1] for line in source.splitlines() if (said := _ENTRY.match(line))][-1]
    found: Callable[..., Any] = space[entry]
    return found


@dataclass(frozen=True)
class Slip:
    """A draft with one slip ("" for none), as a function; `tile` where the learner chooses its size."""

    name: str
    label: str = ""
    tile: tuple[int, int] | None = None

    def __call__(self, *args: Any) -> Any:
        """What the answer returns."""
        return _made(self.name, self.label)(*args, *(self.tile or ()))

    def of_tile(self, block_m: int, block_n: int) -> Slip:
        """The same with tiles of this size."""
        return Slip(self.name, self.label, (block_m, block_n))


def variants(
    names: Iterable[str], texts: Mapping[str, Text], *, sized: bool = False
) -> list[Variant]:
    """The slips of some drafts as planted bugs, those of one id together, in the order of `texts`.

    Args:
        sized: whether the size of a tile is the learner's.
    """
    forms: dict[str, list[Slip]] = {}
    for name in names:
        for label in draft(name).slips:
            forms.setdefault(label.split("/")[0], []).append(Slip(name, label))
    missing = sorted(bug for bug in forms if bug.split(".")[-1] not in texts and bug not in texts)
    if missing:
        raise KeyError(f"slips without a text: {missing}")
    order = list(texts)
    found = []
    for bug in sorted(
        forms, key=lambda bug: order.index(bug if bug in texts else bug.split(".")[-1])
    ):
        first, *also = forms[bug]
        found.append(
            Variant(bug, named(bug, texts), first, tuple(also), sized=_sized if sized else None)
        )
    return found


def _sized(variant: Variant, block_m: int, block_n: int) -> list[Callable[..., Any]]:
    forms = (variant.fn, *variant.also)
    return [x.of_tile(block_m, block_n) for x in forms if isinstance(x, Slip)]


def named(bug: str, texts: Mapping[str, Text]) -> Text:
    """The sentence for a slip, with the place where it was made if its name has one."""
    if bug in texts:
        return texts[bug]
    place, _, name = bug.rpartition(".")
    en, zh = texts[name]
    return Text(PLACES[place].en.format(en[0].lower() + en[1:]), PLACES[place].zh.format(zh))
