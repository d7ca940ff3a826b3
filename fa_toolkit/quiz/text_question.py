"""The form of a free-text question: its key points, its misconceptions, and what a good answer says.

How points are recognised in an answer stands beside the bank, in `patterns/<id>.yaml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, model_validator

from .question import Bilingual, Name, Question_, Strict, Words, distinct, refuse

PENALTY = 15  # what a misconception costs


class KeyPoint(Strict):
    """One thing an answer should say.

    `text` says what it is, `why` what an answer that lacks it should take with it, `ask` is a
    question that an interviewer puts to hear it. `careful` goes with a point that was made: what in
    its usual wording does not hold. `claims` and `papers` are its own, else it rests on those of
    the question.
    """

    id: Name
    weight: Annotated[int, Field(ge=1, le=100)]
    text: Bilingual
    why: Bilingual
    ask: Bilingual | None = None
    careful: Bilingual | None = None
    claims: list[str] = Field(default_factory=list)
    papers: list[Words] = Field(default_factory=list)


class Misconception(Strict):
    """One wrong idea that answers assert; `fatal` ones block "ready" whatever the score."""

    id: Name
    text: Bilingual
    why: Bilingual
    claims: list[str] = Field(default_factory=list)
    fatal: bool = False


class TextQuestion(Question_):
    """Answer in your own words."""

    kind: Literal["text"]
    key_points: Annotated[list[KeyPoint], Field(min_length=2, max_length=10)]
    misconceptions: Annotated[list[Misconception], Field(min_length=1, max_length=8)]
    model_answer: Bilingual
    listens_for: Bilingual
    _patterns: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _weights_whole(self) -> TextQuestion:
        total = sum(point.weight for point in self.key_points)
        if total != 100:
            raise refuse(
                f"the weights of the key points add up to 100, here to {total}",
                f"各要点的权重之和为 100，这里是 {total}",
            )
        names = [point.id for point in self.key_points]
        names += [misconception.id for misconception in self.misconceptions]
        if twice := [name for at, name in enumerate(names) if name in names[:at]]:
            raise refuse(f"two entries have the id {twice[0]!r}", f"id {twice[0]!r} 出现了两次")
        distinct([point.text for point in self.key_points], "key points")
        return self

    @property
    def weights(self) -> dict[str, int]:
        """The weight of every key point."""
        return {point.id: point.weight for point in self.key_points}
