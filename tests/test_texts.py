"""What the package says in Chinese: the words of the glossary, and Chinese marks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fa_toolkit"
CJK = "[一-鿿]"
HALF_WIDTH = re.compile(rf"{CJK}[,;:?!](?:\s|$)|[,;?!]\s*{CJK}")
#: a term's English word where its Chinese one belongs, with Chinese beside it; not `tile=` or `a.tile`
BESIDE = rf"(?:{CJK} ?\b{{word}}s?\b(?![=.])|(?<![.])\b{{word}}s?\b ?{CJK})"
#: also what Triton calls an argument
ARGUMENTS = {"mask"}


def chinese_texts() -> Iterator[tuple[str, str]]:
    """Where each `Text` of the package stands, and its Chinese, without code and {fields}."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            named = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Text")
            if named and len(node.args) == 2:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", plain(node.args[1])


def plain(said: ast.expr) -> str:
    if isinstance(said, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in said.values]
        text = "".join(map(str, parts))
    else:
        text = str(said.value) if isinstance(said, ast.Constant) else ""
    return re.sub(r"`[^`]*`|\{[^}]*\}|<code>.*?</code>", "·", text)


def forbidden() -> list[str]:
    """English words of terms that have a Chinese one."""
    glossary = yaml.safe_load((ROOT / "quizzes" / "glossary.yaml").read_text("utf-8"))
    words = [entry["term"]["en"] for entry in glossary if re.search(CJK, entry["term"]["zh"])]
    return [w for w in words if re.fullmatch(r"[a-z]{4,}(?: [a-z]+)?", w) and w not in ARGUMENTS]


def test_what_is_said_in_chinese_uses_the_words_of_the_glossary() -> None:
    words, found = forbidden(), []
    assert {"program", "ridge point", "tensor core"} <= set(words)
    for where, zh in chinese_texts():
        found += [(where, w, zh) for w in words if re.search(BESIDE.format(word=w), zh)]
    assert found == []


def test_chinese_has_chinese_marks() -> None:
    found = [(where, zh) for where, zh in chinese_texts() if HALF_WIDTH.search(zh)]
    assert found == []


def test_the_package_speaks_as_much_chinese_as_the_walk_expects() -> None:
    assert len([zh for _, zh in chinese_texts() if re.search(CJK, zh)]) > 2000
    assert re.search(BESIDE.format(word="program"), "一个 SM 容得下 3 个 program")
    assert not re.search(BESIDE.format(word="program"), "用 tl.program_id 得到编号")
    assert HALF_WIDTH.search("读入, 写出") and not HALF_WIDTH.search("读入，写出 (a, b)")
