"""docs/features.md: every test it names exists in the lane it is listed under; no row lacks one."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "features.md"
ROW = re.compile(r"^\| (?P<name>[^|]+) \| [^|]+ \| (?P<default>[^|]+) \| (?P<gpu>[^|]+) \|$")
#: words of the operator's promise, each of which some row must speak about
PROMISED = (
    "Forward", "Backward", "lse", "float16", "matmul precision", "D and Dv", "ragged", "strides",
    "GQA", "Causal", "window", "Soft cap", "sink", "Dropout", "no key", "outside the tensors",
    "64-bit", "Packed", "split-KV", "Few queries", "paged", "opcheck", "compile", "export", "checkpoint",
    "Autocast", "gradients asked for", "vmap", "Deterministic", "streams", "not the current one",
    "CUDA graphs", "auto", "explain", "T4", "sm_75", "Wrong input", "validate", "sdpa",
    "Transformers", "Step labels", "I/O model", "Planted bugs",
)  # fmt: skip


def rows() -> list[tuple[str, list[str], list[str]]]:
    """(feature, tests of the default lane, tests on a GPU) of each row, less headings."""
    found = [ROW.match(line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    table = [(m["name"], m["default"], m["gpu"]) for m in found if m]
    names = re.compile(r"`(tests/[^`]+)`")
    return [
        (name, names.findall(default), names.findall(gpu))
        for name, default, gpu in table
        if name != "feature"
    ]


def _has_gpu_mark(nodes: list[ast.expr]) -> bool:
    return any("pytest.mark.gpu" in ast.unparse(node) for node in nodes)


@functools.cache
def functions_in(file: str) -> dict[str, bool]:
    """Name of each test function of a file -> whether it is marked `gpu`."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    whole = _has_gpu_mark(marks)
    return {
        node.name: whole or _has_gpu_mark(node.decorator_list)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def _problem(test: str, gpu: bool) -> str | None:
    file, _, name = test.partition("::")
    if not (ROOT / file).is_file():
        return f"{test}: there is no such file"
    tests = functions_in(file)
    if name and name not in tests:
        return f"{test}: there is no such test"
    marked = {tests[name]} if name else set(tests.values())
    return None if marked == {gpu} else f"{test}: listed under the wrong lane"


def test_every_named_test_exists_in_its_lane() -> None:
    problems = [
        problem
        for _, default, gpu in rows()
        for tests, marked in ((default, False), (gpu, True))
        for problem in (_problem(test, marked) for test in tests)
        if problem
    ]
    assert not problems, "\n".join(problems)


def test_no_row_lacks_a_test() -> None:
    table = rows()
    assert len(table) == sum(line.startswith("| ") for line in _lines()) - _headings()
    assert [name for name, default, gpu in table if not default + gpu] == []
    assert len({name for name, *_ in table}) == len(table)


def _lines() -> list[str]:
    return PAGE.read_text(encoding="utf-8").splitlines()


def _headings() -> int:
    return sum(line.startswith("| feature ") for line in _lines())


@pytest.mark.parametrize("word", PROMISED)
def test_every_promise_has_a_row(word: str) -> None:
    assert any(word in name for name, *_ in rows())


@pytest.mark.parametrize(
    ("test", "gpu", "says"),
    [
        ("tests/test_no.py::test_a", False, "no such file"),
        ("tests/test_features.py::test_no", False, "no such test"),
        ("tests/test_features.py::test_no_row_lacks_a_test", True, "wrong lane"),
        ("tests/kernels/test_gpu.py::test_large", False, "wrong lane"),
    ],
)
def test_a_wrong_entry_is_noticed(test: str, gpu: bool, says: str) -> None:
    assert says in (_problem(test, gpu) or "")
