"""Show the source of a function, class or kernel as it stands in the package."""

from __future__ import annotations

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
    """The lines of `code` that hold `name`, with the blocks an `if` opens; `...` for what lies between.

    Declarations of a constexpr are left out: they say only that there is such a flag.

    Raises:
        ArgumentError: if there is no such line.

    Example:
        >>> lines_around("a = 1\\nif FLAG:\\n    a = 2", "FLAG").splitlines()
        ['...', 'if FLAG:', '    a = 2']
    """
    word, kept, block = re.compile(rf"\b{re.escape(name)}\b"), list[str](), -1
    for line in code.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= block:
            block = -1
        found = bool(word.search(line)) and ": tl.constexpr" not in line
        if found and line.lstrip().startswith("if ") and line.rstrip().endswith(":"):
            block = indent
        if not line.strip():
            continue
        if found or block >= 0:
            kept.append(line)
        elif not kept or kept[-1].strip() != "...":
            kept.append(" " * indent + "...")
    if not any(line.strip() != "..." for line in kept):
        expected = Text("a name that the source holds", "源码里有的名字")
        raise ArgumentError("around", expected=expected, got=repr(name))
    return "\n".join(kept) + "\n"


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
