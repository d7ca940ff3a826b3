"""Review, mock interview and progress as a conversation in the terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import ArgumentError, BackendUnavailable, StoreError
from .language import Text, say
from .terminal import Ask, Leave, ask_all, console, read_answer, show

_DUE = Text("{n} due.", "{n} 道到期。")
_INTRO = Text(
    "{minutes} minutes. Enter alone: pass. q: end now and see the report.",
    "{minutes} 分钟。直接回车：跳过。q：现在结束并看报告。",
)
_TIME = Text("[{left} left]", "[剩余 {left}]")
_LATE = Text("[time is up: finish this answer]", "[时间到：答完这一题]")
_SAVED = Text("Report written to {path}.", "报告已写入 {path}。")
_ENDINGS = Text("a new file ending in .md or .html", "以 .md 或 .html 结尾的新文件")
_FOLDER = Text("a folder that exists and can be written", "存在并且可写的文件夹")
_AT_LEAST_ONE = Text("a number of questions, 1 or more", "题数，至少 1")
_CONFIRM = Text(
    'This forgets every answer, {n} in all, for good. Type "{phrase}" to go on: ',
    "这会把 {n} 条作答全部删除，无法恢复。要继续请输入“{phrase}”：",
)
_FORGOTTEN = Text("Answers forgotten: {n}.", "已删除 {n} 条作答。")
_KEPT = Text("Nothing was forgotten.", "什么都没有删除。")


def review(limit: int, *, by: str | None = None, ask: Ask = input) -> int:
    """Ask the questions that are due, likeliest forgotten first.

    Args:
        by: the day of an interview, kept from now on; "none" forgets it.

    Raises:
        ArgumentError: if it is no day to come, or `limit` no number of questions.
    """
    if limit < 1:
        raise ArgumentError("--limit", expected=_AT_LEAST_ONE, got=str(limit))
    from .course.memory import store
    from .course.rehearsal import REVIEW, due, nothing_due, plan_by
    from .quiz import load_bank
    from .quiz.session import Session

    out = console()
    if by is not None:
        out.print(plan_by(None if by == "none" else by))
    planned, found = due(limit)
    if not found:
        out.print(nothing_due(planned))
        return 0
    out.print(say(_DUE, n=len(found)), style="bold")
    kept, items = store(), [one.item for one in found]
    session = Session(
        load_bank().chapter_of(items[0]).number,
        only=items,
        title=REVIEW,
        record=kept.record,
        report=kept.note_said,
        learner=str(kept.learner),
    )
    ask_all(session, ask)
    return 0


def interview(
    minutes: int,
    topics: Sequence[str],
    level: str,
    *,
    save: Path | None = None,
    everything: bool = False,
    ask: Ask = input,
    **options: Any,
) -> int:
    """Hold a mock interview and print its report.

    Args:
        everything: ask about all chapters, not only about those that were opened.

    Raises:
        ArgumentError, UnknownNameError: if there is no such interview, before it begins.
        StoreError: if the report cannot be written.
    """
    from .course.rehearsal import interview_state, plan
    from .interview import export

    if save is not None:
        save = save.expanduser()
        _can_be_saved(save)
    out, held = console(), interview_state(**options)
    chapters = () if everything else held.opened
    held.start(plan(minutes, topics, level, held.bank, chapters))
    out.print(say(_INTRO, minutes=minutes), style="dim")
    try:
        while held.phase == "asking":
            _one(held, ask, out)
    except (Leave, EOFError, KeyboardInterrupt):
        out.print()
        held.finish()
    out.print()
    show(export.plain(held.report()), out)
    if save is not None:
        made = export.page if save.suffix == ".html" else export.markdown
        _write(save, made(held.report()))
        out.print(say(_SAVED, path=save), style="dim")
    return 0


def _one(held: Any, ask: Ask, out: Any) -> None:
    """One question, asked until its answer can be read or it is let pass."""
    from .interview import export
    from .interview.report import lead
    from .interview.view import view
    from .quiz.markup import to_plain
    from .quiz.plain import asked_text

    turn = held.turn
    out.print()
    meta = " · ".join(view(held)["question"]["meta"])
    out.print(f"{meta}  {_clock(held, export.minutes)}", style="dim")
    if lead(turn):
        out.print(to_plain(lead(turn)), style="bold" if turn.probe else "dim")
    if not turn.probe:
        show(asked_text(held.question, held.lang, held, ""), out)
    while held.turn is turn:
        answer, problem = read_answer(held, ask)
        if problem:
            out.print(problem, style="yellow")
        elif answer is None:
            held.skip()
        elif not held.answer(answer) or held.note:
            out.print(held.note, style="yellow")


def _clock(held: Any, shown: Any) -> str:
    return say(_TIME, left=shown(held.left)) if held.left > 0 else say(_LATE)


def _can_be_saved(path: Path) -> None:
    """Refuse a place for the report before there is one.

    Raises:
        ArgumentError: naming the file or its folder.
    """
    if path.suffix not in (".md", ".html") or path.exists():
        raise ArgumentError("--save", expected=_ENDINGS, got=str(path))
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise ArgumentError("--save", expected=_FOLDER, got=str(path.parent))


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(str(path), expected=_ENDINGS, got=str(error)) from error


def progress() -> int:
    """What was answered so far, a line for each chapter, and how ready that makes."""
    from .progress import store

    out, summary = console(), store().summary()
    out.print(str(summary))
    if any(chapter.questions for chapter in summary.chapters):
        from .course.rehearsal import standing
        from .course.standing import readiness_text

        try:
            topics = standing()
        except BackendUnavailable:  # the summary needs no schedule
            return 0
        out.print()
        show(readiness_text(topics), out)
    return 0


def carry(*, to: Path | None = None, source: Path | None = None) -> int:
    """Export to a new file, or import from one."""
    from .course import keeping

    card = keeping.exported(str(to)) if to is not None else keeping.imported(str(source))
    console().print(card.text)
    return 0


def reset(*, sure: bool = False, ask: Ask = input) -> int:
    """Forget every answer, after the learner typed what that means; 1 if they did not."""
    from .course.keeping import phrase
    from .progress import store

    out, kept, wanted = console(), store(), phrase()
    if not sure:
        try:
            typed = ask(say(_CONFIRM, n=len(kept.attempts()), phrase=wanted))
        except EOFError:
            typed = ""
        if typed.strip() != wanted:
            out.print(say(_KEPT))
            return 1
    out.print(say(_FORGOTTEN, n=kept.reset()))
    return 0
