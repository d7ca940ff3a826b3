"""The ladder of help: where, which invariant, which mistake, and the lines with blanks.

The first rungs name no mistake, because finding it is what an exercise is for.
"""

from __future__ import annotations

import ast

from ..language import Text, say
from . import cells
from .report import Report
from .spec import Exercise

LEVELS = 4
BLANK = "____"
_FAILS = Text("What fails first: {label}. {note}", "最先出错的是：{label}。{note}")
_WATCH = Text("See it happen: {widget}", "看它怎么发生：{widget}")
_REREAD = Text(
    "Read again: chapter {chapter:02d}, “{section}”.", "重读第 {chapter:02d} 章“{section}”。"
)
_UNNAMED = Text(
    "No check of this session has named a mistake, so here is the line to write:",
    "这次还没有检查认出具体的错误，所以直接给出要写的那一行：",
)
_BLANKS = Text("The lines, with their names left out:", "要写的代码，名字都空着：")


def hint(exercise: Exercise, level: int, report: Report | None = None) -> str:
    """Hint `level` of 1 to 4, with what the last report of this exercise found."""
    found = report if report is not None and report.outcome == "not yet" else None
    return {1: _where, 2: _invariant, 3: _mistake, 4: _lines}[level](exercise, found)


def _where(exercise: Exercise, report: Report | None) -> str:
    parts = []
    failed = [f for f in report.findings if f.status == "failed"] if report else []
    if report and failed:
        note = say(failed[0].note) or say(report.note)
        parts.append(say(_FAILS, label=failed[0].label, note=note).strip())
        if report.departure is not None:
            parts.append(str(report.departure))
    return "\n".join([*parts, say(exercise.hints[0])])


def _invariant(exercise: Exercise, report: Report | None) -> str:
    parts = [say(exercise.hints[1])]
    if exercise.widget:
        parts.append(say(_WATCH, widget=exercise.widget))
    if exercise.passage is not None:
        section = say(exercise.passage.section)
        parts.append(say(_REREAD, chapter=exercise.passage.chapter, section=section))
    return "\n".join(parts)


def _mistake(exercise: Exercise, report: Report | None) -> str:
    if report is not None and report.diagnosis:
        first = report.diagnosis[0]
        parts = [str(first)]
        if first.passage is not None:
            chapter, section = first.passage
            parts.append(say(_REREAD, chapter=chapter, section=say(section)))
        return "\n".join(parts)
    return f"{say(_UNNAMED)}\n{say(exercise.hints[-1])}"


def _lines(exercise: Exercise, report: Report | None) -> str:
    return f"{say(_BLANKS)}\n{blanked(exercise.id)}"


def blanked(exercise_id: str) -> str:
    """The lines of the solution with a blank for every variable that is read and every number."""
    code, parts = cells.solved(exercise_id), cells.solution_lines(exercise_id)
    lines = code.splitlines()
    tree = ast.parse(code)
    inside = {number for start, stop in parts for number in range(start, stop + 1)}
    holes = [
        (node.lineno, node.col_offset, node.end_col_offset or node.col_offset)
        for node in _read(tree)
        if node.lineno in inside and node.lineno == node.end_lineno
    ]
    for number, start, stop in sorted(holes, reverse=True):
        raw = lines[number - 1].encode()  # columns count bytes
        lines[number - 1] = (raw[:start] + BLANK.encode() + raw[stop:]).decode()
    shown: list[str] = []
    for start, stop in parts:
        shown += [*(["…"] if shown else []), *lines[start - 1 : stop]]
    indent = min((len(x) - len(x.lstrip()) for x in shown if x.strip() and x != "…"), default=0)
    return "\n".join(x[indent:] if x != "…" else x for x in shown)


def _read(tree: ast.Module) -> list[ast.expr]:
    """Names that are read as values, and numbers that are reckoned with.

    Left standing: functions, modules, subscripts, the tensors that are assigned into, axes.
    """
    skipped: set[int] = set()
    reckoned: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            skipped.add(id(node.func))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            modules = ("tl", "torch", "math", "triton", "fa")
            skipped |= {id(node.value)} if node.value.id in modules else set()
        if isinstance(node, ast.Subscript):
            skipped |= {id(x) for x in ast.walk(node.slice)}
            if isinstance(node.ctx, ast.Store):
                skipped.add(id(node.value))
        if isinstance(node, ast.BinOp):
            reckoned |= {id(node.left), id(node.right)}
    return [
        node
        for node in ast.walk(tree)
        if id(node) not in skipped
        and (
            (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
            or (isinstance(node, ast.Constant) and id(node) in reckoned)
        )
    ]
