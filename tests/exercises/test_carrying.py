"""Kernels go to the check with what they use: helpers, constants, other kernels, decorators."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import carrying, guard, rebuilding
from fa_toolkit.exercises.departure import find_departure
from fa_toolkit.exercises.sources import class_, function
from fa_toolkit.language import using

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


def refused(fn: Any, *args: Any) -> str:
    """What a learner reads of a function that uses what cannot be taken along."""
    packed = json.loads(json.dumps(carrying.pack(fn)))
    with tempfile.TemporaryDirectory() as folder, using("en"):
        made = rebuilding.rebuild(packed, Path(folder))
        found = guard.call(made, args, seconds=10)
        assert found.kind == "error"
        text = str(found.sentence.en)  # type: ignore[union-attr]
    assert "Missing" not in text and "_fa_" not in text, text
    return text


def test_a_tensor_too_large_is_refused_with_its_size_and_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = torch.zeros(17 << 20)  # four bytes each
    said = refused(lambda x: x + large, 1)
    assert "large: expected at most 64 MiB of tensors" in said
    assert "got [17825792], 68 MiB." in said and "make large inside the function" in said
    monkeypatch.setattr(carrying, "LARGEST", 1 << 20)
    first, second = torch.zeros(150_000), torch.zeros(150_000)
    said = refused(lambda x: first.sum() + second, 1)
    assert "second: expected" in said and "got [150000], 0.5722 MiB + 0.5722 MiB." in said


def test_a_tensor_of_another_kind_is_refused_by_its_kind() -> None:
    sparse = torch.zeros(2, 2).to_sparse()
    assert "got a tensor of kind sparse_coo." in refused(lambda x: sparse @ x, 1)


def test_a_class_derived_from_tensor_is_named_wherever_it_is_used() -> None:
    names: dict[str, Any] = {"torch": torch, "__name__": "nowhere"}
    exec("class Mine(torch.Tensor): pass", names)
    mine = names["Mine"]
    value = torch.zeros(2).as_subclass(mine)
    for fn in (
        lambda x: x.as_subclass(mine),  # compiled code says the type of what it was given
        lambda x: torch.add(x, value),
        lambda x: f"{value}",
        lambda x: {}[value],
    ):
        assert "got Mine, which is derived from Tensor" in refused(fn, torch.ones(2))


def test_a_lambda_is_quoted_as_the_learner_wrote_it() -> None:
    pair = [lambda x: x + 1,
            lambda x: (x.nothing +
                       1)]  # fmt: skip
    assert "“lambda x: (x.nothing +”" in refused(pair[1], 1)
    table = {"b": lambda x: x / 0}
    assert '“table = {"b": lambda x: x / 0}”' in refused(table["b"], 1)


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
