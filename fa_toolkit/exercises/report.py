"""What a check found: outcome, properties, named mistakes. Pure data and its plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..language import Text, say
from ..problem import AttentionProblem, TileShape
from .spec import PROPERTIES

Outcome = Literal["passed", "not yet", "not attempted"]
Status = Literal["held", "failed", "not run"]

OUTCOMES: dict[str, Text] = {
    "passed": Text("passed", "通过"),
    "not yet": Text("not yet", "还差一点"),
    "not attempted": Text("not attempted", "尚未作答"),
}
MARKS: dict[str, str] = {"held": "✓", "failed": "✗", "not run": "○"}
_ERRORS = Text(
    "largest error {mine:.1e}; plain torch in the same precision: {base:.1e}",
    "最大误差 {mine:.1e}；同样精度的普通 torch：{base:.1e}",
)
_PRINTED = Text("It printed:", "它打印了：")


@dataclass(frozen=True)
class Finding:
    """One property by its id, whether it held, and in one sentence what was seen if it did not.

    Args:
        errors: the largest error against float64, and that of plain torch in the same precision.
    """

    id: str
    status: Status
    note: Text | str = ""
    errors: tuple[float, float] | None = None

    @property
    def label(self) -> str:
        """The property in the reader's words."""
        return say(PROPERTIES[self.id])

    @property
    def figures(self) -> str:
        """Both errors as a phrase; empty where nothing is rounded, or the note says more."""
        if self.errors is None or self.note or max(self.errors) == 0:
            return ""
        return say(_ERRORS, mine=self.errors[0], base=self.errors[1])


@dataclass(frozen=True)
class Diagnosis:
    """A named mistake. `text` is bilingual; `str()` of it speaks the language in force.

    Args:
        passage: chapter and section to reread, if the exercise names one.
    """

    id: str
    text: Text
    passage: tuple[int, Text] | None = None

    def __str__(self) -> str:
        return say(self.text)


@dataclass(frozen=True)
class Departure:
    """The first tile in which an answer departs from the truth, as data a tile player can show.

    Args:
        output: name of the returned value.
        label: the case, as a report shows it.
        place: index of the first wrong element.
        problem: the attention problem that the case's arguments stand for.
        tile: its tile shape.
        rows: half-open range of the tile's queries.
        keys: half-open range of the first keys that are wrong; None if that was not to be found.
    """

    output: str
    label: Text | str
    place: tuple[int, ...]
    problem: AttentionProblem
    tile: TileShape
    rows: tuple[int, int]
    keys: tuple[int, int] | None = None

    def __str__(self) -> str:
        rows = f"{self.rows[0]}–{self.rows[1] - 1}"
        if self.keys is None:
            text = Text(
                "{output} departs first in the tile of queries {rows} ({label}).",
                "{output} 最先在 query {rows} 这一块出错（{label}）。",
            )
            return say(text, output=self.output, rows=rows, label=say(self.label))
        text = Text(
            "{output} departs first in the tile of queries {rows} and keys {keys} ({label}).",
            "{output} 最先在 query {rows}、key {keys} 这一块出错（{label}）。",
        )
        keys = f"{self.keys[0]}–{self.keys[1] - 1}"
        return say(text, output=self.output, rows=rows, keys=keys, label=say(self.label))


@dataclass(frozen=True)
class Warning:
    """Something Triton's interpreter forgives and a GPU does not, or that no GPU will like."""

    id: str
    line: int
    text: Text

    def __str__(self) -> str:
        place = Text("line {line}: {text}", "第 {line} 行：{text}")
        return say(place, line=self.line, text=say(self.text))


@dataclass(frozen=True)
class Report:
    """The result of `check`.

    Args:
        outcome: "passed" only if every property was run and held.
        findings: one per property, in the exercise's order; empty if nothing was attempted.
        diagnosis: named mistakes, likeliest first.
        note: one sentence about the whole: why nothing was attempted, what stopped the check.
        departure: the first tile that is wrong, where the exercise has tiles.
        warnings: what a GPU would not forgive.
        unchecked: what could not be checked here, for want of a GPU.
        printed: what the function printed, cut.
    """

    exercise: str
    title: Text
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    note: Text | str = ""
    departure: Departure | None = None
    warnings: tuple[Warning, ...] = ()
    unchecked: Text | str = ""
    printed: str = ""

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the properties that did not hold."""
        return tuple(item.id for item in self.findings if item.status == "failed")

    @property
    def summary(self) -> str:
        """How many properties held, as a phrase; empty if none was run."""
        if not self.findings:
            return ""
        held = sum(item.status == "held" for item in self.findings)
        return say(
            Text("{held} of {all} properties hold", "{all} 项性质中 {held} 项成立"),
            held=held,
            all=len(self.findings),
        )

    def __str__(self) -> str:
        head = [f"{self.exercise}  {say(self.title)}", say(OUTCOMES[self.outcome]), self.summary]
        lines = ["  ".join(part for part in head if part)]
        if self.note:
            lines.append(say(self.note))
        for item in self.findings:
            figures = f"  ({item.figures})" if item.figures else ""
            lines.append(f"  {MARKS[item.status]} {item.label}{figures}")
            if item.note:
                lines.append(f"      {say(item.note)}")
        lines += [f"  → {item}" for item in self.diagnosis]
        lines += [f"  ⌖ {self.departure}"] if self.departure else []
        lines += [f"  ! {item}" for item in self.warnings]
        lines += [f"  {say(self.unchecked)}"] if self.unchecked else []
        if self.printed:
            lines += [f"  {say(_PRINTED)}", *(f"    {x}" for x in self.printed.splitlines())]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON, texts in both languages."""
        from .told import tell

        found: dict[str, Any] = tell(self)
        return found
