"""Show the source of a function, class or kernel as it stands in the package."""

from __future__ import annotations

import ast
import inspect
import re
from html import escape
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..language import Text, say
from .cards import Card

#: Comments for tools, not for readers.
_TOOLS = re.compile(r"  # (?:fmt: skip|noqa|type: ignore)[^\n]*")
_LINE = Text("{file}, line {line}", "{file} 第 {line} 行")


def source_card(thing: Any, around: str = "") -> Card:
    """The source of `thing`, highlighted, with its file and line.

    Args:
        around: a name; only the lines that hold it are shown, each with the block it opens.

    Raises:
        ArgumentError: if `thing` has no Python source, or no line holds the name.
    """
    plain = unwrapped(thing)
    try:
        lines, start = inspect.getsourcelines(plain)
        file = inspect.getsourcefile(plain) or ""
    except (TypeError, OSError):
        raise ArgumentError(
            "obj",
            expected=Text("a function, class or kernel", "函数、类或 kernel"),
            got=repr(thing)[:80],
            hint="fa.course.show_source(fa.kernels.vector_add_kernel)",
        ) from None
    code = _TOOLS.sub("", inspect.cleandoc("\n" + "".join(lines))) + "\n"
    if around:
        code = lines_around(code, around)
    name = getattr(plain, "__name__", type(plain).__name__)
    where = say(_LINE, file=_short(file), line=max(1, start))
    body = (
        f'<div class="fc-head"><span class="fc-title"><code>{escape(name)}</code></span>'
        f'<span class="fc-soft fc-end">{escape(where)}</span></div>'
        f'<pre class="fc-code">{highlighted(code)}</pre>'
    )
    return Card(body, f"# {where}\n{code}")


def lines_around(code: str, name: str) -> str:
    """The statements of `code` that use `name`, an `if` with all it opens; `...` between them.

    Raises:
        ArgumentError: if none does.

    Example:
        >>> lines_around("a = 1\\nif FLAG:\\n    a = 2", "FLAG").splitlines()
        ['...', 'if FLAG:', '    a = 2']
    """
    numbers = {n for node in ast.parse(code).body for n in _using(node, name)}
    if not numbers:
        expected = Text("a name that the source uses", "源码里用到的名字")
        raise ArgumentError("around", expected=expected, got=repr(name))
    kept: list[str] = []
    for number, line in enumerate(code.splitlines(), 1):
        if number in numbers:
            kept.append(line)
        elif line.strip() and (not kept or kept[-1].strip() != "..."):
            kept.append(" " * (len(line) - len(line.lstrip())) + "...")
    return "\n".join(kept) + "\n"


def _using(node: ast.stmt, name: str) -> set[int]:
    """Numbers of the lines of `node` that use `name`."""
    body = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
    inner = {id(x) for part in body for x in ast.walk(part)}
    arguments = getattr(node, "args", None)  # a declaration says only that there is such a name
    inner |= {id(x) for x in ast.walk(arguments)} if isinstance(arguments, ast.arguments) else set()
    own = any(
        isinstance(x, ast.Name) and x.id == name for x in ast.walk(node) if id(x) not in inner
    )
    last = node.end_lineno or node.lineno
    if own and body and not isinstance(node, ast.If):
        last = body[0].lineno - 1  # the head alone
    found = set(range(node.lineno, last + 1)) if own else set()
    return found.union(*(_using(part, name) for part in body))


def unwrapped(thing: Any) -> Any:
    """The Python function under decorators; Triton's compiled and interpreted kernels included."""
    for _ in range(8):
        inner = getattr(thing, "fn", None)
        if inner is None or inspect.isfunction(thing) or inspect.isclass(thing):
            break
        thing = inner
    return inspect.unwrap(thing) if callable(thing) else thing


def highlighted(code: str) -> str:
    """`code` as HTML spans whose classes the card colours; escaped text without Pygments."""
    try:
        from pygments import highlight  # type: ignore[import-untyped]
        from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
        from pygments.lexers import PythonLexer  # type: ignore[import-untyped]
    except ImportError:
        return escape(code)
    made: str = highlight(code, PythonLexer(), HtmlFormatter(nowrap=True))
    return made


def _short(file: str) -> str:
    """The path from the package on, or the file's own name; cells of a notebook have none."""
    path = Path(file)
    root = Path(__file__).resolve().parents[2]
    try:
        return path.resolve().relative_to(root).as_posix()
    except ValueError:
        return say(Text("this notebook", "本 notebook")) if "ipykernel" in file else path.name
