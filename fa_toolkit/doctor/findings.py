"""What the doctor found, and how it is shown: plain text, a terminal table, a notebook table."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..language import Text, say

if TYPE_CHECKING:
    from rich.table import Table

Status = Literal["ok", "note", "warning", "fault"]
MARKS: dict[Status, str] = {"ok": "✓", "note": "·", "warning": "!", "fault": "✗"}
_RICH: dict[Status, str] = {"ok": "green", "note": "dim", "warning": "yellow", "fault": "bold red"}
_CSS: dict[Status, str] = {
    "ok": "--jp-success-color1, #2e7d32",
    "note": "--jp-ui-font-color2, #757575",
    "warning": "--jp-warn-color1, #b26a00",
    "fault": "--jp-error-color1, #c62828",
}
_VERDICTS = {
    True: Text("The course can be worked here.", "这台机器可以学这门课。"),
    False: Text(
        "The course cannot be worked here yet: see the lines with ✗.",
        "这台机器还不能学这门课：请看标 ✗ 的几行。",
    ),
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `remedy` says what to do; empty where nothing is to be done."""

    id: str
    status: Status
    subject: Text | str
    seen: Text | str
    remedy: Text | str | None = None


@dataclass(frozen=True)
class Report:
    """All findings, and what can be read off them."""

    findings: tuple[Finding, ...]
    mode: str = "none"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the course can be worked: no fault was found."""
        return not any(finding.status == "fault" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """One sentence on the whole."""
        return say(_VERDICTS[self.ok])

    def __getitem__(self, id: str) -> Finding:
        return next(finding for finding in self.findings if finding.id == id)

    def text(self) -> str:
        """Plain lines, for a log or an issue report."""
        return "\n".join([*_lines(self.findings), "", self.verdict])

    def __str__(self) -> str:
        return self.text()

    def table(self) -> Table:
        """A `rich` table for the terminal."""
        from rich.table import Table
        from rich.text import Text as Styled

        table = Table(box=None, show_header=False, pad_edge=False)
        for finding in self.findings:
            colour = _RICH[finding.status]
            seen = Styled(say(finding.seen))
            if finding.remedy:
                seen.append("\n→ " + say(finding.remedy), style="cyan")
            mark = Styled(MARKS[finding.status], style=colour)
            table.add_row(mark, Styled(say(finding.subject), style="bold"), seen)
        return table

    def _repr_html_(self) -> str:
        rows = "".join(_html_row(finding) for finding in self.findings)
        return (
            f'<table style="text-align:left" role="table">{rows}</table>'
            f"<p><strong>{html.escape(self.verdict)}</strong></p>"
        )


def _lines(findings: Iterable[Finding]) -> Iterable[str]:
    for finding in findings:
        yield f"{MARKS[finding.status]} {say(finding.subject)}: {say(finding.seen)}"
        if finding.remedy:
            yield f"    → {say(finding.remedy)}"


def _html_row(finding: Finding) -> str:
    cell = '<td style="text-align:left;vertical-align:top;{more}">{inside}</td>'
    remedy = f"<br>→ {html.escape(say(finding.remedy))}" if finding.remedy else ""
    mark = cell.format(more=f"color:var({_CSS[finding.status]})", inside=MARKS[finding.status])
    subject = cell.format(more="", inside=f"<strong>{html.escape(say(finding.subject))}</strong>")
    seen = cell.format(more="", inside=html.escape(say(finding.seen)) + remedy)
    return f"<tr>{mark}{subject}{seen}</tr>"
