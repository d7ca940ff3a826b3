"""The patterns of a key point: which concepts must meet, how near, and asserted or denied.

    "NXN ~STORE"       both within two neighbouring clauses, the second one denied
    "c: A B|C !D"      in one clause; B or C; and no D beside them
    "s: A B"           in one sentence;  "t:" two sentences;  "a:" anywhere in the answer
    "@w: A B"          also where the clause speaks of the other system
    "?w: A B"          also where the clause supposes ("if it were ..., it would ...")

`X` is asserted, `~X` denied, `*X` either, `@X` said of the other system. Things ("HBM") are never denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .clauses import Clause, Frame
from .lexicon import Hit, Lexicon
from .negation import denials, denied

_WRITTEN = re.compile(r"(?:([@?]?)([cwsta]?): ?)?(.+)")
_ITEM = re.compile(r"([~*!@]?)([A-Z][A-Z0-9_]*(?:\|[A-Z][A-Z0-9_]*)*)$")
SCOPES = {"": "w", "c": "c", "w": "w", "s": "s", "t": "t", "a": "a"}
FRAMES: dict[str, frozenset[Frame]] = {
    "": frozenset({"asserted"}),
    "@": frozenset({"asserted", "other"}),
    "?": frozenset({"asserted", "supposed"}),
}


class Wanted(NamedTuple):
    """One item of a pattern."""

    mode: str  # "" asserted, "~" denied, "*" either, "!" must not be there, "@" of the other system
    names: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """A pattern as it is evaluated."""

    written: str
    scope: str
    frames: frozenset[Frame]  # of the clauses it looks at
    items: tuple[Wanted, ...]

    @property
    def names(self) -> set[str]:
        """The concepts it speaks of."""
        return {name for item in self.items for name in item.names}


def parse(written: str) -> Pattern:
    """Read a pattern.

    Raises:
        ValueError: with the part that is no item.
    """
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        raise ValueError(written)
    items = []
    for word in match[3].split():
        item = _ITEM.fullmatch(word)
        if item is None:
            raise ValueError(word)
        items.append(Wanted(item[1], tuple(item[2].split("|"))))
    if all(item.mode == "!" for item in items):
        raise ValueError(written)
    return Pattern(written, SCOPES[match[2] or ""], FRAMES[match[1] or ""], tuple(items))


class Said(NamedTuple):
    """A concept in a clause: where, and whether it was denied."""

    start: int
    end: int
    no: bool


class Reading:
    """What every clause of an answer says, concept by concept."""

    def __init__(self, parts: list[Clause], lexicon: Lexicon, names: set[str], text: str) -> None:
        self.parts, self.lexicon, self.text = parts, lexicon, text
        self.table: dict[str, dict[int, list[Said]]] = {}
        self._denials = [denials(part.text) for part in parts]
        starts = [part.start for part in parts]
        for name in names:
            by_clause: dict[int, list[Said]] = {}
            for hit in lexicon.find(name, text):
                at = _place(starts, hit.start)
                if at < 0 or hit.start >= parts[at].end:
                    continue
                by_clause.setdefault(at, []).append(self._said(at, name, hit))
            if by_clause:
                self.table[name] = by_clause

    def _said(self, at: int, name: str, hit: Hit) -> Said:
        part = self.parts[at]
        if name not in self.lexicon.signed:
            return Said(hit.start, hit.end, False)
        start, end = hit.start - part.start, hit.end - part.start
        said = "" if hit.denies else self.text[hit.start : hit.end]
        no = denied(part.text, start, end, self._denials[at], said)
        return Said(hit.start, hit.end, no)

    def windows(self, scope: str) -> Iterator[range]:
        """The runs of clauses a pattern of this scope looks at."""
        count = len(self.parts)
        if scope == "a":
            yield range(count)
        elif scope == "c":
            yield from (range(at, at + 1) for at in range(count))
        elif scope == "w":
            for at in range(count):
                near = at + 1 < count and self.parts[at + 1].sentence == self.parts[at].sentence
                yield range(at, at + 1 + near)
        else:
            reach = 1 if scope == "s" else 2
            start = 0
            for at in range(count):
                first = self.parts[at].sentence
                if at == 0 or self.parts[at - 1].sentence != first:
                    start = at
                    stop = start
                    while stop < count and self.parts[stop].sentence < first + reach:
                        stop += 1
                    yield range(start, stop)

    def match(self, pattern: Pattern) -> tuple[int, int] | None:
        """Where the pattern is said, as a span of folded text; None if nowhere."""
        for item in pattern.items:
            if item.mode != "!" and not any(name in self.table for name in item.names):
                return None
        for window in self.windows(pattern.scope):
            span = self._in(window, pattern)
            if span is not None:
                return span
        return None

    def _in(self, window: range, pattern: Pattern) -> tuple[int, int] | None:
        first, last = len(self.text), 0
        for item in pattern.items:
            found = self._item(window, item, pattern.frames)
            if item.mode == "!":
                if found is not None:
                    return None
            elif found is None:
                return None
            else:
                first, last = min(first, found.start), max(last, found.end)
        return first, last

    def _item(self, window: range, item: Wanted, frames: frozenset[Frame]) -> Said | None:
        for name in item.names:
            by_clause = self.table.get(name)
            if not by_clause:
                continue
            for at in window:
                for said in by_clause.get(at, ()):
                    if item.mode == "@":
                        if self.parts[at].frame == "other" and not said.no:
                            return said
                        continue
                    if self.parts[at].frame not in frames:
                        continue
                    if item.mode in ("*", "!") or said.no == (item.mode == "~"):
                        return said
        return None


def _place(starts: list[int], position: int) -> int:
    """The clause that a position of the text lies in or after."""
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= position:
            low = middle + 1
        else:
            high = middle
    return low - 1


def compiled(written: Mapping[str, list[str]] | None) -> dict[str, tuple[Pattern, ...]]:
    """Patterns of every point by id."""
    return {name: tuple(map(parse, lines)) for name, lines in (written or {}).items()}
