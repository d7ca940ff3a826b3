"""The words of the course as concepts: what a clause speaks of, however it says it.

A concept is a name in capitals with one way of saying it a line (a bounded regular expression over
folded text). Finding is linear: an expression is tried only where its longest literal occurs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_SPECIAL = re.compile(r"\\[a-zA-Z]|\\.|.", re.DOTALL)


class Way(NamedTuple):
    """One way of saying a concept and the literal that every match contains."""

    literal: str
    regex: re.Pattern[str]
    denies: bool  # it speaks of denial itself


def ways(lines: str) -> tuple[Way, ...]:
    """The ways of a concept, one a line."""
    return tuple(_way(line.strip()) for line in lines.splitlines() if line.strip())


#: What a gap in an expression may not run over: a denial or the end of a clause.
_NO_DENIAL = r"(?!(?:not|no|never|nor|neither|without|none|nothing|instead)\b|\w{1,7}n't)"
_LOOKAROUND = re.compile(r"\(\?<?![^()]*\)|\[\^[^\]]*\]")
_DENIES = re.compile(r"not|n't|\bno\b|never|without|neither|nothing|cannot|avoid|[不没无未非]")
_GAPS = (
    (r"(?:\w+ )", f"(?:{_NO_DENIAL}[\\w'/-]+ )"),
    (r"(?: \w+)", f"(?: {_NO_DENIAL}[\\w'/-]+)"),
    (".{", "[^不没无未,。;!?\n]{"),
)


def _way(line: str) -> Way:
    line = line.replace("|n't", r"|\w{1,7}n't").replace("(?:n't", r"(?:\w{1,7}n't")
    line = functools.reduce(lambda text, gap: text.replace(*gap), _GAPS, line)
    bare = line.removeprefix("(?:")
    left = r"(?<![a-z])" if bare[0].isascii() and bare[0].isalpha() else ""
    bare = line.rstrip(")?")
    ends = bare[-1].isascii() and bare[-1].isalpha() and bare[-2:-1] != "\\"
    right = r"(?![a-z])" if ends else ""
    plain = _LOOKAROUND.sub("", line.replace(_NO_DENIAL, ""))
    return Way(
        longest_literal(line),
        re.compile(f"{left}(?:{line}){right}"),
        bool(_DENIES.search(plain)),
    )


def longest_literal(expression: str) -> str:
    """The longest text that stands in every match, or "" if there is none to be sure of."""
    runs, run, depth, classes = [""], "", 0, False
    for token in _SPECIAL.findall(expression):
        if classes:
            classes = token != "]"
            continue
        if token in ("?", "*", "+", "{"):
            run = run[:-1] if token != "+" else run
            runs, run = [*runs, run], ""
            depth += token == "{"
        elif token in ("(", "[") or (token == "\\b" or (len(token) == 2 and token[1].isalpha())):
            runs, run = [*runs, run], ""
            depth += token == "("
            classes = token == "["
        elif token in (")", "}"):
            depth -= 1
            runs, run = [*runs, run], ""
        elif token == "|" and depth == 0:
            return ""
        elif token in (".", "^", "$", "|"):
            runs, run = [*runs, run], ""
        elif depth == 0:
            run += token[-1]
    return max([*runs, run], key=len)


class Hit(NamedTuple):
    """Where a concept was said."""

    start: int
    end: int
    denies: bool


class Lexicon:
    """Concepts by name.

    Args:
        signed: concepts that are asserted or denied ("store"); the others are things ("HBM").
    """

    def __init__(self, concepts: Mapping[str, str], signed: Iterable[str] = ()) -> None:
        self.concepts = {name: ways(lines) for name, lines in concepts.items()}
        self.signed = frozenset(signed)

    def extended(self, things: Mapping[str, str], acts: Mapping[str, str]) -> Lexicon:
        """This lexicon with the words of one question; a name of both is the question's."""
        more = Lexicon({**things, **acts})
        more.signed = (self.signed - frozenset(things)) | frozenset(acts)
        more.concepts = {**self.concepts, **more.concepts}
        return more

    def find(self, name: str, text: str) -> list[Hit]:
        """Every place where a concept is said."""
        found = []
        for literal, regex, denies in self.concepts[name]:
            if literal in text:
                found += [Hit(*match.span(), denies) for match in regex.finditer(text)]
        return found
