"""A report as Markdown, as an HTML page of its own, and as lines for a terminal.

What a candidate wrote is text wherever it is shown, never markup.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..language import say, using
from ..quiz.markup import to_html, to_plain
from . import words as w

Report = Mapping[str, Any]
_COLON = {"en": ": ", "zh": "："}


def label(name: str, **fields: object) -> str:
    """One of the report's words in the language in force."""
    return say(w.LABELS[name], **fields)


def minutes(seconds: float) -> str:
    """Seconds as a clock shows them.

    Example:
        >>> minutes(754)
        '12:34'
    """
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


def summary(report: Report) -> str:
    """The report in one sentence."""
    with using(report["lang"]):
        if not report["questions"]:
            return label("nothing")
        return say(
            w.SUMMARY,
            score=report["score"],
            n=len(report["questions"]),
            used=minutes(report["seconds"]),
            minutes=report["minutes"],
        )


def blocked(report: Report) -> str:
    """What blocks "ready" whatever the score, "" if nothing does."""
    fatal = dict.fromkeys(text for row in report["topics"] for text in row["fatal"])
    with using(report["lang"]):
        joined = ("；" if report["lang"] == "zh" else "; ").join(fatal)
        return say(w.BLOCKED, texts=joined) if fatal else ""


def markdown(report: Report) -> str:
    """The report as a Markdown document."""
    with using(report["lang"]):
        lines = [f"# {label('report_title')}", "", f"{report['at'][:10]}", "", summary(report)]
        if blocked(report):
            lines += ["", f"**{blocked(report)}**"]
        if report["topics"]:
            lines += [
                "",
                f"## {label('by_topic')}",
                "",
                f"| {label('topics')} | {label('score')} | |",
            ]
            lines += ["|---|---:|---|"]
            lines += [
                f"| {row['name']} | {row['score']} | {say(w.ASKED, n=row['asked'])} |"
                for row in report["topics"]
            ]
        if report["reread"]:
            lines += ["", f"## {label('reread')}", ""]
            lines += [f"- {_chapter(row)}" for row in report["reread"]]
        for title, name in (("missed", "missing"), ("wrong", "wrong")):
            found = [(e, p) for e in report["questions"] for p in e[name]]
            if found:
                lines += ["", f"## {label(title)}", ""]
                lines += [_point(entry, point) for entry, point in found]
        if report["questions"]:
            lines += ["", f"## {label('questions')}"]
        for number, entry in enumerate(report["questions"], 1):
            lines += _question(number, entry)
        return "\n".join(lines).rstrip() + "\n"


def _chapter(row: Mapping[str, Any]) -> str:
    return f"{row['chapter']} {row['title']}".strip()


def tags(point: Mapping[str, Any]) -> list[str]:
    """What must be said beside a point: the contrary was said, fatal, or taken back."""
    names = ("otherwise", "elsewise", "fatal", "taken_back", "withdrawn")
    return [label(name) for name in names if point.get(name)]


def _point(entry: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    where = [*point["sections"], label("chapter", number=entry["chapter"])]
    said = f" “{_literal(point['quote'])}”" if point.get("quote") else ""
    marks = "".join(f" **({tag})**" for tag in tags(point))
    why = f" {point['why']}" if point["why"] else ""
    context = f"{point['context'].strip()} " if point.get("context") else ""
    return f"- {context}{point['text']}{marks}{said} ({'; '.join(where)}).{why}"


def _literal(text: str) -> str:
    """Somebody's own words inside Markdown: nothing in them is markup."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{c}" if c in "\\`*_[]#|" else c for c in escaped)


def _careful(entry: Mapping[str, Any]) -> list[str]:
    """What does not hold in the usual wording of points that were made."""
    return [said["careful"] for said in entry["said"] if said.get("careful")]


def _question(number: int, entry: Mapping[str, Any]) -> list[str]:
    colon = _COLON["zh" if label("yours") == w.LABELS["yours"].zh else "en"].strip()
    lines = ["", f"### {number}. {entry['prompt'].strip()}", ""]
    lines += [f"{entry['topic_name']} · {entry['score']} {label('of')}"]
    if entry["probe"] and entry["before"] != entry["score"]:
        lines += ["", say(w.HALVES, before=entry["before"], score=entry["score"])]
    for name, text in (
        ("yours", label("passed") if entry["passed"] else _literal(entry["answer"])),
        ("probed", _literal(entry["probe"]["answer"]) if entry["probe"] else ""),
        ("note", entry.get("note", "")),
        ("careful", " ".join(_careful(entry))),
        ("model", entry["model"]),
        ("explained", entry["explain"]),
        ("follow", entry["follow_up"]),
        ("follow_answer", entry.get("follow_up_answer", "")),
    ):
        if text:
            lines += ["", f"*{label(name)}{colon}* {text}"]
    return lines


def plain(report: Report) -> str:
    """The report as lines for a terminal: scores, what was missed, what was wrong."""
    with using(report["lang"]):
        lines = [label("report_title"), summary(report)]
        if blocked(report):
            lines += ["", f"✗ {to_plain(blocked(report))}"]
        if report["topics"]:
            lines += ["", label("by_topic")]
        for row in report["topics"]:
            bar = "█" * round(row["score"] / 5)
            lines.append(f"  {row['score']:>3}  {bar:<20}  {row['name']}")
        for title, name, mark in (("missed", "missing", "○"), ("wrong", "wrong", "✗")):
            found = [(e, p) for e in report["questions"] for p in e[name]]
            if not found:
                continue
            lines += ["", label(title)]
            for entry, point in found:
                where = [*point["sections"], label("chapter", number=entry["chapter"])]
                lines.append(f"  {mark} {to_plain(point['text'])}  [{'; '.join(where)}]")
                lines += [f"      {to_plain(point['context'])}"] if point.get("context") else []
                lines += [f"      {tag}" for tag in tags(point)]
                if point["why"]:
                    lines.append(textwrap.indent(to_plain(point["why"]), "      "))
        notes = [
            (number, e["note"]) for number, e in enumerate(report["questions"], 1) if e.get("note")
        ]
        lines += [
            line for number, note in notes for line in ("", f"{say(w.QUESTION, n=number)}: {note}")
        ]
        if report["reread"]:
            lines += ["", label("reread"), *(f"  {_chapter(row)}" for row in report["reread"])]
        return "\n".join(lines)


def page(report: Report) -> str:
    """The report as one HTML page: no script, nothing from elsewhere, light and dark."""
    with using(report["lang"]):
        style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
        tag = "zh-CN" if report["lang"] == "zh" else "en"
        title = html.escape(label("report_title"))
        return (
            f'<!doctype html>\n<html lang="{tag}">\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>\n{style}</style>\n<main>\n"
            f"<h1>{title}</h1>\n<p class='soft'>{report['at'][:10]}</p>\n{body(report)}\n</main>\n"
        )


def body(report: Report) -> str:
    """The inside of the page."""
    parts = [f"<p>{html.escape(summary(report))}</p>"]
    if blocked(report):
        parts.append(f'<p class="bad">✗ {to_html(blocked(report))}</p>')
    if report["topics"]:
        rows = "".join(
            f"<tr><td>{html.escape(row['name'])}</td><td class='bar'><i style='width:{row['score']}%'></i>"
            f"</td><td class='number'>{row['score']}</td>"
            f"<td class='soft'>{say(w.ASKED, n=row['asked'])}</td></tr>"
            for row in report["topics"]
        )
        parts.append(f"<h2>{label('by_topic')}</h2><table>{rows}</table>")
    if report["reread"]:
        items = "".join(f"<li>{html.escape(_chapter(row))}</li>" for row in report["reread"])
        parts.append(f"<h2>{label('reread')}</h2><ul>{items}</ul>")
    for title, name in (("missed", "missing"), ("wrong", "wrong")):
        found = [_point_html(e, p) for e in report["questions"] for p in e[name]]
        if found:
            parts.append(f"<h2>{label(title)}</h2><ul>{''.join(found)}</ul>")
    if report["questions"]:
        parts.append(f"<h2>{label('questions')}</h2>")
    parts += [_question_html(n, entry) for n, entry in enumerate(report["questions"], 1)]
    return "\n".join(parts)


def _point_html(entry: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    where = html.escape("; ".join([*point["sections"], label("chapter", number=entry["chapter"])]))
    said = f" <q>{html.escape(point['quote'])}</q>" if point.get("quote") else ""
    marks = "".join(f" <b class='bad'>{html.escape(tag)}</b>" for tag in tags(point))
    why = f"<br><span class='soft'>{to_html(point['why'])}</span>" if point["why"] else ""
    context = (
        f"<span class='soft'>{to_html(point['context'])}</span><br>" if point.get("context") else ""
    )
    return f"<li>{context}{to_html(point['text'])}{marks}{said} <small>{where}</small>{why}</li>"


def _question_html(number: int, entry: Mapping[str, Any]) -> str:
    answer = label("passed") if entry["passed"] else entry["answer"]
    rows = [("yours", html.escape(answer))]
    if entry["probe"]:
        rows.append(("probed", html.escape(entry["probe"]["answer"])))
    rows.append(("note", html.escape(entry.get("note", ""))))
    rows.append(("careful", to_html(" ".join(_careful(entry)))))
    rows.append(("model", to_html(entry["model"])))
    rows.append(("explained", to_html(entry["explain"])))
    rows.append(("follow", to_html(entry["follow_up"])))
    rows.append(("follow_answer", to_html(entry.get("follow_up_answer", ""))))
    cells = "".join(f"<dt>{label(name)}</dt><dd>{text}</dd>" for name, text in rows if text)
    halves = ""
    if entry["probe"] and entry["before"] != entry["score"]:
        halves = "<br>" + say(w.HALVES, before=entry["before"], score=entry["score"])
    head = f"{html.escape(entry['topic_name'])} · {entry['score']} {label('of')}{halves}"
    prompt = to_html(entry["prompt"])
    return (
        f"<section><h3>{number}. {prompt}</h3><p class='soft'>{head}</p><dl>{cells}</dl></section>"
    )
