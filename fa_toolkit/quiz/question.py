"""What every question of the bank has, and the kinds of text that fields hold. Reads no files."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from ..language import Language

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Level = Literal["warm-up", "core", "senior"]


def refuse(en: str, zh: str) -> PydanticCustomError:
    """What is wrong and what to write instead, in both languages."""
    return PydanticCustomError("bank", "{en}", {"en": en, "zh": zh})


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Bilingual(Strict):
    """One text in English and Chinese."""

    en: Words
    zh: Words

    def __getitem__(self, lang: Language) -> str:
        return self.zh if lang == "zh" else self.en


class Question_(Strict):  # noqa: N801  (the union of all kinds is `Question`)
    """What every question has.

    `core` marks the questions of the short tracks; it is not the level of the same name. A question
    rests on claims of the article, on papers, or on both: "FA2 3.3" is section 3.3 of the paper
    that `source/papers.yaml` lists as FA2. A follow-up is
    shown only with `follow_up_answer`, what a good answer to it says.
    """

    id: Annotated[str, StringConstraints(pattern=r"^(Q-\d{2}-[a-z0-9]+(-[a-z0-9]+)*|O\d{1,2})$")]
    topic: Name
    level: Level
    core: bool = False
    claims: list[str] = Field(default_factory=list)
    papers: list[Words] = Field(default_factory=list)
    prompt: Bilingual
    explain: Bilingual
    follow_up: Bilingual | None = None
    follow_up_answer: Bilingual | None = None
    see: Annotated[str, StringConstraints(pattern=r"^\d{2}$")]

    @model_validator(mode="after")
    def _rests_on_something(self) -> Self:
        if not self.claims and not self.papers:
            raise refuse(
                "claims of the article in `claims: [S11]` or sections of papers in "
                "`papers: [FA2 3.3]`, or both",
                "`claims: [S11]` 写文章的论断，或 `papers: [FA2 3.3]` 写论文的章节，可以都写",
            )
        return self


def distinct(texts: list[Bilingual], what: str) -> None:
    """Refuse two texts that read the same in a language."""
    for side in ("en", "zh"):
        if len({getattr(text, side) for text in texts}) < len(texts):
            raise refuse(
                f"two {what} have the same {side} text", f"{what} 里有两条 {side} 文字相同"
            )
