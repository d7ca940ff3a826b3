"""Cards for exercises: a report, a hint, a solution; and the table of progress."""

from __future__ import annotations

from html import escape

from .. import exercises
from ..exercises import Diagnosis, Report
from ..exercises.report import MARKS, OUTCOMES
from ..language import Text, say
from . import cards
from .cards import Card
from .chapters import TITLES
from .memory import Standing
from .source import highlighted

_TONE = {"passed": "good", "not yet": "miss", "not attempted": "soft"}
_ROW_TONE = {"held": "good", "failed": "bad", "not run": "soft"}
_HINT_NEXT = Text("{summary}. A hint, if you want one:", "{summary}。需要提示的话：")
_HINT = Text("Hint {level} of {of}", "提示 {level} / {of}")
_MORE = Text("The next one:", "下一条：")
_LAST = Text("There is no further hint. The solution:", "没有更多提示了。参考解答：")
_TILE = Text("{departure} See it:", "{departure} 看这一块：")
_REREAD = Text(
    "Read again: chapter {chapter:02d}, “{section}”.", "重读第 {chapter:02d} 章“{section}”。"
)
_PRINTED = Text("It printed", "它打印了")
_THEN = Text("Now one of the same kind, without help:", "再来一道同类的，这次不看提示：")
_SOLUTION = Text("One way to write it", "一种写法")
_AGAIN = Text("Close it, write it from memory, then check:", "合上它，凭记忆写一遍，再检查：")
_COLUMNS = (
    Text("Chapter", "章"),
    Text("Questions", "题目"),
    Text("Exercises", "练习"),
    Text("", ""),
)
_PROGRESS = Text("Your progress", "你的进度")


def report_card(report: Report) -> Card:
    """Outcome, every property, what was seen where one failed, and the named mistakes."""
    after = say(OUTCOMES[report.outcome])
    rows = [
        (
            MARKS[f.status],
            _ROW_TONE[f.status],
            f.label,
            "  ".join(filter(None, (say(f.note), f.figures))),
        )
        for f in report.findings
    ]
    named = "".join(f"<p>{escape(_with_passage(item))}</p>" for item in report.diagnosis)
    body = cards.head(
        say(report.title), before=report.exercise, after=after, tone=_TONE[report.outcome]
    )
    body += cards.note(say(report.note)) + cards.rows(rows)
    body += f'<div class="fc-named">{named}</div>' if named else ""
    if report.departure is not None:
        call = f'fa.course.departure("{report.exercise}")'
        body += cards.foot(say(_TILE, departure=report.departure), call)
    forgiven = [("!", "miss", str(item), "") for item in report.warnings]
    if report.unchecked:
        forgiven.append(("○", "soft", say(report.unchecked), ""))
    body += cards.rows(forgiven)
    if report.printed:
        body += f'<p class="fc-soft">{escape(say(_PRINTED))}</p>'
        body += f'<pre class="fc-code">{escape(report.printed)}</pre>'
    if report.outcome == "not yet":
        call = f'fa.course.hint("{report.exercise}")'
        body += cards.foot(say(_HINT_NEXT, summary=report.summary), call)
    return Card(body, str(report))


def _with_passage(item: Diagnosis) -> str:
    if item.passage is None:
        return str(item)
    chapter, section = item.passage
    return f"{item} {say(_REREAD, chapter=chapter, section=say(section))}"


def hint_card(exercise_id: str, level: int, report: Report | None = None) -> Card:
    """One hint, with what the last report found, and how to get the next."""
    exercise, of = exercises.get(exercise_id), exercises.LEVELS
    text = exercises.hint(exercise_id, level, report)
    label = say(_HINT, level=level, of=of)
    if level < of:
        foot, call = say(_MORE), f'fa.course.hint("{exercise_id}")'
    else:
        foot, call = say(_LAST), f'fa.course.solution("{exercise_id}")'
    body = cards.head(say(exercise.title), before=f"{exercise_id} · {label}")
    first, _, lines = text.partition("\n")
    body += f'<p style="margin-top: 8px">{escape(first)}</p>'
    if level == of:
        body += f'<pre class="fc-code">{highlighted(lines)}</pre>'
    else:
        body += "".join(f"<p>{escape(line)}</p>" for line in lines.splitlines())
    body += cards.foot(foot, call)
    return Card(body, f"{exercise_id}  {label}\n{text}\n{foot} {call}")


def solution_card(exercise_id: str) -> Card:
    """The package's solution as a cell."""
    exercise, code = exercises.get(exercise_id), exercises.solved(exercise_id)
    call = f'fa.course.check("{exercise_id}", {exercise.entry})'
    body = cards.head(say(exercise.title), before=f"{exercise_id} · {say(_SOLUTION)}")
    body += f'<pre class="fc-code">{highlighted(code)}</pre>' + cards.foot(say(_AGAIN), call)
    text = f"{exercise_id}  {say(_SOLUTION)}\n{code}\n{say(_AGAIN)} {call}"
    if exercise.then:
        other = exercises.get(exercise.then)
        body += cards.foot(say(_THEN), f"{other.id}  {say(other.title)}")
        text += f"\n{say(_THEN)} {other.id}  {say(other.title)}"
    return Card(body, text)


def progress_card(standings: list[Standing]) -> Card:
    """A line for each chapter."""
    head = "".join(f"<th>{escape(say(c))}</th>" for c in _COLUMNS)
    lines, cells = [], []
    for s in standings:
        name = f"{s.chapter:02d} {say(TITLES[s.chapter])}"
        asked, set_ = f"{s.answered} / {s.questions}", f"{s.passed} / {s.exercises}"
        set_ = set_ if s.exercises else "–"
        cells.append(
            f"<tr><td>{escape(name)}</td><td>{asked}</td><td>{set_}</td>"
            f"<td>{cards.bar(s.done, s.total)}</td></tr>"
        )
        lines.append(f"{name}  {say(_COLUMNS[1])} {asked}  {say(_COLUMNS[2])} {set_}")
    table = f'<table class="fc-table"><tr>{head}</tr>{"".join(cells)}</table>'
    title = say(_PROGRESS)
    return Card(cards.head(title) + table, "\n".join([title, *lines]))
