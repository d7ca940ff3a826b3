"""Load the question bank and refuse, by file, line and field, whatever is not as it must be.

Does not grade and does not compute keys; `Bank.compute_keys` does the latter for who checks a bank.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from ..errors import BankError, UnknownNameError
from ..language import Text
from . import faults
from .free_text.rubric import attach
from .keys import check_call, key_value, trace_table
from .models import (
    Call,
    ChapterFile,
    Claim,
    NumberQuestion,
    Paper,
    Question,
    TraceQuestion,
)
from .question import Bilingual
from .text_question import TextQuestion
from .yaml_source import Source, read_yaml

_Model = TypeVar("_Model", bound=BaseModel)
Known = tuple[Mapping[str, Claim], Mapping[str, Bilingual], Mapping[str, Paper]]
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Chapter:
    """The questions of one chapter, in the order of its file."""

    number: int
    name: str
    title: Bilingual
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Bank:
    """All questions, the claims they cite and the topics they belong to.

    Example:
        >>> load_bank().claims["S11"].self_corrected
        True
    """

    chapters: Mapping[int, Chapter]
    questions: Mapping[str, Question]
    claims: Mapping[str, Claim]
    topics: Mapping[str, Bilingual]
    papers: Mapping[str, Paper] = field(default_factory=dict)

    def cited(self, paper: str) -> str:
        """`FA2 3.3` of a question as a reader sees it: title, where to find it, section."""
        name, _, section = paper.partition(" ")
        found = self.papers[name]
        return f"{found.title} ({found.where})" + (f", {section}" if section else "")

    def question(self, question_id: str) -> Question:
        """The question of this id.

        Raises:
            UnknownNameError: with the nearest ids.
        """
        found = self.questions.get(question_id) if isinstance(question_id, str) else None
        if found is None:
            near = difflib.get_close_matches(str(question_id), self.questions, n=3, cutoff=0.4)
            raise UnknownNameError(
                "question_id",
                expected=Text("the id of a question", "题目的 id"),
                got=repr(question_id)[:80],
                hint=", ".join(near),
            )
        return found

    def chapter(self, number: int) -> Chapter:
        """The chapter of this number.

        Raises:
            UnknownNameError: with the chapters that have questions.
        """
        if number not in self.chapters:
            raise UnknownNameError(
                "chapter",
                expected=Text("a chapter with questions", "有题目的章"),
                got=repr(number)[:80],
                hint=", ".join(map(str, self.chapters)),
            )
        return self.chapters[number]

    def chapter_of(self, question_id: str) -> Chapter:
        """The chapter that holds a question."""
        question = self.question(question_id)
        return next(c for c in self.chapters.values() if question in c.questions)

    def compute_keys(self) -> dict[str, float | list[dict[str, float]]]:
        """Compute the key of every number and trace question, which proves that they can be.

        Raises:
            BankError: naming the first question whose key cannot be computed.
        """
        computed: dict[str, float | list[dict[str, float]]] = {}
        for name, question in self.questions.items():
            try:
                if isinstance(question, NumberQuestion):
                    computed[name] = key_value(question.answer, question.unit)
                    for mistake in question.mistakes:
                        key_value(mistake.value, question.unit)
                elif isinstance(question, TraceQuestion):
                    computed[name] = trace_table(question)
            except BankError as error:
                where = f"{name}: {error.name}"
                raise BankError(
                    where, expected=error.expected, got=error.got, hint=error.hint
                ) from error
        return computed


def data_folder() -> Path:
    """Where quiz files are: `quizzes/` of the checkout, else the copy inside the package.

    Raises:
        BankError: if neither is there.
    """
    checkout, packaged = _PACKAGE.parent / "quizzes", _PACKAGE / "_data" / "quizzes"
    for folder in (packaged, checkout):
        if (folder / "source" / "claims.yaml").is_file():
            return folder
    raise BankError(
        "quizzes/source/claims.yaml",
        expected=Text("the quiz files of the course", "课程自带的题库文件"),
        got=Text(f"nothing in {checkout} or {packaged}", f"{checkout} 和 {packaged} 里都没有"),
        hint=Text("install the package again", "重新安装本软件包"),
    )


def load_bank(path: str | Path | None = None) -> Bank:
    """The question bank, read once and again only after a file has changed.

    Args:
        path: a YAML file or a folder of them with questions of your own; claims and topics come
            from the folder if it has them, else from the course.

    Raises:
        BankError: naming file, line, field and what to write there.
    """
    sides, files = find_files(path)
    stamps = tuple((file, _stamp(file)) for file in [*sides, *files])
    return _read_bank(stamps)


def find_files(path: str | Path | None = None) -> tuple[list[Path], list[Path]]:
    """The files of a bank: claims, topics and papers; and those with questions.

    Raises:
        BankError: if there is none with questions.
    """
    folder = data_folder() if path is None else Path(path)
    files = sorted(folder.glob("[0-9][0-9]_*.yaml")) if folder.is_dir() else [folder]
    if path is not None and folder.is_dir() and not files:
        files = sorted(f for f in folder.glob("*.yaml") if f.stem not in ("topics", "glossary"))
    home = folder if folder.is_dir() and (folder / "source").is_dir() else data_folder()
    papers = home / "source" / "papers.yaml"
    papers = papers if papers.is_file() else data_folder() / "source" / "papers.yaml"
    sides = [home / "source" / "claims.yaml", home / "topics.yaml", papers]
    if path is not None and not files:
        raise BankError(
            str(folder),
            expected=Text("a YAML file or a folder with some", "YAML 文件，或放着它们的文件夹"),
            got=Text("none", "没有"),
        )
    return sides, files


def _stamp(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=8)
def _read_bank(stamps: tuple[tuple[Path, tuple[int, int]], ...]) -> Bank:
    sides, files = [path for path, _ in stamps[:3]], [path for path, _ in stamps[3:]]
    claims, topics, papers = known = read_sides(sides)
    chapters: dict[int, Chapter] = {}
    questions: dict[str, Question] = {}
    for file in files:
        source = read_yaml(file)
        chapter: ChapterFile = _validated(TypeAdapter(ChapterFile), source)
        if chapter.chapter in chapters:
            raise faults.repeated(source, ("chapter",), str(chapter.chapter))
        for at, question in enumerate(chapter.questions):
            check_question(source, at, question, chapter.chapter, known)
            if question.id in questions:
                raise faults.repeated(source, ("questions", at, "id"), question.id)
            questions[question.id] = question
        chapters[chapter.chapter] = Chapter(
            chapter.chapter, file.stem, chapter.title, tuple(chapter.questions)
        )
    frozen = MappingProxyType
    return Bank(
        frozen(dict(sorted(chapters.items()))),
        frozen(questions),
        frozen(claims),
        frozen(topics),
        frozen(papers),
    )


def read_sides(sides: list[Path]) -> Known:
    """The claims, topics and papers that questions may name.

    Raises:
        BankError: naming file, line and field.
    """
    claims, topics, papers = map(read_yaml, sides)
    return (
        _claims(claims),
        _validated(TypeAdapter(dict[str, Bilingual]), topics),
        _validated(TypeAdapter(dict[str, Paper]), papers),
    )


def _validated(adapter: TypeAdapter[Any], source: Source) -> Any:
    try:
        return adapter.validate_python(source.data)
    except ValidationError as error:
        raise faults.from_pydantic(source, error) from error


def _claims(source: Source) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    for at, claim in enumerate(_validated(TypeAdapter(list[Claim]), source)):
        if claim.id in claims:
            raise faults.repeated(source, (at, "id"), claim.id)
        claims[claim.id] = claim
    return claims


def check_question(source: Source, at: int, question: Question, chapter: int, known: Known) -> None:
    """Refuse a question whose id, topic, claims, papers, calls or patterns lead nowhere.

    Raises:
        BankError: naming the first such field.
    """
    here = ("questions", at)
    claims, topics, papers = known
    if question.id.startswith("Q-") and int(question.id[2:4]) != chapter:
        raise faults.wrong_chapter(source, (*here, "id"), question.id, chapter)
    if question.topic not in topics:
        raise faults.unknown(source, (*here, "topic"), question.topic, topics, "topics.yaml")
    for number, claim in enumerate(question.claims):
        if claim not in claims:
            where: faults.Field = (*here, "claims", number)
            raise faults.unknown(source, where, claim, claims, "source/claims.yaml")
    for number, paper in enumerate(question.papers):
        if paper.partition(" ")[0] not in papers:
            where = (*here, "papers", number)
            raise faults.unknown(source, where, paper, papers, "source/papers.yaml")
    if isinstance(question, TextQuestion):
        for part in ("key_points", "misconceptions"):
            for place, entry in enumerate(getattr(question, part)):
                for claim in entry.claims:
                    if claim not in claims:
                        where = (*here, part, place, "claims")
                        raise faults.unknown(source, where, claim, claims, "source/claims.yaml")
                for paper in getattr(entry, "papers", ()):
                    if paper.partition(" ")[0] not in papers:
                        where = (*here, part, place, "papers")
                        raise faults.unknown(source, where, paper, papers, "source/papers.yaml")
    keys: list[tuple[str, str, Mapping[str, Any]]] = []
    if isinstance(question, TraceQuestion):
        keys.append(("call", question.call, question.args))
    elif isinstance(question, NumberQuestion):
        for name, key in [("answer", question.answer), *_mistake_keys(question)]:
            if isinstance(key, Call):
                keys.append((name, key.call, key.args))
    for name, call, args in keys:
        check_call(call, args, source.place((*here, *name.split("."))))
    if isinstance(question, TextQuestion):
        attach(question, source.path.parent, source.place(here))


def _mistake_keys(question: NumberQuestion) -> list[tuple[str, Call | float]]:
    return [(f"mistakes.{at}.value", mistake.value) for at, mistake in enumerate(question.mistakes)]
