"""What grading says of an answer. Data only: no grading, no display."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..language import Language

Status = Literal["ok", "unsure", "empty", "unreadable", "truncated"]


@dataclass(frozen=True)
class Item:
    """One point of a verdict.

    Args:
        id: the point, stable from version to version.
        text: the point in words.
        span: (start, end) of the part of a written answer that it rests on.
        claims: the claims of the source that decide it.
        why: feedback on this point.
    """

    id: str
    text: str
    span: tuple[int, int] | None = None
    claims: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Citation:
    """A claim of the source as a verdict shows it, in one language."""

    id: str
    section: str
    says: str
    verdict: Literal["holds", "caveat", "wrong"]
    caveat: str = ""
    self_corrected: bool = False


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer.

    `status` is "ok" when the answer was judged; "empty" and "unreadable" mean that it was not,
    `note` says why, and nothing should be recorded. "truncated" means that not all of it was read.
    Only a written answer is "unsure": it was judged, but much of it was not understood, so that
    the learner had better compare it with the model answer.

    Args:
        score: 0..100.
        credited: what was right.
        missing: what was not said.
        contradicted: what was said otherwise than it is.
        misconceptions: known wrong ideas that were asserted.
        arithmetic: how the score came about.
    """

    question_id: str
    lang: Language
    status: Status
    score: int = 0
    credited: tuple[Item, ...] = ()
    missing: tuple[Item, ...] = ()
    contradicted: tuple[Item, ...] = ()
    misconceptions: tuple[Item, ...] = ()
    said: str = ""
    note: str = ""
    arithmetic: str = ""
    explain: str = ""
    citations: tuple[Citation, ...] = ()
    papers: tuple[str, ...] = ()
    follow_up: str = ""
    follow_up_answer: str = ""
    see: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        from .plain import verdict_text

        return verdict_text(self)

    @property
    def judged(self) -> bool:
        """Whether there is a judgement to show, sure or not."""
        return self.status in ("ok", "unsure") or (self.status == "truncated" and bool(self.said))

    @property
    def right(self) -> bool:
        """Whether nothing at all was wrong or missing."""
        return self.status == "ok" and self.score == 100

    @property
    def outcome(self) -> str:
        """ "right", "part" or "wrong", or the status of what could not be judged."""
        if self.status == "unsure" or not self.judged:
            return self.status
        return "right" if self.score == 100 else "part" if self.score else "wrong"
