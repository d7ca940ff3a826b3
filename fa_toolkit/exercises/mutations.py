"""Single mistakes made in a solution's own text: every edit, and the words that name it.

Text in, texts out; `mutants` runs them. An edit is one slip of a competent writer: a name taken for
another of its kind, an axis, a comparison, a mask or a factor left out, two lines in the wrong order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..language import Text
from .mutation_nodes import Cell, Edit, kind_of, of_node, own_nodes
from .mutation_words import CALLS, KINDS, place_of, said


@dataclass(frozen=True)
class Mutation:
    """One edit: its kind, the words that name it, and the whole text after it."""

    kind: str
    text: Text
    source: str


def mutations(source: str, lines: Iterable[int]) -> list[Mutation]:
    """Every single edit of the given lines, the likelier kinds first; texts that differ only.

    Args:
        source: a cell.
        lines: numbers of the lines that may be edited, from 1.
    """
    cell = Cell(source, lines)
    found: dict[str, Mutation] = {}
    for statement in _statements(cell.tree):
        if statement.lineno not in cell.lines:
            continue
        place = place_of(statement)
        for edit in _of_statement(cell, statement):
            made = cell.applied(edit)
            if _parses(made):
                text = Text(place.en.format(edit.what.en), place.zh.format(edit.what.zh))
                found.setdefault(made, Mutation(edit.kind, text, made))
    for edit in _everywhere(cell):
        made = cell.applied(edit)
        if _parses(made):
            found.setdefault(made, Mutation(edit.kind, edit.what, made))
    found.pop(source, None)
    return sorted(found.values(), key=lambda m: KINDS.index(m.kind))


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            yield node


def _of_statement(cell: Cell, statement: ast.stmt) -> Iterator[Edit]:
    yield from _whole(cell, statement)
    for node in own_nodes(statement):
        yield from of_node(cell, node)


def _whole(cell: Cell, statement: ast.stmt) -> Iterator[Edit]:
    """The statement itself: left out, not added, done before the one above."""
    at, end = cell.span(statement)
    if isinstance(statement, ast.AugAssign):
        target, value = cell.text(statement.target), cell.text(statement.value)
        for sign, what in (("=", "overwritten"), ("-=", "subtracted")):
            yield Edit("statement", said(what), ((at, end, f"{target} {sign} {value}"),))
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield Edit("statement", said("left-out"), ((at, end, "pass"),))
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        yield from _value(cell, statement)
    if isinstance(statement, ast.If):
        for new, what in (("True", "always"), ("False", "never")):
            span = ((*cell.span(statement.test), new),)
            yield Edit("statement", said(what, a=cell.text(statement.test)), span)
    for later in _following(cell.tree, statement)[:3]:
        if isinstance(statement, ast.Assign) and isinstance(later, (ast.Assign, ast.AugAssign)):
            below = cell.span(later)
            moved = ((at, end, cell.text(later)), (*below, cell.text(statement)))
            yield Edit("order", said("order", a=_first_name(later)), moved)
            after = below[1]
            indent = b"\n" + b" " * statement.col_offset
            late = ((at, end, "pass"), (after, after, (indent + cell.raw[at:end]).decode()))
            yield Edit("order", said("order", a=_first_name(later)), late)


def _value(cell: Cell, statement: ast.Assign | ast.AugAssign) -> Iterator[Edit]:
    """What is worked out, rounded to half precision, or with a scale it never met."""
    at, end = cell.span(statement.value)
    text, kernel = cell.text(statement.value), "tl" in cell.source
    if isinstance(statement.value, (ast.Tuple, ast.Constant)) or "_ptr" in text.split("(")[0]:
        return
    half = ".to(tl.float16).to(tl.float32)" if kernel else ".half().float()"
    yield Edit("coarse", said("half"), ((at, end, f"({text}){half}"),))
    if "scale" in cell.names:
        yield Edit("extra", said("extra", gone="scale"), ((at, end, f"({text}) * scale"),))


def _first_name(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target  # type: ignore[attr-defined]
    return ast.unparse(target).strip("()")


def _following(tree: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    for node in ast.walk(tree):
        for block in ("body", "orelse"):
            inside = getattr(node, block, None)
            if isinstance(inside, list) and statement in inside:
                return list(inside[inside.index(statement) + 1 :])
    return []


def _everywhere(cell: Cell) -> Iterator[Edit]:
    """The same slip in every place: another function, another axis, the strides of another tensor."""
    nodes = [n for n in ast.walk(cell.tree) if getattr(n, "lineno", 0) in cell.lines]
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    for name, news in CALLS.items():
        used = [cell.span(c.func) for c in calls if c.func.attr == name]  # type: ignore[attr-defined]
        for new in news if len(used) > 1 else ():
            spans = tuple((end - len(name), end, new) for _, end in used)
            yield Edit("everywhere", said("everywhere", a=new, b=name), spans)
    axes = [k.value for n in calls for k in n.keywords if k.arg in ("axis", "dim")]
    for old, new in (("1", "0"), ("0", "1"), ("-1", "-2")):
        spans = tuple((*cell.span(a), new) for a in axes if cell.text(a) == old)
        if len(spans) > 1:
            yield Edit("everywhere", said("axes", a=new, b=old), spans)
    names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    yield from _strides(cell, names)
    for old in sorted({n.id for n in names} & cell.names):
        uses = [n for n in names if n.id == old]
        if not 1 < len(uses) <= _FEW:
            continue
        for other in sorted(cell.near(uses[0]) - {old}):
            if kind_of(other) & kind_of(old):
                spans = tuple((*cell.span(n), other) for n in uses)
                yield Edit("everywhere", said("everywhere", a=other, b=old), spans)


#: A name that is read more often than this is not taken for another in every place.
_FEW = 4


def _strides(cell: Cell, names: list[ast.Name]) -> Iterator[Edit]:
    """All strides of one tensor taken from another, or its last two swapped."""
    own = sorted(x for x in cell.names if x.startswith("stride_"))
    tensors = sorted({x[7:-1] for x in own})
    for one in tensors:
        mine = [n for n in names if n.id.startswith(f"stride_{one}") and n.id[7:-1] == one]
        for other in tensors:
            news = [f"stride_{other}{n.id[-1]}" for n in mine]
            if other != one and mine and all(x in own for x in news):
                spans = tuple((*cell.span(n), x) for n, x in zip(mine, news, strict=True))
                yield Edit("stride", said("strides-of", a=other, b=one), spans)
        axes = sorted({x[-1] for x in own if x[7:-1] == one})
        for i, a in enumerate(axes):
            for b in axes[i + 1 :]:
                turn = {
                    f"stride_{one}{a}": f"stride_{one}{b}",
                    f"stride_{one}{b}": f"stride_{one}{a}",
                }
                spans = tuple((*cell.span(n), turn[n.id]) for n in mine if n.id in turn)
                if spans:
                    yield Edit("stride", said("strides-swapped", a=one), spans)
