"""A parsed cell, the edits of one expression in it, and their words. `mutations` collects them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..language import Text
from .mutation_words import CALLS, COMPARISONS, CONSTANTS, COUNTS, OPERATORS, put, said


@dataclass(frozen=True)
class Edit:
    kind: str
    what: Text
    spans: tuple[tuple[int, int, str], ...]  # byte range, and what stands there instead


class Cell:
    """A parsed cell, and which part of it the learner writes."""

    def __init__(self, source: str, lines: Iterable[int]) -> None:
        self.source, self.raw, self.tree = source, source.encode(), ast.parse(source)
        starts = [0]
        for line in self.raw.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts, self.lines = starts, set(lines)
        self.names = _names(self.tree)
        functions = [n for n in self.tree.body if isinstance(n, ast.FunctionDef)]
        self.scopes = [(f.lineno, f.end_lineno or f.lineno, _names(f)) for f in functions]

    def span(self, node: ast.AST) -> tuple[int, int]:
        at = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return at, end

    def near(self, node: ast.AST) -> set[str]:
        """Names of the function that a node is in."""
        line = node.lineno  # type: ignore[attr-defined]
        return next((names for a, b, names in self.scopes if a <= line <= b), self.names)

    def text(self, node: ast.AST) -> str:
        at, end = self.span(node)
        return self.raw[at:end].decode()

    def applied(self, edit: Edit) -> str:
        raw = self.raw
        for at, end, new in sorted(edit.spans, reverse=True):
            raw = raw[:at] + new.encode() + raw[end:]
        return raw.decode()


def _names(tree: ast.AST) -> set[str]:
    found = {a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in n.args}
    return found | {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Everything in a statement but the statements inside it."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        todo += [x for x in ast.iter_child_nodes(node) if not isinstance(x, ast.stmt)]


def of_node(cell: Cell, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _renamed(cell, node)
    elif isinstance(node, ast.Constant):
        yield from _constant(cell, node)
    elif isinstance(node, ast.BinOp):
        yield from _operator(cell, node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _comparison(cell, node)
    elif isinstance(node, ast.Call):
        yield from _call(cell, node)
    elif isinstance(node, ast.Subscript):
        yield from _subscript(cell, node)
    elif isinstance(node, ast.Attribute) and node.attr == "float32":
        yield _replaced(cell, "coarse", node, cell.text(node).replace("float32", "float16"))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        yield _lost(cell, node, node.operand, "sign")
        if "inf" in cell.text(node.operand):
            for new in ("0.0", "-1e9", "-1e4"):
                yield _replaced(cell, "fill", node, new)
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load):
        yield _swapped(cell, node.elts[0], node.elts[1])


def _replaced(cell: Cell, kind: str, node: ast.AST, new: str) -> Edit:
    return Edit(kind, put(new, cell.text(node)), ((*cell.span(node), new),))


def _lost(cell: Cell, node: ast.AST, kept: ast.AST, kind: str = "missing") -> Edit:
    """`kept` stands alone where `node` was."""
    whole, part = cell.span(node), cell.span(kept)
    text = cell.raw[part[0] : part[1]].decode()
    if isinstance(kept, (ast.BinOp, ast.Compare, ast.IfExp)):
        text = f"({text})"
    gone = (cell.raw[whole[0] : part[0]] + b" ... " + cell.raw[part[1] : whole[1]]).decode()
    gone = " ".join(gone.split()).removeprefix("... ").removesuffix(" ...")
    return Edit(kind, said("missing", gone=gone), ((*whole, text),))


def _swapped(cell: Cell, left: ast.AST, right: ast.AST) -> Edit:
    a, b = cell.text(left), cell.text(right)
    spans = ((*cell.span(left), b), (*cell.span(right), a))
    return Edit("swapped", said("swapped", a=a, b=b), spans)


def _renamed(cell: Cell, node: ast.Name) -> Iterator[Edit]:
    for other in sorted(cell.near(node) - {node.id}):
        if stride_of(other) and stride_of(node.id):
            (a, b), (c, d) = stride_of(other), stride_of(node.id)
            if a == c or b == d:
                yield _replaced(cell, "stride", node, other)
        elif kind_of(other) & kind_of(node.id):
            yield _replaced(cell, "name", node, other)


def stride_of(name: str) -> tuple[str, ...]:
    """The tensor and the axis of a stride's name; nothing for other names."""
    found = re.fullmatch(r"stride_(\w+)(\w)", name)
    return found.groups() if found else ()


#: Names that are taken for each other.
_GROUPS = (
    r".*mask.*|seen|inside|visible|hidden", r".*_ptr", r"at|kv|tile|rows|cols",
    r"offs.*|cols|rows|row|col_k|row_k|keys|over|t|page|heads", r"start_?\w*|row|rows|cols|offs_n",
    r"len_[qk]|[MNKDSR]|size|cols|length|BLOCK.*|block\w*|stop\w*", r"window|splits|width|length",
    r"pid_\w+|b|h|h_kv|HEADS_\w+|GROUP|group", r"last|first|low", r"q|k|v|do|o|x|y|a|b",
    r"s|p|ds|dp", r"acc|o|out|parts|outs", r"dk|dv|dq", r"m_i|m_new|pivot|m|m_old",
    r"l_i|l|total|seen", r"alpha|w|p", r"lse|lses|delta|m|l", r"stop\w*|last|len_k",
    r"layers|heads_q|heads_kv|head_dim|tokens|itemsize|flops|moved|held|scores|softmax|output",
)  # fmt: skip


def kind_of(name: str) -> set[int]:
    return {i for i, group in enumerate(_GROUPS) if re.fullmatch(group, name)}


def _constant(cell: Cell, node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if type(value) is int:
        for new in dict.fromkeys((*COUNTS.get(value, ()), value + 1, value - 1)):
            yield _replaced(cell, "constant", node, str(new))
    elif type(value) is float:
        others = CONSTANTS.get(value, ("0.0", '-float("inf")'))
        for other in others:
            yield _replaced(cell, "constant", node, other)
    elif value is True or value is False:
        yield _replaced(cell, "constant", node, str(not value))


def _operator(cell: Cell, node: ast.BinOp) -> Iterator[Edit]:
    left, right = cell.span(node.left), cell.span(node.right)
    sign = cell.raw[left[1] : right[0]].decode()
    for old, news in OPERATORS.items():
        if sign.strip(" ()\n") == old:
            for new in news:
                edit = ((left[1], right[0], sign.replace(old, new)),)
                yield Edit("operator", put(new, old), edit)
    yield _lost(cell, node, node.left)
    yield _lost(cell, node, node.right)
    if isinstance(node.op, ast.Add):
        yield from _factor_moved(cell, node)
    if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult)):
        yield _swapped(cell, node.left, node.right)
    if isinstance(node.op, ast.Mult):
        for factor in (node.left, node.right):
            text, end = cell.text(factor), cell.span(node)[1]
            twice = said("twice", gone=text)
            yield Edit("twice", twice, ((end, end, f" * ({text})"),))


def _factor_moved(cell: Cell, node: ast.BinOp) -> Iterator[Edit]:
    """The factor of the old sum on the new terms, or on both."""
    for old, new in ((node.left, node.right), (node.right, node.left)):
        if isinstance(old, ast.BinOp) and isinstance(old.op, ast.Mult):
            a, b, c = cell.text(old.left), cell.text(old.right), cell.text(new)
            for made, key in (
                (f"{a} + ({c}) * {b}", "on-the-new"),
                (f"({a} + {c}) * {b}", "on-both"),
            ):
                yield Edit("moved", said(key, gone=b), ((*cell.span(node), made),))


def _comparison(cell: Cell, node: ast.Compare) -> Iterator[Edit]:
    left, right = cell.span(node.left), cell.span(node.comparators[0])
    sign = cell.raw[left[1] : right[0]].decode()
    for new in COMPARISONS.get(sign.strip(), ()):
        edit = ((left[1], right[0], f" {new} "),)
        yield Edit("comparison", put(new, sign.strip()), edit)


def _call(cell: Cell, node: ast.Call) -> Iterator[Edit]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = node.func.id if isinstance(node.func, ast.Name) else name
    for new in CALLS.get(name, ()):
        end = cell.span(node.func)[1]
        changed = ((end - len(name), end, new),)
        yield Edit("function", put(new, name), changed)
    if name == "where":
        yield _swapped(cell, node.args[1], node.args[2])
    elif len(node.args) == 2 and name not in ("full", "zeros", "arange", "empty"):
        yield _swapped(cell, node.args[0], node.args[1])
    if name not in ("load", "store", "arange", "zeros", "full", "range", "program_id"):
        for argument in node.args[-2:] if name == "where" else node.args:
            yield _lost(cell, node, argument)
    if name in ("to", "long", "float", "double") and isinstance(node.func, ast.Attribute):
        yield _lost(cell, node, node.func.value)
    yield from _keywords(cell, node, name)
    if name == "range":
        yield from _range(cell, node)
    if name in ("dot", "zeros"):
        yield from _coarse(cell, node, name)


def _keywords(cell: Cell, node: ast.Call, name: str) -> Iterator[Edit]:
    for keyword in node.keywords:
        if name in ("load", "store") and keyword.arg == "mask":
            gone = [k for k in node.keywords if k.arg in ("mask", "other")]
            at = min(cell.span(k)[0] for k in gone)
            end = max(cell.span(k)[1] for k in gone)
            at = cell.raw.rindex(b",", 0, at)
            which = {"load": "no-mask-load", "store": "no-mask-store"}[name]
            yield Edit("mask", said(which), ((at, end, ""),))
        if keyword.arg == "other":
            value = cell.text(keyword.value)
            for new in ("0.0", "1.0", '-float("inf")'):
                if new != value:
                    span = ((*cell.span(keyword.value), new),)
                    yield Edit("fill", said("fill", a=new, b=value), span)
        if keyword.arg in ("axis", "dim") and isinstance(keyword.value, ast.Constant):
            value = cell.text(keyword.value)
            flipped = {"0": ("1",), "1": ("0",), "-1": ("-2",)}.get(value, ())
            for new in flipped:
                span = ((*cell.span(keyword.value), new),)
                yield Edit("axis", said("axis", a=new, b=value), span)


def _range(cell: Cell, node: ast.Call) -> Iterator[Edit]:
    if len(node.args) < 3:
        return
    start, stop, step = node.args
    (_, end), (first, last), by = cell.span(stop), cell.span(start), cell.text(step)
    yield Edit("loop", said("one-step-less"), ((end, end, f" - {by}"),))
    yield Edit(
        "loop", said("whole-steps"), ((*cell.span(stop), f"({cell.text(stop)}) // {by} * {by}"),)
    )
    yield Edit("loop", said("one-step-late"), ((first, last, by),))


def _coarse(cell: Cell, node: ast.Call, name: str) -> Iterator[Edit]:
    """A product whose operand, or a sum that, is kept in half precision."""
    if name == "dot":
        at, end = cell.span(node.args[0])
        text = cell.text(node.args[0])
        both = ((at, end, f"({text}).to(tl.float16).to(tl.float32)"),)
        yield Edit("coarse", said("half-operand", a=text), both)


def _subscript(cell: Cell, node: ast.Subscript) -> Iterator[Edit]:
    text = cell.text(node)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        tensors = sorted(cell.near(node) & {"q", "k", "v", "pages", "outs", "o", "do"})
        for new in (f"{t}.shape[{i}]" for t in tensors for i in (-1, -2)):
            yield _replaced(cell, "size", node, new)
    for old, new in (("[:, None]", "[None, :]"), ("[None, :]", "[:, None]")):
        if text.endswith(old):
            end = cell.span(node)[1]
            span = ((end - len(old), end, new),)
            yield Edit("broadcast", put(new, old), span)
