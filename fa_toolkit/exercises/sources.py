"""Find the lines that define a function or a class, in a file or in a notebook's cell."""

from __future__ import annotations

import ast
import copy
import dis
import functools
import inspect
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_READS = {"LOAD_GLOBAL", "LOAD_NAME"}
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)
class Names:
    """Names from outside that a definition uses: while it is made, and when it runs."""

    early: frozenset[str]
    late: frozenset[str]


@dataclass(frozen=True)
class Definition:
    """A definition as it can be run elsewhere, its line numbers kept by empty lines above it.

    Args:
        text: a module that defines the thing, or `FACTORY(*free)`, which returns it.
        file: where it stood.
        free: the variables of enclosing functions that it closes over.
        own: the learner's lines, where `text` is not made of whole ones; "" elsewhere.
    """

    text: str
    file: str
    free: tuple[str, ...]
    names: Names
    own: str = ""


FACTORY = "_fa_factory"


def function(code: types.CodeType, *, decorated: bool) -> Definition | None:
    """The definition a code object was compiled from; None if its source is not to be had."""
    lines, tree = _read(code.co_filename)
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            fits = code.co_name == "<lambda>" and _same_lambda(node, code)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            fits = node.name == code.co_name and code.co_firstlineno in (first, node.lineno)
            fits = fits and _arguments(node.args) == _arguments_of(code)
        else:
            continue
        if fits:
            return _definition(node, lines, code.co_filename, code.co_freevars, decorated)
    return None


def class_(kind: type) -> Definition | None:
    """The definition of a class, looked for where its methods stand, else in the cells."""
    files = [
        value.__code__.co_filename
        for value in vars(kind).values()
        if inspect.isfunction(value) and not value.__code__.co_filename.startswith("<")
    ]
    cells = [name for name in linecache.cache if "ipykernel" in name or name.startswith("<ipython")]
    for name in [*dict.fromkeys(files), *reversed(cells)]:
        lines, tree = _read(name)
        found = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__]
        if found:
            return _definition(found[-1], lines, name, (), decorated=True)
    return None


def _read(file: str) -> tuple[list[str], ast.Module]:
    lines = linecache.getlines(file)
    return lines, _parsed("".join(lines))


@functools.lru_cache(maxsize=32)
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # a cell with magics, or no Python at all
        return ast.Module(body=[], type_ignores=[])


def _arguments(args: ast.arguments) -> list[str]:
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _arguments_of(code: types.CodeType) -> list[str]:
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _same_lambda(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether this lambda is the one: by its place, and by the columns of its body."""
    if node.lineno != code.co_firstlineno or _arguments(node.args) != _arguments_of(code):
        return False
    body = node.body
    columns = [
        (line, start)
        for line, _, start, end in code.co_positions()
        if line is not None and start is not None and (start, end) != (0, 0)
    ]
    inside = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return all(inside[0] <= place <= inside[1] for place in columns)


def _definition(
    node: Defined, lines: list[str], file: str, free: tuple[str, ...], decorated: bool
) -> Definition:
    """The node's lines at their own numbers, everything else on them and above them empty."""
    decorators = getattr(node, "decorator_list", [])
    first = node.lineno
    if decorated:
        first = min([first, *(d.lineno for d in decorators)])
    else:
        node = _bare(node)
    names = names_of(node, free)
    head = f"def {FACTORY}({', '.join(free)}):"
    if isinstance(node, ast.Lambda):
        source = ast.get_source_segment("".join(lines), node) or ast.unparse(node)
        text = "\n" * (first - 1) + f"{head} return ({source}\n)\n"
        own = "\n" * (first - 1) + "".join(lines[first - 1 : node.end_lineno])
        return Definition(text, file, free, names, own)
    kept = "".join(lines[first - 1 : node.end_lineno])
    kept = kept if kept.endswith("\n") else kept + "\n"
    if node.col_offset:
        text = "\n" * (first - 2) + head + "\n" + kept
        text += " " * node.col_offset + f"return {node.name}\n"
    else:
        text = "\n" * (first - 1) + kept
    return Definition(text, file, free, names)


def _bare(node: Defined) -> Defined:
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return node
    bare = copy.copy(node)
    bare.decorator_list = []
    return bare


def names_of(node: Defined, free: tuple[str, ...]) -> Names:
    """What a definition reads from outside itself."""
    statement: Any = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    module = ast.fix_missing_locations(ast.Module(body=[statement], type_ignores=[]))
    found = list(_read_names(compile(module, "<names>", "exec", dont_inherit=True), True))
    own = {getattr(node, "name", "")} | set(free)
    early = frozenset(name for name, soon in found if soon) - own
    late = frozenset(name for name, soon in found if not soon) - set(free)
    return Names(early, late)


def _read_names(code: types.CodeType, soon: bool) -> Iterator[tuple[str, bool]]:
    """(name, whether it is read while the definition is made)."""
    for step in dis.get_instructions(code):
        if step.opname in _READS and isinstance(step.argval, str):
            yield step.argval, soon
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            body_of_class = not inner.co_flags & inspect.CO_OPTIMIZED
            yield from _read_names(inner, soon and body_of_class)


def names_in(code: types.CodeType) -> Names:
    """The same for a code object without source: all of it is read when it runs."""
    return Names(frozenset(), frozenset(name for name, _ in _read_names(code, False)))
