"""The patterns of a question as a file holds them, checked and made ready to use. Grades nothing."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ...errors import BankError
from ...language import Text
from ..faults import from_pydantic
from ..yaml_source import Source, read_yaml
from .lexicon import Lexicon
from .patterns import Pattern, parse

Lines = Annotated[list[str], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LexiconFile(_Strict):
    """`patterns/lexicon.yaml`: things are spoken of, acts are asserted or denied."""

    things: dict[str, str]
    acts: dict[str, str]


class PointFile(_Strict):
    """How a key point is said, how its opposite is said, and examples of both."""

    patterns: Lines
    against: list[str] = Field(default_factory=list)
    said: Lines
    unsaid: Lines


class MisconceptionFile(_Strict):
    """How a misconception is said; `maybe` is said too vaguely to subtract, so the learner is asked."""

    patterns: Lines
    maybe: list[str] = Field(default_factory=list)
    cancels: list[str] = Field(default_factory=list)
    said: Lines
    unsaid: Lines


class PatternFile(_Strict):
    """`patterns/<question>.yaml`."""

    question: str
    other: Literal["standard", "flash", "alternatives", "none"] = "standard"
    things: dict[str, str] = Field(default_factory=dict)
    acts: dict[str, str] = Field(default_factory=dict)
    points: dict[str, PointFile]
    misconceptions: dict[str, MisconceptionFile] = Field(default_factory=dict)


@dataclass(frozen=True)
class Point:
    """Ready patterns of a key point or a misconception."""

    patterns: tuple[Pattern, ...]
    against: tuple[Pattern, ...] = ()  # of a misconception: what is asked about
    cancels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patterns:
    """All of one question, ready."""

    question: str
    other: str | None
    lexicon: Lexicon
    points: dict[str, Point]
    misconceptions: dict[str, Point]
    names: frozenset[str] = field(default_factory=frozenset)


def patterns_of(path: Path) -> Patterns:
    """The patterns of a file, read again only after it has changed.

    Raises:
        BankError: naming file, line, field and what to write there.
    """
    lexicon = path.with_name("lexicon.yaml")
    return _read(path, _stamp(path), lexicon, _stamp(lexicon))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=64)
def _read(path: Path, _: tuple[int, int], home: Path, stamp: tuple[int, int]) -> Patterns:
    source = read_yaml(path)
    file = validated(PatternFile, source)
    words = _lexicon(home, stamp).extended(file.things, file.acts)
    made: dict[str, dict[str, Point]] = {"points": {}, "misconceptions": {}}
    for part in made:
        for name, entry in getattr(file, part).items():
            asked = "against" if part == "points" else "maybe"
            made[part][name] = Point(
                _parsed(source, words, entry.patterns, (part, name, "patterns")),
                _parsed(source, words, getattr(entry, asked), (part, name, asked)),
                tuple(getattr(entry, "cancels", ())),
            )
            for at, cancelled in enumerate(made[part][name].cancels):
                if cancelled not in file.points:
                    _fault(source, (part, name, "cancels", at), cancelled, sorted(file.points))
    names = {
        name
        for group in made.values()
        for point in group.values()
        for pattern in (*point.patterns, *point.against)
        for name in pattern.names
    }
    other = None if file.other == "none" else file.other
    return Patterns(
        file.question, other, words, made["points"], made["misconceptions"], frozenset(names)
    )


@functools.lru_cache(maxsize=4)
def _lexicon(path: Path, _: tuple[int, int]) -> Lexicon:
    file = validated(LexiconFile, read_yaml(path))
    return Lexicon({**file.things, **file.acts}, file.acts)


def validated(model: type[BaseModel], source: Source) -> Any:
    """The data of a file as `model`; its first fault as an error that names the line."""
    try:
        return TypeAdapter(model).validate_python(source.data)
    except ValidationError as error:
        raise from_pydantic(source, error) from error


def _parsed(
    source: Source, words: Lexicon, lines: list[str], where: tuple[str, ...]
) -> tuple[Pattern, ...]:
    found = []
    for at, line in enumerate(lines):
        try:
            pattern = parse(line)
        except ValueError as error:
            _fault(source, (*where, at), str(error), ["X", "~X", "*X", "!X", "X|Y", "c:", "s:"])
        for name in sorted(pattern.names - set(words.concepts)):
            _fault(source, (*where, at), name, _near(name, words))
        found.append(pattern)
    return tuple(found)


def _near(name: str, words: Lexicon) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, words.concepts, n=3, cutoff=0.4)


def _fault(source: Source, field_: tuple[str | int, ...], got: str, hints: list[str]) -> None:
    raise BankError(
        source.place(field_),
        expected=Text("a pattern of known concepts, or a known id", "由已知概念写成的规则，或已知的 id"),
        got=repr(got),
        hint=", ".join(hints),
    )
