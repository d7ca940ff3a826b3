"""The lint warns of what the interpreter forgives, and of nothing in kernels that are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises.lint import lint
from fa_toolkit.language import using

PACKAGE = Path(exercises.__file__).parents[1]
RIGHT = [*sorted(PACKAGE.glob("exercises/solutions/c*.py")), *sorted(PACKAGE.glob("kernels/*.py"))]


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_right_kernels_raise_no_alarm(file: Path) -> None:
    assert [str(w) for w in lint(file.read_text(encoding="utf-8"))] == []


HEAD = "@triton.jit\ndef kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr, D: tl.constexpr):\n"
START = "    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    mask = offs < n\n"
LAUNCH = "def run(x, out):\n    kernel[(4,)](x, out, len(x), 1.0, BLOCK={block}, D=16)\n"
DOT = "    a = tl.load(x_ptr + tl.arange(0, BLOCK)[:, None] * D + tl.arange(0, D)[None, :])\n"
CASES = {
    "load": ("no-mask", START + "    x = tl.load(x_ptr + offs)\n", 5),
    "load through a name": ("no-mask", START + "    p = x_ptr + offs * 2\n    x = tl.load(p)\n", 6),
    "store": ("no-mask", START + "    tl.store(out_ptr + offs, 0.0)\n", 5),
    "loop": (
        "no-mask",
        "    cols = tl.arange(0, BLOCK)\n    for j in range(0, n, BLOCK):\n"
        "        x = tl.load(x_ptr + j + cols)\n",
        5,
    ),
    "other": ("no-other", START + "    x = tl.load(x_ptr + offs, mask=mask)\n", 5),
    "runtime size": ("runtime-as-constexpr", "    offs = tl.arange(0, n)\n", 3),
    "runtime shape": ("runtime-as-constexpr", "    acc = tl.zeros([n, D], tl.float32)\n", 3),
    "48": ("not-power-of-two", "    offs = tl.arange(0, 48)\n", 3),
    "zeros of 24": ("not-power-of-two", "    acc = tl.zeros([24, D], tl.float32)\n", 3),
    "exp of a half": (
        "half-maths",
        START + "    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.bfloat16)\n"
        "    y = tl.exp(x)\n",
        6,
    ),
    "torch": ("python-only", "    y = torch.exp(scale)\n", 3),
    "math": ("python-only", "    y = math.log(2.0)\n", 3),
    "break": ("python-only", "    for i in range(0, 8):\n        break\n", 4),
    "chained": ("python-only", "    y = 0 < n < 8\n", 3),
    "comprehension": ("python-only", "    y = [i for i in range(4)]\n", 3),
    "tf32": ("tf32", DOT + "    s = tl.dot(a, tl.trans(a))\n", 4),
    "half sum": (
        "half-accumulator",
        DOT + "    acc = tl.zeros([BLOCK, BLOCK], tl.float16)\n"
        '    acc += tl.dot(a, tl.trans(a), input_precision="ieee")\n',
        4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_named_at_its_line(case: str) -> None:
    kind, body, line = CASES[case]
    found = lint(HEAD + body)
    assert [(w.id, w.line) for w in found] == [(kind, line)]
    with using("zh"):
        assert any("一" <= sign <= "鿿" for sign in str(found[0]))
    with using("en"):
        assert str(found[0]).startswith(f"line {line}: ")


def test_sizes_at_the_launch_are_read() -> None:
    body = DOT + '    s = tl.dot(a, tl.trans(a), input_precision="ieee")\n'
    assert [w.id for w in lint(HEAD + body + LAUNCH.format(block=8))] == ["dot-below-16"]
    assert [w.id for w in lint(HEAD + body + LAUNCH.format(block=48))] == ["not-power-of-two"]
    assert lint(HEAD + body + LAUNCH.format(block=32)) == []


def test_a_small_block_that_meets_no_dot_is_right() -> None:
    body = DOT + '    s = tl.dot(a, tl.trans(a), input_precision="ieee")\n    z = tl.arange(0, 4)\n'
    assert lint(HEAD + body) == []


def test_plain_python_is_not_looked_at() -> None:
    assert lint("def f(x):\n    return torch.exp(x) if 0 < x < 1 else [i for i in x]\n") == []
    assert lint("this is no Python") == []


CELL = """
import torch
LOG2_E = 1.4426950408889634

@triton.jit
def my_add_kernel(x_ptr, y_ptr, out_ptr, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < size)
    y = tl.load(y_ptr + offs, mask=offs < size, other=0.0)
    tl.store(out_ptr + offs, x + y + 0.0 * LOG2_E, mask=offs < size)


def my_add(x, y):
    out = torch.empty_like(x)
    my_add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
"""


def test_a_report_carries_the_warnings_and_what_was_not_checked(tmp_path: Path) -> None:
    if kernels.mode() != "interpreter":
        pytest.skip("what the interpreter forgives")
    from fa_toolkit.exercises.triton_names import tl, triton

    file = tmp_path / "cell.py"
    file.write_text(CELL)
    names = {"tl": tl, "triton": triton}
    exec(compile(CELL, str(file), "exec"), names)
    report = exercises.check("05.vector_add", names["my_add"])  # type: ignore[arg-type]
    assert report.outcome == "passed", str(report)
    assert [(w.id, w.line) for w in report.warnings] == [("no-other", 8), ("global", 10)]
    assert "Not checked on a GPU" in str(report)
