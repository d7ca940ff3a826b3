"""What one row of the progress file holds, and the way from what a caller says to it. No SQL."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import __version__
from ..errors import ArgumentError
from ..language import Text
from . import schema

KINDS = ("quiz", "exercise")


class Attempt(NamedTuple):
    """One answer as it is kept.

    `detail` holds what the verdict said besides the score; `origin` and `seq` say in whose file it
    was first recorded and as which answer there, an order that no clock can disturb.
    """

    uuid: str
    item: str
    kind: str
    chapter: int
    lang: str
    answer: Any
    score: float
    outcome: str
    version: str
    at: str
    detail: Mapping[str, Any] = {}
    origin: str = ""
    seq: int = 0

    @property
    def fatal(self) -> tuple[str, ...]:
        """The fatal misconceptions that this answer asserted."""
        found = self.detail.get("fatal", ())
        return tuple(map(str, found)) if isinstance(found, (list, tuple)) else ()


class Said(NamedTuple):
    """A point the learner holds to have made though it was not detected."""

    uuid: str
    item: str
    point: str
    lang: str
    answer: str
    version: str
    at: str


class Interview(NamedTuple):
    """The report of one mock interview, as far as it went."""

    uuid: str
    finished: bool
    report: Mapping[str, Any]
    version: str
    at: str


ATTEMPT, SAID, INTERVIEW = (", ".join(kind._fields) for kind in (Attempt, Said, Interview))


def new_attempt(given: Mapping[str, Any]) -> Attempt:
    """An attempt made now.

    Raises:
        ArgumentError: if a field is missing or not what it must be.
    """
    for name in ("item", "kind", "chapter", "answer", "score", "outcome"):
        if name not in given:
            raise ArgumentError(
                f"attempt[{name!r}]",
                expected=Text("a value", "一个值"),
                got=Text("nothing", "没有"),
            )
    kind, score = given["kind"], float(given["score"])
    if kind not in KINDS:
        raise ArgumentError("attempt['kind']", expected=" | ".join(KINDS), got=repr(kind))
    if not 0 <= score <= 100:
        raise ArgumentError("attempt['score']", expected="0..100", got=repr(score))
    return Attempt(
        uuid=uuid.uuid4().hex,
        item=str(given["item"]),
        kind=kind,
        chapter=int(given["chapter"]),
        lang=str(given.get("lang", "en")),
        answer=given["answer"],
        score=score,
        outcome=str(given["outcome"]),
        version=str(given.get("version", __version__)),
        at=schema.now(),
        detail=dict(given.get("detail") or {}),
    )


def new_said(given: Mapping[str, Any]) -> Said:
    """A point claimed now."""
    return Said(
        uuid=uuid.uuid4().hex,
        item=str(given["item"]),
        point=str(given["point"]),
        lang=str(given.get("lang", "en")),
        answer=str(given.get("answer", "")),
        version=str(given.get("version", __version__)),
        at=schema.now(),
    )


def packed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with its JSON fields as text."""
    if isinstance(row, Attempt):
        return tuple(
            row._replace(
                answer=json.dumps(row.answer, default=str),
                detail=json.dumps(row.detail, default=str),  # type: ignore[arg-type]
            )
        )
    if isinstance(row, Interview):
        report: Any = json.dumps(row.report, default=str)
        return tuple(row._replace(finished=int(row.finished), report=report))  # type: ignore[arg-type]
    return tuple(row)


def attempt(row: tuple[Any, ...]) -> Attempt:
    """An attempt as the file held it."""
    found = Attempt(*row)
    return found._replace(answer=json.loads(found.answer), detail=json.loads(str(found.detail)))


def interview(row: tuple[Any, ...]) -> Interview:
    """An interview as the file held it."""
    found = Interview(*row)
    return found._replace(finished=bool(found.finished), report=json.loads(str(found.report)))
