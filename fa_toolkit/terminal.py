"""Quiz and exercise checks as a conversation in the terminal. Plain text where it is no terminal."""

from __future__ import annotations

import importlib.util
import inspect
import re
import shutil
import string
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console

from .errors import ArgumentError
from .language import Text, current, say

_CHAPTERS = Text("Chapters: fa quiz <number>", "各章：fa quiz <章号>")
_LINE = Text("{number:02d}  {title}  ({n} questions)", "{number:02d}  {title}（{n} 题）")
_NONE = Text("There are no questions yet.", "还没有题目。")
_KEYS = Text(
    "Enter alone: skip this question. q: leave; what you answered is kept.",
    "直接回车：跳过这题。q：退出，已答的都会保存。",
)
_PROMPTS = {
    "choice": Text("one letter", "一个字母"),
    "many": Text("letters, such as AC", "字母，如 AC"),
    "number": Text("number or formula", "数或算式"),
    "order": Text("letters in order, such as CAB", "按顺序写字母，如 CAB"),
    "match": Text("pairs, such as 1B 2A", "配对，如 1B 2A"),
    "text": Text("your answer, in one line", "答案，写成一行"),
}
_UNKNOWN = Text("{got} is not among the letters shown.", "{got} 不在列出的选项里。")
_UNREAD = Text("{got}: not read as {wanted}.", "{got}：请写成{wanted}。")
_ALREADY = Text("answered already, {score} of 100", "已经答过，{score} / 100")
_END = Text(
    "{answered} of {total} answered, mean {mean}.", "已答 {answered} / {total}，平均 {mean} 分。"
)
_END_NONE = Text("0 of {total} answered.", "已答 0 / {total}。")
_AT_LINE = Text(" in line {line} of {path}", "（{path} 第 {line} 行）")
_EXERCISES = Text("Exercises: fa check <id> <file.py>", "练习：fa check <编号> <文件.py>")

Ask = Callable[[str], str]
_MARKS = {"✓": "green", "○": "yellow", "?": "yellow", "✗": "red", "◐": "yellow"}


class Leave(Exception):  # noqa: N818  (not an error: the learner says so)
    """The learner leaves the quiz."""


def quiz(chapter: int | None, *, bank: Path | None = None, ask: Ask = input) -> int:
    """Ask the questions of a chapter that are still open, one after the other."""
    from .quiz import load_bank
    from .quiz.session import Session

    out = console()
    loaded = load_bank(bank)
    if chapter is None:
        out.print(say(_CHAPTERS if loaded.chapters else _NONE))
        for number, found in sorted(loaded.chapters.items()):
            title = say(Text(found.title.en, found.title.zh))
            out.print(say(_LINE, number=number, title=title, n=len(found.questions)))
        return 0
    record, restore, report = _memory(chapter) if bank is None else (None, None, None)
    ask_all(Session(chapter, bank=loaded, record=record, restore=restore, report=report), ask)
    return 0


def ask_all(session: Any, ask: Ask) -> None:
    """Ask what is still open of a session, show each verdict, and say how it went."""
    from .quiz.plain import question_text, verdict_text

    out = console()
    out.print(say(_KEYS), style="dim")
    try:
        for position in range(len(session.questions)):
            session.go(position)
            out.print()
            show(question_text(session, position), out)
            if session.verdict is not None:
                out.print(say(_ALREADY, score=session.verdict.score), style="dim")
                continue
            verdict = _until_judged(session, ask, out)
            if verdict is not None:
                out.print()
                shown = verdict_text(verdict)
                show(shown, out)
                if session.note and session.note not in shown:
                    out.print(session.note, style="yellow")
    except (Leave, EOFError):
        out.print()
    mean, answered = session.points
    end = _END if answered else _END_NONE
    out.print(say(end, answered=answered, total=len(session.questions), mean=mean), style="bold")


def show(text: str, out: Console) -> None:
    """Print lines, coloured by the mark they begin with where the terminal has colours."""
    for at, line in enumerate(text.splitlines()):
        style = _MARKS.get(line.strip()[:1], "bold" if at == 0 else "")
        for part in _broken(line, out):
            out.print(part, style=style or None)


def _broken(line: str, out: Console) -> list[str]:
    """A line in parts that fit the terminal and keep its margin."""
    if out.soft_wrap or len(line) <= out.width:
        return [line]
    margin = " " * (len(line) - len(line.lstrip()))
    further = margin + "  " * (line.strip()[:1] in _MARKS)
    return textwrap.wrap(
        line.strip(), out.width, initial_indent=margin, subsequent_indent=further,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _until_judged(session: Any, ask: Ask, out: Console) -> Any:
    """Ask again until an answer could be judged; None if the question was skipped."""
    while True:
        answer, problem = read_answer(session, ask)
        if problem:
            out.print(problem, style="yellow")
            continue
        if answer is None:
            return None
        verdict = session.answer(answer)
        if verdict.judged:
            return verdict
        out.print(verdict.note, style="yellow")


def read_answer(session: Any, ask: Ask) -> tuple[Any, str]:
    """The answer to the question in front as grading takes it, or what could not be read."""
    from .quiz.view import question_view

    question = session.question
    shown = question_view(question, session.lang, session)
    if question.kind == "trace":
        return _read_table(shown, ask), ""
    wanted = say(_PROMPTS[question.kind])
    line = _line(ask, f"{wanted} > ")
    if not line:
        return None, ""
    if question.kind in ("number", "text"):
        return line, ""
    keys = dict(zip(string.ascii_uppercase, _keys(shown, "options", "rights"), strict=False))
    if question.kind == "match":
        return _read_pairs(line, _keys(shown, "lefts"), keys, wanted)
    letters = [letter for letter in line.upper() if letter.isalnum()]
    wrong = [letter for letter in letters if letter not in keys]
    if not letters or (question.kind == "choice" and len(letters) > 1):
        return None, say(_UNREAD, got=line, wanted=wanted)
    if wrong:
        return None, say(_UNKNOWN, got=wrong[0])
    picked = [keys[letter] for letter in letters]
    return (picked[0] if question.kind == "choice" else picked), ""


def _read_table(shown: dict[str, Any], ask: Ask) -> dict[str, str] | None:
    """The cells one by one; None, as for any question, if nothing is written into the first."""
    from .quiz.plain import bare

    filled = {}
    first = True
    for row in shown["rows"]:
        for name, cell in zip(shown["columns"], row["cells"], strict=True):
            if "given" in cell:
                continue
            value = _line(ask, f"{bare(row['name'])}: {name} = ")
            if value:
                filled[cell["cell"]] = value
            elif first:
                return None
            first = False
    return filled


def _read_pairs(
    line: str, lefts: list[str], rights: dict[str, str], wanted: str
) -> tuple[Any, str]:
    pairs = {}
    for number, letter in re.findall(r"(\d+)\W*([A-Za-z])", line):
        if not 1 <= int(number) <= len(lefts) or letter.upper() not in rights:
            return None, say(_UNKNOWN, got=f"{number}{letter}")
        pairs[lefts[int(number) - 1]] = rights[letter.upper()]
    return (pairs, "") if pairs else (None, say(_UNREAD, got=line, wanted=wanted))


def _keys(shown: dict[str, Any], *groups: str) -> list[str]:
    return [option["key"] for group in groups for option in shown.get(group, ())]


def _line(ask: Ask, prompt: str) -> str:
    line = ask(prompt).strip()
    if line.lower() in ("q", "quit", "exit"):
        raise Leave
    return line


def check(exercise: str | None, target: str | None) -> int:
    """Check a solution in a file; 0 if it passed."""
    if target is not None:
        _file_of(target)  # before anything heavy is loaded
    from . import exercises
    from .course.memory import record_report

    out = console()
    if exercise is None:
        out.print(say(_EXERCISES))
        width = max(map(len, exercises.ids()))
        for known in exercises.ids():
            out.print(f"  {known:<{width}}  {say(exercises.get(known).title)}")
        return 0
    if exercise.endswith(".ipynb"):
        expected = Text("the id of an exercise, as 03.merge", "练习的编号，如 03.merge")
        hint = f"fa check --notebook {exercise}"
        raise ArgumentError("exercise", expected=expected, got=exercise, hint=hint)
    asked = exercises.get(exercise)
    if target is None:
        expected = Text("the Python file of your solution", "你的解答所在的 Python 文件")
        hint = f"fa check {exercise} solution.py"
        raise ArgumentError("file", expected=expected, got=Text("none", "没有"), hint=hint)
    fn = load_function(target, entry=asked.entry, triton=asked.needs_triton)
    report = exercises.check(exercise, fn)
    record_report(report)
    out.print(str(report))
    return 0 if report.outcome == "passed" else 1


def load_function(target: str, *, entry: str = "", triton: bool = False) -> Callable[..., Any]:
    """The function of `file.py:name`, else `entry`, else the only public one that `file.py` defines.

    Raises:
        ArgumentError: if there is no such file or function, it does not run, or there are several
            functions to choose from.
    """
    path, name = _file_of(target)
    module = _load(path, triton=triton)
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }
    public = [key for key in own if not key.startswith("_")]
    if not name:
        name = entry if entry in own else public[0] if len(public) == 1 else ""
    if name in own:
        return own[name]
    if not public:
        missing = name or entry or "…"
        raise ArgumentError(
            "file",
            expected=Text(f"a file that defines {missing}", f"定义了 {missing} 的文件"),
            got=Text(f"{path}, which defines no function", f"{path}，里面没有函数"),
        )
    raise ArgumentError(
        "file",
        expected=Text(
            f"one of its functions ({', '.join(public)})", f"其中的函数（{'、'.join(public)}）之一"
        ),
        got=target,
        hint=f"{path}:{public[0]}",
    )


def _file_of(target: str) -> tuple[Path, str]:
    """The file and, if `target` names one, the function.

    Raises:
        ArgumentError: if there is no such file.
    """
    path, _, name = target.rpartition(":") if re.search(r"\.py:\w+$", target) else (target, "", "")
    if not Path(path).is_file():
        raise ArgumentError(
            "file", expected=Text("a Python file that exists", "一个存在的 Python 文件"), got=path
        )
    return Path(path), name


def _load(path: Path, *, triton: bool) -> ModuleType:
    """Run the learner's file as a module of its own, kernels deciding their mode before Triton."""
    if triton:
        from . import kernels

        kernels.mode()
    spec = importlib.util.spec_from_file_location("fa_solution", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(
            "file", expected=Text("a Python file", "一个 Python 文件"), got=str(path)
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ArgumentError(
            "file",
            expected=Text("a file that Python can run", "能运行的 Python 文件"),
            got=f"{type(error).__name__}{_line_of(error, path)}: {error}",
        ) from error
    return module


def _line_of(error: BaseException, path: Path) -> str:
    """Where in the learner's file it happened; a syntax error says so itself."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return say(_AT_LINE, path=path, line=lines[-1]) if lines else ""


def console() -> Console:
    """Prints texts as they are. Chinese is broken by the terminal, which knows where it may be; what
    goes into a file or a pipe is not broken at all.
    """
    whole = current() == "zh" or not sys.stdout.isatty()
    return sized(Console(highlight=False, markup=False, soft_wrap=whole))


def sized(made: Console) -> Console:
    """With a width also where COLUMNS is 0, by which terminals say that they do not know it."""
    if made.width < 1:
        made.width = shutil.get_terminal_size().columns
    return made


def _memory(chapter: int) -> tuple[Any, Any, Any]:
    """How answers are kept and found again: the same store the notebooks use."""
    from .progress import store

    kept = store()
    return kept.record, lambda: kept.latest(chapter, kind="quiz"), kept.note_said
