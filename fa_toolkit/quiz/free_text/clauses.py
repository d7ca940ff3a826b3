"""Cut folded text into clauses. What a question asks is dropped; `frames` says how the rest is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Frame = Literal["asserted", "other", "reported", "supposed", "dropped"]

_SENTENCE_END = re.compile(
    r"(?<![0-9])\.(?=\s|$|[\"')\]])|(?<=[0-9])\.(?=\s+[a-z\u4e00-\u9fff]|\s*$|"
    r"\s*\n)|[!?。;|]|\n|\.(?=[\u4e00-\u9fff])"
)
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|vs|approx|etc|cf|fig|eq|resp)$")
_CLAUSE_END = re.compile(
    r",(?![0-9]{3})| — | -- |: ?(?=(?:those|these|they|both|the former|the latter|"
    r"它们|那些|前者|后者))"
    r"|(?<= )(?:but|whereas|although|though|because|which|so that|and then|then|"
    r"and so|yet|unlike|while)(?= )"
    r"|(?<=[\u4e00-\u9fff])(?=而是|而不是|但是?(?!凡)|不过|因此|所以|然而|然后|于是|却(?!说))"
)  # fmt: skip


@dataclass(slots=True)
class Clause:
    """A stretch of folded text that says one thing."""

    start: int
    end: int
    sentence: int
    text: str
    frame: Frame = "asserted"


def sentences(text: str) -> list[tuple[int, int, str]]:
    """(start, end, mark that ends it) of every sentence."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if match[0] == "." and _ABBREVIATION.search(
            text, max(start, match.start() - 7), match.start()
        ):
            continue
        if text[start : match.start()].strip():
            found.append((start, match.start(), match[0]))
        elif found and match[0] == "?":
            found[-1] = (*found[-1][:2], "?")
        start = match.end()
    if text[start:].strip():
        found.append((start, len(text), ""))
    return found


def clauses(text: str) -> list[Clause]:
    """All clauses in order, not yet framed."""
    found = []
    for number, (start, end, mark) in enumerate(sentences(text)):
        last = start
        for match in _CLAUSE_END.finditer(text, start, end):
            if text[last : match.start()].strip():
                found.append(Clause(last, match.start(), number, text[last : match.start()]))
                last = match.start() if match[0][:1].isalpha() else match.end()
        if text[last:end].strip():
            found.append(Clause(last, end, number, text[last:end]))
        if mark == "?":
            _drop_question(found, number)
    return found


_QUESTION_WORD = re.compile(
    r"\b(?:what|why|how|when|where|which|is|are|does|do|can|could|would|should)\b|"
    r"吗|呢|什么|怎么|如何|为何|哪|是否|多少|几"
)


def _drop_question(found: list[Clause], number: int) -> None:
    """A sentence that asks states nothing; what stands before the question in it may."""
    for clause in reversed([c for c in found if c.sentence == number]):
        clause.frame = "dropped"
        if _QUESTION_WORD.search(clause.text):
            break
