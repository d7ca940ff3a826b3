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
#: As the course's cards look; not theirs, since the doctor must work where little is installed.
_STYLE = """
.fa-doctor { box-sizing: border-box; max-width: 840px; margin: 2px 0; padding: 14px 20px;
  border: 1px solid color-mix(in srgb, currentColor 17%, transparent); border-radius: 6px;
  background: var(--jp-layout-color1, transparent);
  color: var(--jp-ui-font-color1, #1c2330); font: 14px/1.6 system-ui, "Noto Sans",
  "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
.fa-doctor p { margin: 0 0 8px; font-size: 16px; font-weight: 600; }
.fa-doctor.fa-doctor table { margin: 0; border-collapse: collapse; }
.fa-doctor.fa-doctor table tr:nth-child(n), .fa-doctor.fa-doctor table tr:hover { background: none; }
.fa-doctor.fa-doctor table :is(td, th) { padding: 1px 16px 1px 0; border: 0; background: none;
  font-size: 14px; font-weight: 400; line-height: 1.6; text-align: left; vertical-align: top;
  white-space: normal; overflow-wrap: anywhere; }
.fa-doctor.fa-doctor table th { color: color-mix(in srgb, currentColor 66%, transparent);
  white-space: nowrap; }
.fa-doctor.fa-doctor table td:first-child { padding-right: 8px; }
"""
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
            f'<style>{_STYLE}</style><div class="fa-doctor"><p>{html.escape(self.verdict)}</p>'
            f'<table role="table">{rows}</table></div>'
        )


def _lines(findings: Iterable[Finding]) -> Iterable[str]:
    for finding in findings:
        yield f"{MARKS[finding.status]} {say(finding.subject)}: {say(finding.seen)}"
        if finding.remedy:
            yield f"    → {say(finding.remedy)}"


def _html_row(finding: Finding) -> str:
    remedy = f"<br>→ {html.escape(say(finding.remedy))}" if finding.remedy else ""
    return (
        f'<tr><td style="color: var({_CSS[finding.status]})">{MARKS[finding.status]}</td>'
        f"<th>{html.escape(say(finding.subject))}</th>"
        f"<td>{html.escape(say(finding.seen))}{remedy}</td></tr>"
    )
