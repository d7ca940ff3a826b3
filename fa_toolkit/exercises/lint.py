"""What Triton's interpreter forgives and a GPU does not, read off a kernel's source.

Runs nothing. It warns only where the source alone shows the fault: a clean report is no proof.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ..language import Text
from .kernel_source import KernelSource, is_kernel, note_launches, read
from .lint_texts import TEXTS
from .report import Warning

#: Least side of tl.dot on a GPU.
SMALLEST_DOT = 16
_HALVES = {"float16", "bfloat16"}
_MATHS = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "sigmoid", "softmax"}
_PYTHON = (
    ast.Break, ast.Continue, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Lambda,
    ast.Try, ast.With, ast.Dict, ast.Set, ast.FunctionDef, ast.ClassDef, ast.Yield, ast.Raise,
)  # fmt: skip


def lint(source: str, globals_: Mapping[str, Any] | None = None) -> list[Warning]:
    """Warnings for every kernel in a piece of Python, by line.

    Args:
        globals_: names that stand for plain numbers outside the kernels, with any value.

    Example:
        >>> text = "@triton.jit" + chr(10) + "def kernel(x_ptr, n):" + chr(10)
        >>> [w.id for w in lint(text + "    offs = tl.arange(0, n)")]
        ['runtime-as-constexpr']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    kernels = {n.name: read(n) for n in ast.walk(tree) if is_kernel(n)}  # type: ignore[attr-defined,arg-type]
    note_launches(tree, kernels)
    found: set[Warning] = set()
    for kernel in kernels.values():
        found |= set(_of_kernel(kernel, globals_ or {}))
    return sorted(found, key=lambda w: (w.line, w.id))


def lint_packed(packed: dict[str, Any]) -> tuple[Warning, ...]:
    """Warnings for the kernels among the definitions that a function takes along."""
    nodes = packed["nodes"]
    launchers = [n["text"] for n in nodes if n.get("k") == "function" and "text" in n]
    found: list[Warning] = []
    for node in nodes:
        if not node.get("kernel") or "text" not in node:
            continue
        around = {**node.get("early", {}), **node.get("late", {})}
        plain = {name: True for name, at in around.items() if nodes[at]["k"] in ("value", "float")}
        own = lint(node["text"], plain)
        for text in launchers:  # sizes it is launched with; lines are those of the launcher's cell
            if text is not node["text"] and f"{node['name']}[" in text:
                own = own or lint(node["text"] + "\n" + text.lstrip("\n"), plain)
        found += own
    return tuple(dict.fromkeys(found))


def _of_kernel(kernel: KernelSource, globals_: Mapping[str, Any]) -> Iterator[Warning]:
    has_dot = any(_called(n) == "dot" for n in ast.walk(kernel.node))
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.Call):
            yield from _sizes(kernel, node, has_dot)
            yield from _accesses(kernel, node)
            yield from _types(kernel, node, has_dot)
        yield from _python(kernel, node)
    for name in sorted(globals_):
        uses = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Name) and n.id == name]
        local = name in kernel.assigned or name in kernel.runtime | kernel.constexprs
        if uses and not local:
            yield _warn("global", uses[0].lineno, name=name)


def _warn(kind: str, line: int, **fields: Any) -> Warning:
    text = TEXTS[kind]
    filled = Text(text.en.format(**fields), text.zh.format(**fields)) if fields else text
    return Warning(kind, line, filled)


def _called(node: ast.AST) -> str:
    """The name of a function of `tl`, "" for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        home = node.func.value
        if isinstance(home, ast.Name) and home.id in ("tl", "language"):
            return node.func.attr
    return ""


def _sizes(kernel: KernelSource, node: ast.Call, has_dot: bool) -> Iterator[Warning]:
    name = _called(node)
    if name == "arange":
        sizes = node.args[1:2]
    elif name in ("zeros", "full") and node.args:
        shape = node.args[0]
        sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
    else:
        return
    for size in sizes:
        value, line = _literal(kernel, size), node.lineno
        if value is None:
            for inner in ast.walk(size):
                if isinstance(inner, ast.Name) and inner.id in kernel.runtime:
                    yield _warn("runtime-as-constexpr", line, name=inner.id)
            continue
        if value < 1 or value & (value - 1):
            yield _warn("not-power-of-two", line, size=value)
        elif has_dot and value < SMALLEST_DOT and _meets_dot(kernel, node):
            yield _warn("dot-below-16", line, size=value)


def _literal(kernel: KernelSource, size: ast.expr) -> int | None:
    if isinstance(size, ast.Constant) and type(size.value) is int:
        return size.value
    if isinstance(size, ast.Name) and size.id in kernel.launched:
        return kernel.launched[size.id][0]
    return None


def _meets_dot(kernel: KernelSource, made: ast.Call) -> bool:
    """Whether what is made here is used, over any number of names, in an operand of tl.dot."""
    tainted = {name for name, value in kernel.assigned.items() if _holds(value, made)}
    for _ in range(len(kernel.assigned)):
        more = {n for n, value in kernel.assigned.items() if _names(value) & tainted}
        if more <= tainted:
            break
        tainted |= more
    return any(
        _holds(argument, made) or _names(argument) & tainted
        for node in ast.walk(kernel.node)
        if _called(node) == "dot"
        for argument in node.args[:2]  # type: ignore[attr-defined]
    )


def _holds(value: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(value))


def _names(value: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}


def _accesses(kernel: KernelSource, node: ast.Call) -> Iterator[Warning]:
    name = _called(node)
    if name not in ("load", "store") or not node.args:
        return
    keywords = {k.arg for k in node.keywords}
    masked = "mask" in keywords or len(node.args) > (1 if name == "load" else 2)
    if masked:
        if name == "load" and "other" not in keywords and len(node.args) < 3:
            yield _warn("no-other", node.lineno)
    elif _blocked(kernel, node.args[0], 0):
        yield _warn("no-mask", node.lineno)


def _blocked(kernel: KernelSource, value: ast.expr, depth: int) -> bool:
    """Whether an address holds `something * BLOCK + tl.arange(0, BLOCK)`, or a loop in such steps."""
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            terms = list(_terms(node))
            sizes = {size for term in terms if (size := _range_size(kernel, term))}
            if any(_moves_by(kernel, term, size) for term in terms for size in sizes):
                return True
        stands_for = kernel.assigned.get(node.id) if isinstance(node, ast.Name) else None
        if stands_for is not None and depth < 6 and _blocked(kernel, stands_for, depth + 1):
            return True
    return False


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    """What a sum adds up."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        yield from _terms(value.left)
        yield from _terms(value.right)
    else:
        yield value


def _range_size(kernel: KernelSource, value: ast.expr) -> str:
    if isinstance(value, ast.Name) and value.id in kernel.assigned:
        value = kernel.assigned[value.id]
    if _called(value) == "arange" and len(value.args) > 1:  # type: ignore[attr-defined]
        size: ast.expr = value.args[1]  # type: ignore[attr-defined]
        if isinstance(size, ast.Constant) or "BLOCK" in ast.unparse(size).upper():
            return ast.unparse(size)  # a width such as HEAD_DIM is that of the tensor itself
    return ""


def _moves_by(kernel: KernelSource, value: ast.expr, size: str) -> bool:
    if isinstance(value, ast.Name):
        if kernel.steps.get(value.id) == size:
            return True
        value = kernel.assigned.get(value.id, value)
    if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)):
        return False
    return size in (ast.unparse(value.left), ast.unparse(value.right))


def _types(kernel: KernelSource, node: ast.Call, has_dot: bool) -> Iterator[Warning]:
    name = _called(node)
    if name in _MATHS and node.args and _half(kernel, node.args[0]):
        yield _warn("half-maths", node.lineno, name=name)
    if name in ("zeros", "full") and has_dot:
        dtype = ast.unparse(node.args[-1]) if node.args else ""
        dtype = next((ast.unparse(k.value) for k in node.keywords if k.arg == "dtype"), dtype)
        kind = dtype.rpartition(".")[2]
        summed = {n.target.id for n in ast.walk(kernel.node)
                  if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}  # fmt: skip
        first = [n for n in summed if n in kernel.assigned and _holds(kernel.assigned[n], node)]
        if kind in _HALVES and first:
            yield _warn("half-accumulator", node.lineno, name=kind)
    if name == "dot":
        keywords = {k.arg for k in node.keywords}
        single = not any(half in ast.unparse(node) for half in (*_HALVES, ".dtype"))
        if single and not keywords & {"input_precision", "allow_tf32"}:
            yield _warn("tf32", node.lineno)


def _half(kernel: KernelSource, value: ast.expr) -> bool:
    """Whether a value was just cast to a half type."""
    if isinstance(value, ast.Name) and value.id in kernel.assigned:
        value = kernel.assigned[value.id]
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "to"
        and bool(value.args)
        and ast.unparse(value.args[0]).rpartition(".")[2] in _HALVES
    )


def _python(kernel: KernelSource, node: ast.AST) -> Iterator[Warning]:
    name = ""
    if isinstance(node, _PYTHON) and node is not kernel.node:
        name = type(node).__name__.lower().removesuffix("def")
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        name = "a < b < c"
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        if called.startswith(("torch.", "math.", "np.", "numpy.")) or called in ("len", "sum"):
            name = called
    if name:
        yield _warn("python-only", getattr(node, "lineno", kernel.node.lineno), name=name)
