"""Which lines of a source file are on show: the functions that ran, signatures folded."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ...errors import ArgumentError
from ...language import Text


def functions(source: str, first_line: int, lines: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges of `source` to show: the functions in which a line ran, one after another.

    Raises:
        ArgumentError: if the text is no Python, or holds none of the lines.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        expected = Text("the text of the kernel's file", "kernel 所在文件的文本")
        raise ArgumentError("source", expected=expected, got=str(error)) from None
    ran = {line - first_line + 1 for line in lines}
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(node.lineno <= line <= (node.end_lineno or 0) for line in ran)
    ]
    if not spans:
        raise ArgumentError(
            "source",
            expected=Text("the text that holds the recorded lines", "含有录下的那些行的文本"),
            got=Text(f"lines {first_line} and on", f"从第 {first_line} 行起的文本"),
            hint=Text("pass the whole file, or first_line", "传入整个文件，或给出 first_line"),
        )
    return spans


def shown_lines(
    source: str, first_line: int, spans: Sequence[tuple[int, int]]
) -> list[tuple[int, str]]:
    """(line number, text) of what is shown; a signature of many lines is folded to its name."""
    text = source.splitlines()
    tree = {
        node.lineno: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    shown: list[tuple[int, str]] = []
    for start, stop in spans:
        if shown:
            shown.append((0, ""))
        node = tree[start]
        begin = node.body[0].lineno
        if begin - start > 2:
            shown.append((start + first_line - 1, f"def {node.name}(…):"))
        else:
            shown += [(n + first_line - 1, text[n - 1]) for n in range(start, begin)]
        shown += [(n + first_line - 1, text[n - 1]) for n in range(begin, stop + 1)]
    return [(number, line.split("  # fmt: skip")[0].rstrip()) for number, line in shown]
