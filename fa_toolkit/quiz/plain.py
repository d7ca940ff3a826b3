"""Questions and verdicts as text: for a terminal, and where widgets cannot run. Holds no keys."""

from __future__ import annotations

import html
import textwrap

from ..language import Language, say, using
from . import wording as w
from .markup import to_html, to_plain
from .models import Question
from .session import Session
from .verdict import Verdict
from .view import JSON, question_view


def question_text(session: Session, position: int, lang: Language | None = None) -> str:
    """One question as text, options lettered, without its answer."""
    lang = lang or session.lang
    return asked_text(session.questions[position], lang, session, f"{position + 1}. ")


def asked_text(question: Question, lang: Language, session: Session, lead: str = "   ") -> str:
    """A question as text behind a lead of three columns."""
    with using(lang):
        shown = question_view(question, lang, session)
    lines = [textwrap.indent(to_plain(question.prompt[lang]), "   ").replace("   ", lead, 1)]
    lines += [f"   {line}" for line in _lines(shown)]
    return "\n".join(lines)


def _lines(shown: JSON) -> list[str]:
    letters = "ABCDEFGHIJ"
    lines = [
        f"{letter}  {bare(option['html'])}"
        for letter, option in zip(letters, shown.get("options", ()), strict=False)
    ]
    for at, left in enumerate(shown.get("lefts", ())):
        lines.append(f"{at + 1}  {bare(left['html'])}")
    for letter, right in zip(letters, shown.get("rights", ()), strict=False):
        lines.append(f"{letter}  {bare(right['html'])}")
    for row in shown.get("rows", ()):
        cells = zip(shown["columns"], row["cells"], strict=True)
        filled = ", ".join(f"{name} = {cell.get('given', '…')}" for name, cell in cells)
        lines.append(f"{bare(row['name'])}: {filled}")
    if shown.get("unit"):
        lines.append(f"[{shown['unit']}]")
    return lines


def bare(marked: str) -> str:
    """A piece of a question's view, which is safe HTML, as plain text."""
    for tag in ("code", "strong"):
        marked = marked.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return html.unescape(marked.replace("<br>", " "))


def quiz_text(session: Session) -> str:
    """All questions as text, without answers."""
    with using(session.lang):
        head = say(
            w.PLAIN_HEAD,
            title=session.chapter.title[session.lang],
            n=len(session.questions),
        )
    texts = [question_text(session, at) for at in range(len(session.questions))]
    return "\n\n".join([to_plain(head), *texts])


def quiz_html(session: Session) -> str:
    """All questions as a static page part, without answers and without scripts."""
    with using(session.lang):
        head = say(
            w.PLAIN_HEAD,
            title=session.chapter.title[session.lang],
            n=len(session.questions),
        )
        items = []
        for question in session.questions:
            shown = question_view(question, session.lang, session)
            lines = "".join(f"<li>{html.escape(line)}</li>" for line in _lines(shown))
            items.append(f"<li><div>{shown['prompt']}</div><ul>{lines}</ul></li>")
    tag = "zh-CN" if session.lang == "zh" else "en"
    return f'<div lang="{tag}"><p>{to_html(head)}</p><ol>{"".join(items)}</ol></div>'


def verdict_text(verdict: Verdict) -> str:
    """A verdict as text, in the order of the card."""
    if not verdict.judged:
        return verdict.note
    if "quotes" in verdict.details:
        return _written_text(verdict)
    with using(verdict.lang):
        lines = [say(w.HEADLINES[verdict.outcome])]
        for mark, items in (
            ("✓", verdict.credited),
            ("○", verdict.missing),
            ("✗", (*verdict.contradicted, *verdict.misconceptions)),
        ):
            for item in items:
                lines.append(f"{mark} {to_plain(item.text)}")
                if item.why:
                    lines.append(f"  {to_plain(item.why)}")
        lines += ["", to_plain(verdict.explain), ""]
        for cited in verdict.citations:
            lines.append(f"{cited.id} · {cited.section} · {say(w.CLAIM_VERDICTS[cited.verdict])}")
            lines.append(f"  {to_plain(cited.says)}")
            if cited.self_corrected:
                lines.append(f"  {say(w.SELF_CORRECTED)}")
            if cited.caveat:
                lines.append(f"  {say(w.LABELS['caveat'])}{say(w.COLON)}{to_plain(cited.caveat)}")
        for paper in verdict.papers:
            lines.append(f"{say(w.LABELS['papers'])}{say(w.COLON)}{paper}")
        lines += ["", f"{verdict.score} {say(w.OF_100)}{say(w.COLON)}{verdict.arithmetic}"]
        if verdict.follow_up:
            lines += _follow_up(verdict)
    return "\n".join(lines)


def _follow_up(verdict: Verdict) -> list[str]:
    """What could be asked next, and below it what a good answer says."""
    return [
        f"{say(w.LABELS['follow'])}{say(w.COLON)}{to_plain(verdict.follow_up)}",
        f"  {say(w.LABELS['follow_answer'])}{say(w.COLON)}{to_plain(verdict.follow_up_answer)}",
    ]


def _written_text(verdict: Verdict) -> str:
    """A verdict on a written answer: points and quotes first, the number last."""
    details, label = verdict.details, w.LABELS
    quotes = details["quotes"]
    with using(verdict.lang):
        lines = [say(w.HEADLINES[verdict.outcome])]
        for heading, mark, items in (
            ("detected", "✓", verdict.credited),
            ("lacking", "○", verdict.missing),
            ("wrong_ideas", "✗", (*verdict.contradicted, *verdict.misconceptions)),
        ):
            if items:
                lines += ["", say(label[heading])]
            for item in items:
                contrary = f" ({say(label['otherwise'])})" if item in verdict.contradicted else ""
                lines.append(f"{mark} {to_plain(item.text)}{contrary}")
                if item.id in details.get("raised", ()):
                    lines.append(f"  {say(w.FOUND_BY, model=details['model_named'])}")
                if mark != "○" and quotes.get(item.id):
                    lines.append(f"  “{quotes[item.id]}”")
                if mark == "✓" and details.get("careful", {}).get(item.id):
                    lines.append(f"  {to_plain(details['careful'][item.id])}")
                if mark != "✓":
                    cited = ", ".join(item.claims)
                    lines.append(f"  {to_plain(item.why)}" + (f" [{cited}]" if cited else ""))
        for asked in details["asked"]:
            quote, text = quotes[asked["id"]], to_plain(asked["text"])
            lines += ["", f"? {say(label['ask_back'])}{say(w.COLON)}{text}", f"  “{quote}”"]
        lines += ["", say(label["model"]), f"  {to_plain(details['model'])}"]
        lines += ["", say(label["listens"]), f"  {to_plain(details['listens'])}"]
        if verdict.follow_up:
            lines += ["", *_follow_up(verdict)]
        lines += ["", f"{verdict.score} {say(w.OF_100)}{say(w.COLON)}{verdict.arithmetic}"]
        lines += [
            note for note in (verdict.note, say(label["fatal"]) if details["fatal"] else "") if note
        ]
    return "\n".join(lines)
