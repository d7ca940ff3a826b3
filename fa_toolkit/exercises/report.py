"""What a check found: outcome, properties, named mistakes. Pure data and its plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..language import Text, say
from .spec import PROPERTIES

Outcome = Literal["passed", "not yet", "not attempted"]
Status = Literal["held", "failed", "not run"]

OUTCOMES: dict[str, Text] = {
    "passed": Text("passed", "通过"),
    "not yet": Text("not yet", "还差一点"),
    "not attempted": Text("not attempted", "尚未作答"),
}
MARKS: dict[str, str] = {"held": "✓", "failed": "✗", "not run": "○"}


@dataclass(frozen=True)
class Finding:
    """One property by its id, whether it held, and in one sentence what was seen if it did not."""

    id: str
    status: Status
    note: Text | str = ""

    @property
    def label(self) -> str:
        """The property in the reader's words."""
        return say(PROPERTIES[self.id])


@dataclass(frozen=True)
class Diagnosis:
    """A named mistake. `text` is bilingual; `str()` of it speaks the language in force."""

    id: str
    text: Text

    def __str__(self) -> str:
        return say(self.text)


@dataclass(frozen=True)
class Report:
    """The result of `check`.

    Args:
        outcome: "passed" only if every property was run and held.
        findings: one per property, in the exercise's order; empty if nothing was attempted.
        diagnosis: named mistakes, likeliest first.
        note: one sentence about the whole: why nothing was attempted, what stopped the check.
    """

    exercise: str
    title: Text
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    note: Text | str = ""

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
            lines.append(f"  {MARKS[item.status]} {item.label}")
            if item.note:
                lines.append(f"      {say(item.note)}")
        lines += [f"  → {item}" for item in self.diagnosis]
        return "\n".join(lines)
