"""The form of a quiz file: what a question, a claim and a chapter may say. Reads no files.

Every field a reader sees is in both languages and never empty; a field that is not listed here is
refused, so that a misspelt name cannot silently do nothing.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from .question import Bilingual, Name, Question_, Strict, Words, distinct, refuse
from .text_question import TextQuestion
from .units import UNITS

ClaimVerdict = Literal["holds", "caveat", "wrong"]


class Claim(Strict):
    """One claim of the source article in our words, and what became of it when tested."""

    id: Annotated[str, StringConstraints(pattern=r"^S\d{2}$")]
    section: Bilingual
    says: Bilingual
    verdict: ClaimVerdict
    self_corrected: bool = False
    caveat: Bilingual | None = None
    shown_by: Bilingual | Words | None = None

    @model_validator(mode="after")
    def _caveat_stated(self) -> Claim:
        if self.verdict != "holds" and self.caveat is None:
            raise refuse(
                "a claim that does not simply hold needs `caveat: {en: ..., zh: ...}`",
                "不完全成立的论断要写 `caveat: {en: ..., zh: ...}`",
            )
        return self


class Paper(Strict):
    """A paper or a page that questions cite beside the article."""

    title: Words
    where: Words


class Call(Strict):
    """A value computed by the package: a function of the whitelist with literal arguments."""

    call: Words
    args: dict[str, Any] = Field(default_factory=dict)
    take: str | int | None = None


Key = Call | float


def option_key(question: str, role: str, text: str) -> str:
    """A short opaque name of an option: it says nothing of its place or of being right."""
    return hashlib.blake2s(f"{question}\n{role}\n{text}".encode(), digest_size=5).hexdigest()


class Choice(Strict):
    """One option and the feedback a reader gets for picking it."""

    text: Bilingual
    correct: bool = False
    why: Bilingual


class Mistake(Strict):
    """A known wrong value and what led to it."""

    value: Key
    why: Bilingual


class OrderItem(Strict):
    """One step of a sequence."""

    id: Name
    text: Bilingual


class Pair(Strict):
    """Two things that belong together."""

    left: Bilingual
    right: Bilingual
    why: Bilingual


class ChoiceQuestion(Question_):
    """Pick the one right option."""

    kind: Literal["choice"]
    choices: Annotated[list[Choice], Field(min_length=2, max_length=8)]

    @model_validator(mode="after")
    def _one_right(self) -> ChoiceQuestion:
        right = sum(choice.correct for choice in self.choices)
        if right != 1:
            raise refuse(
                f"exactly one choice has `correct: true`, here {right} have",
                f"恰好一个选项写 `correct: true`，这里有 {right} 个",
            )
        distinct([choice.text for choice in self.choices], "choices")
        return self


class ManyQuestion(Question_):
    """Tick every right option."""

    kind: Literal["many"]
    choices: Annotated[list[Choice], Field(min_length=3, max_length=10)]

    @model_validator(mode="after")
    def _some_right(self) -> ManyQuestion:
        right = sum(choice.correct for choice in self.choices)
        if right == 0 or right == len(self.choices):
            raise refuse(
                "some choices, not none and not all, have `correct: true`",
                "要有一部分选项写 `correct: true`，不能全没有，也不能全是",
            )
        distinct([choice.text for choice in self.choices], "choices")
        return self


class NumberQuestion(Question_):
    """Give one number; a formula is welcome."""

    kind: Literal["number"]
    answer: Key
    unit: str | None = None
    tolerance: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    mistakes: list[Mistake] = Field(default_factory=list)

    @model_validator(mode="after")
    def _unit_known(self) -> NumberQuestion:
        if self.unit is not None and self.unit not in UNITS:
            known = ", ".join(UNITS)
            raise refuse(
                f"unit {self.unit!r} is not known; write one of: {known}",
                f"没有 {self.unit!r} 这个单位；可以写：{known}",
            )
        return self


class OrderQuestion(Question_):
    """Put steps in order; they are listed in the right one."""

    kind: Literal["order"]
    items: Annotated[list[OrderItem], Field(min_length=3, max_length=9)]
    why_wrong: Bilingual

    @model_validator(mode="after")
    def _itemsdistinct(self) -> OrderQuestion:
        if len({item.id for item in self.items}) < len(self.items):
            raise refuse("two items have the same id", "两个步骤的 id 相同")
        distinct([item.text for item in self.items], "items")
        return self


class MatchQuestion(Question_):
    """Join each left side with its right side; two lefts may share a right."""

    kind: Literal["match"]
    pairs: Annotated[list[Pair], Field(min_length=3, max_length=9)]

    @model_validator(mode="after")
    def _leftsdistinct(self) -> MatchQuestion:
        distinct([pair.left for pair in self.pairs], "left sides")
        if len({pair.right.en for pair in self.pairs}) < 2:
            raise refuse(
                "all right sides are the same, so there is nothing to match",
                "右边全都一样，没有可以配对的",
            )
        return self


class TraceQuestion(Question_):
    """Fill the table of a running state, one row for each block."""

    kind: Literal["trace"]
    call: Words
    args: dict[str, Any] = Field(default_factory=dict)
    columns: Annotated[list[Name], Field(min_length=1, max_length=6)]
    given: list[str | tuple[int, str]] = Field(default_factory=list)
    rows: list[Bilingual] | None = None
    feedback: dict[str, Bilingual]
    tolerance: Annotated[float, Field(gt=0, lt=0.5)] = 0.01

    @model_validator(mode="after")
    def _columns_explained(self) -> TraceQuestion:
        if missing := [name for name in self.columns if name not in self.feedback]:
            raise refuse(
                f"`feedback` lacks the column {missing[0]!r}",
                f"`feedback` 缺 {missing[0]!r} 这一列",
            )
        if unknown := [name for name in self.feedback if name not in self.columns]:
            raise refuse(
                f"`feedback` has {unknown[0]!r}, which is not in `columns`",
                f"`feedback` 里的 {unknown[0]!r} 不在 `columns` 里",
            )
        for row, column in self.shown:
            if row < 0 or column not in self.columns:
                raise refuse(
                    "a cell in `given` is written [row, column] or 'row.column', rows from 0",
                    "`given` 里的格子写成 [行, 列] 或 '行.列'，行从 0 数起",
                )
        return self

    @property
    def shown(self) -> frozenset[tuple[int, str]]:
        """The cells that are filled in already, as (row from 0, column)."""
        cells = (cell.partition(".")[::2] if isinstance(cell, str) else cell for cell in self.given)
        return frozenset((int(row) if str(row).isdecimal() else -1, str(col)) for row, col in cells)


Question = Annotated[
    ChoiceQuestion
    | ManyQuestion
    | NumberQuestion
    | OrderQuestion
    | MatchQuestion
    | TraceQuestion
    | TextQuestion,
    Field(discriminator="kind"),
]
KINDS = ("choice", "many", "number", "order", "match", "trace", "text")


class ChapterFile(Strict):
    """One file of the bank: the questions of one chapter."""

    chapter: Annotated[int, Field(ge=0, le=99)]
    title: Bilingual
    questions: Annotated[list[Question], Field(min_length=1)]
