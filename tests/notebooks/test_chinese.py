"""The Chinese notebooks run the same code as the English ones; their prose is Chinese."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from chapters import CHINESE, ENGLISH, FOLDER, code, prose
from chapters import cells as all_cells

#: chapters that have a Chinese edition and must keep it
TOGETHER = (
    "00_start_here",
    "01_memory_hierarchy",
    "02_standard_attention",
    "03_softmax_in_blocks",
    "04_flash_attention_in_tiles",
    "05_triton_basics",
    "06_flash_kernel",
    "07_recomputation",
    "08_speed",
    "09_inference_and_variants",
    "11_fact_check",
    "12_interview",
)
PATHS = sorted({FOLDER / "zh" / f"{name}.ipynb" for name in TOGETHER} | set(CHINESE))
IDS = [path.stem for path in PATHS]
CHINESE_SIGN = "[一-鿿，。：；、（）]"
#: in a string, what is read and not a key, a name or a formula
ENGLISH_WORDS = re.compile(r"\b[a-z]{2,},? [a-z]{2,}\b")


class _NoLanguage(ast.NodeTransformer):
    """Drops the `lang` argument of `start`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if ast.unparse(node.func) == "fa.course.start":
            node.keywords = [word for word in node.keywords if word.arg != "lang"]
        return node


def meaning(source: str) -> str:
    """The code without comments, layout and language."""
    return ast.dump(_NoLanguage().visit(ast.parse(source)))


def spoken(english: str, chinese: str) -> tuple[str, str]:
    """Both sources with a text that is Chinese in the Chinese one left out of both.

    A text is what a reader says or reads: a string that holds Chinese or its marks, in the same
    place.
    """
    trees = [ast.parse(source) for source in (english, chinese)]
    texts = [[n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
             for tree in trees]  # fmt: skip
    if len(texts[0]) == len(texts[1]):
        for ours, theirs in zip(*texts, strict=True):
            if re.search(CHINESE_SIGN, str(theirs.value)):
                ours.value = theirs.value = ""
    return ast.unparse(trees[0]), ast.unparse(trees[1])


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_code_is_the_same_cell_by_cell(path: Path) -> None:
    english = FOLDER / path.name
    theirs, ours = code(english), code(path)
    assert [c.id for c in ours] == [c.id for c in theirs]
    for a, b in zip(theirs, ours, strict=True):
        english_code, chinese_code = spoken(a.source, b.source)
        assert meaning(chinese_code) == meaning(english_code), b.id
        assert (b.exercise, b.tagged) == (a.exercise, a.tagged), b.id


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_it_speaks_chinese(path: Path) -> None:
    assert 'lang="zh"' in code(path)[0].source
    for cell in prose(path):
        letters = re.sub(r"`[^`]*`|\$[^$]*\$|\([^)]*\)|[^\w一-鿿]", "", cell.source)
        chinese = len(re.findall(r"[一-鿿]", letters))
        assert chinese >= 0.3 * len(letters), f"{cell.id}: {cell.source[:60]}"


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_it_is_typeset_as_chinese(path: Path) -> None:
    """Full-width punctuation after Chinese, a space between Chinese and Latin letters or digits."""
    for cell in prose(path):
        text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", cell.source, flags=re.S)
        assert not re.search(r"[一-鿿][,;:?!]", text), cell.id
        assert not re.search(r"[一-鿿][A-Za-z0-9]|[A-Za-z0-9][一-鿿]", text), cell.id
        whole = re.sub(r"`[^`]*`", "·", cell.source)
        assert not re.search(r"[，。；：、？）] [\w（“]", whole), (
            f"{cell.id}: a mark is its own space"
        )


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_what_its_code_shows_is_chinese(path: Path) -> None:
    """Names of points in a figure, and what is printed; stubs are those of the package."""
    for cell in code(path):
        if cell.exercise:
            continue
        found = [n.value for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Constant)]
        plain = [x for x in found if isinstance(x, str) and not re.search(CHINESE_SIGN, x)]
        assert [text for text in plain if ENGLISH_WORDS.search(text)] == [], cell.id


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_stubs_say_in_chinese_what_to_do(path: Path) -> None:
    for cell in code(path):
        assert not re.search(r"# (?:your|remove|replace|write|fill|put)\b", cell.source), cell.id


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_its_comments_are_chinese(path: Path) -> None:
    """Shapes and marks for tools may stay; what is said in words may not."""
    for cell in all_cells(path):
        if cell.kind == "code":
            for said in re.findall(r"(?:^|\s)#(?! fmt:)\s(.*)$", cell.source, re.M):
                if not re.search(CHINESE_SIGN, said):
                    words = re.sub(r"\[.*?\]", "", said)
                    assert not ENGLISH_WORDS.search(words), (cell.id, said)


def test_the_guard_sees_a_difference() -> None:
    assert meaning("fa.course.start(3)  # en") == meaning('fa.course.start(3, lang="zh")  # 中')
    assert meaning("x = 1") != meaning("x = 2")
    said, in_chinese = spoken('f("O3", "tiles")', 'f("O3", "分块")')
    assert meaning(said) == meaning(in_chinese)
    for other in (
        'f("O4", "分块")',
        'g("O3", "分块")',
        'f("O3", "分块", "分块")',
        'f("O3", "tile")',
    ):
        one, two = spoken('f("O3", "tiles")', other)
        assert meaning(one) != meaning(two), other
    assert ENGLISH and all_cells(ENGLISH[0])
