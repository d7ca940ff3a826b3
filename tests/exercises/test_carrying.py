"""Kernels go to the check with what they use: helpers, constants, other kernels, decorators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import carrying, rebuilding
from fa_toolkit.exercises.departure import find_departure
from fa_toolkit.exercises.sources import class_, function

HELPERS = '''
import torch

HALF = tl.constexpr(0.5)


def checked(fn):
    """A decorator of the learner's."""
    return fn


def grid_of(x, block):
    return (triton.cdiv(x.numel(), block),)


@triton.jit
def twice(x):
    return x * 2.0 * HALF


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < size, other=0.0)
    y = tl.load(y_ptr + offs, mask=offs < size, other=0.0)
    tl.store(out_ptr + offs, twice(x) + twice(y), mask=offs < size)


def launcher(block):
    @checked
    def my_add(x, y, *, sizes={"BLOCK": block}):
        out = torch.empty_like(x)
        add_kernel[grid_of(x, block)](x, y, out, x.numel(), **sizes)
        return out

    return my_add


my_add = launcher(32)
'''


def defined(text: str, folder: Path) -> dict[str, Any]:
    from fa_toolkit.exercises.triton_names import tl, triton

    file = folder / "cell.py"
    file.write_text(text)
    names: dict[str, Any] = {"tl": tl, "triton": triton}
    exec(compile(text, str(file), "exec"), names)
    return names


def test_a_kernel_comes_with_all_it_uses(tmp_path: Path) -> None:
    if kernels.mode() == "none":
        pytest.skip("Triton cannot run here")
    report = exercises.check("05.vector_add", defined(HELPERS, tmp_path)["my_add"])
    assert report.outcome == "passed", str(report)
    assert not report.warnings


def test_what_travels_is_plain_and_keeps_its_lines(tmp_path: Path) -> None:
    text = "\n\nLIMIT = 3\n\n\ndef helper(x):\n    return x + LIMIT\n\n\ndef fn(x, n=LIMIT):\n"
    text += "    return [helper(x)] * n\n"
    names = defined(text, tmp_path)
    packed = json.loads(json.dumps(carrying.pack(names["fn"])))
    folder = tmp_path / "there"
    folder.mkdir()
    made = rebuilding.rebuild(packed, folder)
    assert made(1) == [4, 4, 4]
    assert made.__code__.co_firstlineno == 10 and Path(made.__code__.co_filename).parent == folder
    names["LIMIT"] = 100
    assert made(1) == [4, 4, 4], "it is a copy"
    assert names["fn"](1) == [101, 101, 101]


def test_functions_that_call_each_other_come_whole(tmp_path: Path) -> None:
    text = "def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
    made = rebuilding.rebuild(carrying.pack(defined(text, tmp_path)["even"]), tmp_path)
    assert made(10) and not made(7)


def test_two_lambdas_on_one_line_are_told_apart() -> None:
    pair = [lambda x: x + 1, lambda x: x + 2]
    found = [function(fn.__code__, decorated=False) for fn in pair]
    assert [f is not None and f.text.strip().split("return ")[1][:16] for f in found] == [
        "(lambda x: x + 1", "(lambda x: x + 2",
    ]  # fmt: skip


def test_a_class_without_source_is_not_found() -> None:
    assert class_(type("Made", (), {})) is None


@pytest.mark.parametrize("bug", ["acc-not-rescaled", "no-scale"])
def test_the_first_wrong_tile_is_found_by_trying(bug: str) -> None:
    exercise = exercises.get("04.forward")
    variant = next(v for v in exercise.variants if v.id == bug)
    report = exercises.check("04.forward", variant.fn)
    found = report.departure
    assert found is not None and found.output == "o" and found.rows == (0, 4)
    # scores are wrong from the first key on; a factor is missing only once there is a second tile
    assert found.keys == ((4, 8) if bug == "acc-not-rescaled" else (0, 4))
    assert (found.tile.block_m, found.tile.block_n, found.problem.len_k) == (4, 4, 16)
    assert find_departure(exercises.get("00.factor"), [], None) is None  # type: ignore[arg-type]
