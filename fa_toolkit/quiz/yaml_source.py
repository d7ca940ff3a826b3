"""YAML that remembers its lines: plain data, and the line of any field. Checks no meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..errors import BankError
from ..language import Text

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Source(NamedTuple):
    """One YAML file: its data and the nodes its data came from."""

    path: Path
    data: Any
    root: yaml.Node

    def line(self, field: Sequence[str | int]) -> int:
        """The line (from 1) of a field, or of the nearest thing around it that exists."""
        node = self.root
        line: int = node.start_mark.line + 1
        for step in field:
            found = _child(node, step)
            if found is None:
                continue  # pydantic also names the kind of a union member, which is no field
            line, node = found
        return line

    def place(self, field: Sequence[str | int]) -> str:
        """`file:line: field`, as an error names it."""
        return f"{self.path}:{self.line(field)}: {written(field)}"


def written(field: Sequence[str | int]) -> str:
    """`("questions", 2, "why")` as a reader writes it: `questions[2].why`."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in field]
    return "".join(parts).lstrip(".") or "(whole file)"


def read_yaml(path: Path) -> Source:
    """Read one YAML file.

    Raises:
        BankError: if it cannot be read, is not YAML, is empty, or writes one field twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                raise _fault(path, 1, Text("content", "内容"), Text("an empty file", "空文件"))
            _refuse_twice(root, path, set())
            return Source(path, loader.construct_document(root), root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = error.problem or str(error)
        raise _fault(
            path,
            line,
            Text("YAML", "YAML"),
            problem,
            Text(
                "put texts that hold `: `, `#` or start with a sign in double quotes",
                "文字里有 `: `、`#`，或以符号开头时，请加双引号",
            ),
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        expected = Text("a readable UTF-8 YAML file", "可读的 UTF-8 YAML 文件")
        raise _fault(path, 1, expected, str(error) or type(error).__name__) from error


def _fault(
    path: Path, line: int, expected: Text, got: Text | str, hint: Text | str = ""
) -> BankError:
    return BankError(f"{path}:{line}", expected=expected, got=got, hint=hint)


def _child(node: yaml.Node, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        value = node.value[step]
        return value.start_mark.line + 1, value
    return None


def _refuse_twice(node: yaml.Node, path: Path, seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            if key.value in names and isinstance(key, yaml.ScalarNode):
                raise _fault(
                    path,
                    key.start_mark.line + 1,
                    Text("each field once", "每个字段只写一次"),
                    Text(f"`{key.value}` twice", f"`{key.value}` 写了两次"),
                )
            if isinstance(key, yaml.ScalarNode):
                names.add(key.value)
            _refuse_twice(value, path, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_twice(value, path, seen)
