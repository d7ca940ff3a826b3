"""The signs a learner types, one after another: numbers, names, units, operators. Computes nothing."""

from __future__ import annotations

import re

from ..language import Text
from .units import FOLDED, SPELLINGS

MAX_TOKENS = 80


class Unreadable(Exception):  # noqa: N818  (a finding on its way to a reading)
    """What cannot be read, as a sentence."""

    def __init__(self, problem: Text | str) -> None:
        super().__init__()
        self.problem = problem


_UNIT_NAMES, _ANY_CASE = (
    "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    for names in (SPELLINGS, FOLDED)
)
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<number>(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+(?:_\d{{3}})*)(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<unit>(?:{_UNIT_NAMES}|(?i:{_ANY_CASE}))(?![A-Za-z0-9]))
      | (?P<name>[A-Za-zπ][A-Za-z_π]*\d*|百万|[√∞千万亿])
      | (?P<sign>\*\*|//|[-+*/^()×,])
    )""",
    re.VERBOSE,
)


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, token) in order; kinds are number, unit, name and sign."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].strip()
            if not rest:
                break
            raise Unreadable(cannot_read(rest))
        kind = str(match.lastgroup)
        token = match[kind]
        if kind == "unit" and token == "×" and text[match.end() :].strip():
            kind = "sign"  # between two numbers it multiplies, at the end it means "times"
        found.append((kind, "*" if kind == "sign" and token == "×" else token))
        at = match.end()
        if len(found) > MAX_TOKENS:
            raise Unreadable(Text("too long a formula", "算式太长"))
    return found


def cannot_read(rest: str) -> Text:
    """That a piece of text is no part of a formula."""
    part = rest[:12] + ("…" if len(rest) > 12 else "")
    return Text(f"cannot read “{part}” as a number", f"“{part}” 读不成数")
