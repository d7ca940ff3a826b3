"""The patterns of a question as a file holds them, checked and made ready to use. Grades nothing."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ...errors import BankError
from ...language import Text
from ..faults import from_pydantic
from ..text_question import TextQuestion
from ..yaml_source import read_yaml
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
    """How a misconception is said; `maybe` is said too vaguely to subtract, so the learner is asked.

    `asked` are examples of `maybe`, as `said` are of `patterns`.
    """

    patterns: Lines
    maybe: list[str] = Field(default_factory=list)
    asked: list[str] = Field(default_factory=list)
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


def attach(question: TextQuestion, folder: Path, place: str) -> None:
    """Tell a question where its patterns stand: in `patterns/` beside its file.

    They are read when the first answer is graded, or by `rules`.

    Raises:
        BankError: if there is no such file.
    """
    path = folder / "patterns" / f"{question.id}.yaml"
    if not path.is_file():
        raise BankError(
            place,
            expected=Text(
                f"its patterns in patterns/{question.id}.yaml",
                f"patterns/{question.id}.yaml 里有它的匹配规则",
            ),
            got=Text("no such file", "没有这个文件"),
        )
    question._patterns = path


def rules(question: TextQuestion) -> Patterns:
    """The patterns of a question.

    Raises:
        BankError: if a pattern cannot be read, or if its points are not those of the question.
    """
    assert question._patterns is not None
    found = patterns_of(question._patterns)
    for part, entries in (
        ("points", question.key_points),
        ("misconceptions", question.misconceptions),
    ):
        asked = {entry.id for entry in entries}
        if asked != set(getattr(found, part)):
            raise BankError(
                f"{question._patterns.name}: {part}",
                expected=", ".join(sorted(asked)),
                got=", ".join(sorted(getattr(found, part))),
            )
    return found


def patterns_of(path: Path) -> Patterns:
    """The patterns of a file, read again only after it has changed.

    Raises:
        BankError: naming file, line, field and what to write there.
    """
    lexicon = path.with_name("lexicon.yaml")
    if not lexicon.is_file():
        lexicon = course_words()
    return _read(path, _stamp(path), lexicon, _stamp(lexicon))


def course_words() -> Path:
    """The lexicon of the course, for banks that bring none of their own."""
    from ..bank import data_folder

    return data_folder() / "patterns" / "lexicon.yaml"


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=64)
def _read(path: Path, _: tuple[int, int], home: Path, stamp: tuple[int, int]) -> Patterns:
    file: PatternFile = _loaded(PatternFile, path)
    source = _Lines(path)
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
    file: LexiconFile = _loaded(LexiconFile, path)
    return Lexicon({**file.things, **file.acts}, file.acts)


def _loaded(model: type[BaseModel], path: Path) -> Any:
    """The data of a file as `model`; its first fault as an error that names the line.

    A sound file is read the fast way, which knows no lines.
    """
    adapter = TypeAdapter(model)
    try:
        return adapter.validate_python(yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER))
    except (yaml.YAMLError, ValidationError, OSError, UnicodeDecodeError):
        source = read_yaml(path)
    try:
        return adapter.validate_python(source.data)
    except ValidationError as error:
        raise from_pydantic(source, error) from error


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Lines:
    """The lines of a file, looked up only for an error."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def place(self, field: tuple[str | int, ...]) -> str:
        """File, line and field of a value."""
        return read_yaml(self.path).place(field)


def _parsed(
    source: _Lines, words: Lexicon, lines: list[str], where: tuple[str, ...]
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


def _fault(source: _Lines, field_: tuple[str | int, ...], got: str, hints: list[str]) -> None:
    raise BankError(
        source.place(field_),
        expected=Text(
            "a pattern of known concepts, or a known id", "由已知概念写成的规则，或已知的 id"
        ),
        got=repr(got),
        hint=", ".join(hints),
    )
