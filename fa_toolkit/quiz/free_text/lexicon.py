"""The words of the course as concepts: what a clause speaks of, however it says it.

A concept is a name in capitals with one way of saying it a line (a bounded regular expression over
folded text). Finding is linear: an expression is tried only where a text it needs occurs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TOKEN = re.compile(r"\\[a-zA-Z]|\\.|.", re.DOTALL)


class Way(NamedTuple):
    """One way of saying a concept; every match contains one of the literals."""

    literals: tuple[str, ...]
    expression: str
    denies: bool  # it speaks of denial itself


def ways(lines: str) -> tuple[Way, ...]:
    """The ways of a concept, one a line."""
    return tuple(_way(line.strip()) for line in lines.splitlines() if line.strip())


#: What a gap in an expression may not run over: a denial, the end of a clause, or "than", behind
#: which stands what is compared with.
_NO_DENIAL = r"(?!(?:not|no|never|nor|neither|without|none|nothing|instead|than)\b|\w{1,7}n't)"
_LOOKAROUND = re.compile(r"\(\?<?![^()]*\)|\[\^[^\]]*\]")
_DENIES = re.compile(
    r"not|n't|\bno\b|nowhere|never|without|neither|nothing|cannot|avoid|[不没无未非]"
)
_GAPS = (
    (r"(?:\w+ )", f"(?:{_NO_DENIAL}[\\w'/-]{{1,30}} )"),
    (r"(?: \w+)", f"(?: {_NO_DENIAL}[\\w'/-]{{1,30}})"),
    (".{", "[^不没无未,。;!?\n]{"),
)


def _way(line: str) -> Way:
    line = line.replace(r"\d+", r"\d{1,12}").replace(r"\d*", r"\d{0,12}")
    line = line.replace("|n't", r"|\w{1,7}n't").replace("(?:n't", r"(?:\w{1,7}n't")
    line = functools.reduce(lambda text, gap: text.replace(*gap), _GAPS, line)
    bare = line.removeprefix("(?:")
    left = r"(?<![a-z])" if bare[0].isascii() and bare[0].isalpha() else ""
    bare = line.rstrip(")?")
    ends = bare[-1].isascii() and bare[-1].isalpha() and bare[-2:-1] != "\\"
    right = r"(?![a-z])" if ends else ""
    plain = _LOOKAROUND.sub("", line.replace(_NO_DENIAL, ""))
    return Way(
        needed(line),
        f"{left}(?:{line}){right}",
        bool(_DENIES.search(plain)),
    )


def needed(expression: str) -> tuple[str, ...]:
    """Texts of which every match contains one; ("",) if there are none to be sure of.

    The best of the plain runs and the groups of alternatives on the outermost level.
    """
    branches = _branches(expression)
    if len(branches) > 1:
        return _union(branches)
    best: tuple[str, ...] = ("",)
    for piece in _pieces(expression):
        found = _union(_branches(piece[3:-1])) if piece.startswith("(?:") else (piece,)
        if min(map(len, found)) > min(map(len, best)):
            best = found
    return best


def _union(branches: list[str]) -> tuple[str, ...]:
    found = [text for branch in branches for text in needed(branch)]
    return tuple(dict.fromkeys(found)) if all(found) else ("",)


def _branches(expression: str) -> list[str]:
    """The alternatives on the outermost level."""
    branches, depth, classes = [""], 0, False
    for token in _TOKEN.findall(expression):
        classes = (token == "[" or classes) and token != "]"
        depth += (token == "(") - (token == ")") if not classes else 0
        if token == "|" and depth == 0 and not classes:
            branches.append("")
        else:
            branches[-1] += token
    return branches


def _pieces(expression: str) -> list[str]:
    """Runs of plain characters and groups that are not optional, on the outermost level."""
    pieces: list[str] = []
    run, group, depth, classes, counting = "", "", 0, False, False
    for token in [*_TOKEN.findall(expression), ""]:
        if counting:
            counting = token != "}"
        elif depth or classes:
            group += token
            depth += ((token == "(") - (token == ")")) * (not classes)
            classes = (classes or token == "[") and token != "]"
        elif token in ("?", "*", "{"):  # what stands before may be absent
            run, group, counting = run[:-1], "", token == "{"
            pieces, run = [*pieces, run], ""
        elif token in ("(", "["):
            pieces, run = [*pieces, run, group], ""
            group, depth, classes = token, int(token == "("), token == "["
        elif token in (".", "^", "$", "+", "") or (len(token) == 2 and token[1].isalnum()):
            pieces, run, group = [*pieces, run, group], "", ""
        else:
            pieces, group = [*pieces, group], ""
            run += token[-1]
    return [p for p in pieces if p and not p.startswith(("(?!", "(?<", "(?=", "["))]


@functools.cache
def _regex(expression: str) -> re.Pattern[str]:
    """Compiled when a text holds its literal for the first time: most never are."""
    return re.compile(expression)


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
        for literals, expression, denies in self.concepts[name]:
            if any(literal in text for literal in literals):
                found += [Hit(*match.span(), denies) for match in _regex(expression).finditer(text)]
        return found
