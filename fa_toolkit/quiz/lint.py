"""Every fault of a question bank at once: what loading would refuse, and what a good bank avoids.

The second kind loads and can be asked; it is the habits that give answers away or teach nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import BankError
from ..language import Text
from . import faults
from .bank import Known, check_question, find_files, read_sides
from .free_text.pattern_lint import lexicon_faults, pattern_faults
from .keys import key_value, trace_table
from .models import (
    ChapterFile,
    ChoiceQuestion,
    ManyQuestion,
    NumberQuestion,
    Question,
    TraceQuestion,
)
from .question import Bilingual
from .text_question import TextQuestion
from .yaml_source import Source, read_yaml

UNLIKELY = 0.02  # a bank as lopsided as that by chance
FEWEST = 12  # choice questions before a habit can be told from chance
_OF_OTHERS = re.compile(
    r"(all|none|both) of the (above|others)|以上都|以上全|以上皆|都不对|都正确", re.I
)
_CJK = re.compile("[\u4e00-\u9fff]")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_ENGLISH = re.compile(r"\b[A-Za-z][A-Za-z'-]*(?:[ ,]+[A-Za-z][A-Za-z'-]*){4,}")

Place = Callable[..., str]


def lint(path: str | Path | None = None) -> list[BankError]:
    """All faults of a bank, in the order of its files and lines; none if it is good.

    Args:
        path: as for `load_bank`: a file or a folder, the course's own bank without it.
    """
    try:
        sides, files = find_files(path)
        known = read_sides(sides)
    except BankError as error:
        return [error]
    found: list[BankError] = []
    read: list[Question] = []
    seen: set[str] = set()
    for file in files:
        found += _file(file, known, read, seen)
    lexicon = files[0].parent / "patterns" / "lexicon.yaml"
    if lexicon.is_file():
        found += lexicon_faults(lexicon)
    return found + list(_habits(read, str(files[0] if len(files) == 1 else files[0].parent)))


def _file(file: Path, known: Known, read: list[Question], seen: set[str]) -> Iterator[BankError]:
    """Faults of one file; its questions are added to those read."""
    try:
        source = read_yaml(file)
        chapter = TypeAdapter(ChapterFile).validate_python(source.data)
    except BankError as error:
        yield error
        return
    except ValidationError as error:
        yield from faults.each(source, error)
        return
    for at, question in enumerate(chapter.questions):
        if question.id in seen:
            yield faults.repeated(source, ("questions", at, "id"), question.id)
        seen.add(question.id)
        read.append(question)
        try:
            check_question(source, at, question, chapter.chapter, known)
            yield from _question(source, at, question)
        except BankError as error:
            yield _placed(error, source.place(("questions", at)))


def _placed(error: BankError, place: str) -> BankError:
    """The error with the file and line it came from."""
    if ":" in error.name and error.name.partition(":")[0].endswith(".yaml"):
        return error
    name = f"{place}: {error.name}"
    return BankError(name, expected=error.expected, got=error.got, hint=error.hint)


def _question(source: Source, at: int, question: Question) -> Iterator[BankError]:
    def place(*field: str | int) -> str:
        return source.place(("questions", at, *field))

    yield from _languages(question, place)
    if question.follow_up is not None and question.follow_up_answer is None:
        yield BankError(
            place("follow_up"),
            expected=Text(
                "`follow_up_answer`, what a good answer says", "`follow_up_answer`，好的回答说什么"
            ),
            got=Text("a follow-up that is not shown without it", "没有它，追问就不显示"),
        )
    if isinstance(question, (ChoiceQuestion, ManyQuestion)):
        yield from _options(question, place)
    elif isinstance(question, NumberQuestion):
        yield from _number(question, place)
    elif isinstance(question, TraceQuestion):
        trace_table(question)
    elif isinstance(question, TextQuestion):
        yield from pattern_faults(question)


def _options(question: ChoiceQuestion | ManyQuestion, place: Place) -> Iterator[BankError]:
    if len(question.choices) < 3:
        yield BankError(
            place("choices"),
            expected=Text("three options or more", "至少三个选项"),
            got=str(len(question.choices)),
            hint=Text("a coin would be right half of the time", "抛硬币都有一半答对"),
        )
    said: set[str] = set()
    for number, choice in enumerate(question.choices):
        if _OF_OTHERS.search(choice.text.en) or _OF_OTHERS.search(choice.text.zh):
            yield BankError(
                place("choices", number, "text"),
                expected=Text("an option of its own", "自成一项的选项"),
                got=repr(choice.text.en),
                hint=Text("name the misconception it stands for", "写出它代表的误解"),
            )
        if choice.why.en in said or choice.why.zh in said:
            yield BankError(
                place("choices", number, "why"),
                expected=Text("feedback on this option", "针对这一项的反馈"),
                got=Text("that of another option", "与另一项的相同"),
            )
        said |= {choice.why.en, choice.why.zh}


def _number(question: NumberQuestion, place: Place) -> Iterator[BankError]:
    key = key_value(question.answer, question.unit)
    if not question.mistakes:
        yield BankError(
            place("mistakes"),
            expected=Text("a known wrong value with its feedback", "至少一个常见错值和对应的反馈"),
            got=Text("none", "没有"),
        )
    values = [key]
    for number, mistake in enumerate(question.mistakes):
        value = key_value(mistake.value, question.unit)
        if any(_close(value, other, question.tolerance) for other in values):
            yield BankError(
                place("mistakes", number, "value"),
                expected=Text(
                    "a value that the tolerance tells from the key and from the others",
                    "与正确值、其他错值相差超过容差的值",
                ),
                got=repr(value),
            )
        values.append(value)


def _close(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= 2 * tolerance * max(abs(one), abs(other))


def _languages(node: Any, place: Place, *field: str | int) -> Iterator[BankError]:
    """Texts whose English is Chinese, or whose Chinese is English."""
    if isinstance(node, Bilingual):
        prose = _CODE.sub(" ", node.zh)
        if _CJK.search(node.en):
            wanted = Text("English", "英文")
            yield BankError(place(*field, "en"), expected=wanted, got=repr(node.en[:60]))
        if _ENGLISH.search(prose):
            wanted = Text("Chinese, written and not copied", "中文，而不是照抄英文")
            yield BankError(place(*field, "zh"), expected=wanted, got=repr(node.zh[:60]))
    elif isinstance(node, list):
        for at, inner in enumerate(node):
            yield from _languages(inner, place, *field, at)
    elif isinstance(node, dict):
        for name, inner in node.items():
            yield from _languages(inner, place, *field, name)
    elif hasattr(type(node), "model_fields"):
        for name in type(node).model_fields:
            yield from _languages(getattr(node, name), place, *field, name)


def _habits(questions: Sequence[Question], where: str) -> Iterator[BankError]:
    """What lets a reader who knows nothing score: the longest option, the third option."""
    choices = [question for question in questions if isinstance(question, ChoiceQuestion)]
    if len(choices) < FEWEST:
        return
    chance = sum(1 / len(question.choices) for question in choices) / len(choices)
    for lang in ("en", "zh"):
        for name, extreme in (("longest", max), ("shortest", min)):
            hits = sum(_gives_away(question, lang, extreme) for question in choices)
            if tail(hits, len(choices), chance) < UNLIKELY:
                side = {"longest": "最长", "shortest": "最短"}[name]
                yield BankError(
                    f"{where}: choices.text.{lang}",
                    expected=Text(
                        f"right options that are the {name} no more often than others",
                        f"正确选项不应常是{side}的一项",
                    ),
                    got=f"{hits} / {len(choices)}",
                )
    for place in range(max(len(question.choices) for question in choices)):
        hits = sum(len(q.choices) > place and q.choices[place].correct for q in choices)
        if tail(hits, len(choices), chance) < UNLIKELY:
            yield BankError(
                f"{where}: choices",
                expected=Text("right options in every place", "正确选项的位置要分散"),
                got=Text(
                    f"place {place + 1} in {hits} of {len(choices)}",
                    f"{len(choices)} 题里有 {hits} 题在第 {place + 1} 位",
                ),
            )


def _gives_away(question: ChoiceQuestion, lang: Any, extreme: Callable[..., int]) -> bool:
    sizes = {choice.correct: [] for choice in question.choices}  # type: dict[bool, list[int]]
    for choice in question.choices:
        sizes[choice.correct].append(len(choice.text[lang]))
    right = sizes[True][0]
    return right not in sizes[False] and extreme([right, *sizes[False]]) == right


def tail(hits: int, trials: int, chance: float) -> float:
    """Probability of at least so many hits by chance.

    Example:
        >>> round(tail(2, 2, 0.25), 4)
        0.0625
    """
    return sum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(hits, trials + 1)
    )
