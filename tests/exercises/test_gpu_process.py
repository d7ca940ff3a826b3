"""Checks of kernels on a GPU: right answers pass, whatever else a kernel does ends in a sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import client
from fa_toolkit.exercises.checker import Seconds
from fa_toolkit.language import say, using

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(240)]
COMPILED = [
    x for x in exercises.ids()
    if exercises.get(x).needs_triton and not exercises.get(x).counts_bytes
]  # fmt: skip
right = exercises.solution("05.vector_add")


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> Iterator[None]:
    if kernels.mode() != "gpu":
        pytest.skip("no GPU")
    yield
    client.stop()


def check(fn: Any, call: float = 20.0, whole: float = 90.0) -> Any:
    return client.check(exercises.get("05.vector_add"), fn, seconds=Seconds(call, whole))


@pytest.mark.parametrize("exercise_id", COMPILED)
def test_right_answers_pass_and_nothing_is_left_unchecked(exercise_id: str) -> None:
    report = exercises.check(exercise_id, exercises.solution(exercise_id))
    assert report.outcome == "passed", str(report)
    assert not say(report.unchecked) and not report.printed


@triton.jit
def far_kernel(out_ptr, size, BLOCK: tl.constexpr):  # noqa: N803
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs.to(tl.int64) * 1_000_000_000, 1.0)


def writes_far_outside(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    far_kernel[(1,)](out, x.numel(), BLOCK=64)
    torch.cuda.synchronize()
    return out


@triton.jit
def endless_kernel(out_ptr):
    while tl.atomic_add(out_ptr, 1.0) > -1.0:
        pass


def never_ends(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    endless_kernel[(1,)](out)
    torch.cuda.synchronize()
    return out


def asks_for_too_much(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.empty(10**13, device="cuda")


@triton.jit
def wide_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):  # noqa: N803
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs % 3, mask=offs < 3) + undefined)  # noqa: F821


def does_not_compile(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wide_kernel[(1,)](x, out, BLOCK=64)
    return out


HOSTILE = {
    writes_far_outside: ("memory outside its tensors", "访问了张量之外的内存"),
    never_ends: ("still running after 6", "已停止"),
    asks_for_too_much: ("of GPU memory; this GPU has", "显存；这块 GPU 有"),
    does_not_compile: ("undefined", "undefined"),
}


@pytest.mark.parametrize("fn", HOSTILE, ids=lambda fn: fn.__name__)
def test_a_sentence_comes_back_and_the_next_check_works(fn: Any) -> None:
    began = time.monotonic()
    report = check(fn, 6.0, 20.0)
    english, chinese = HOSTILE[fn]
    assert report.outcome == "not yet"
    assert english in str(report), str(report)
    with using("zh"):
        assert chinese in str(report), str(report)
    assert "Traceback" not in str(report)
    assert time.monotonic() - began < 120
    assert check(right).outcome == "passed"
    assert torch.ones(3, device="cuda").sum() == 3  # this process never shared its fate


def test_a_wrong_answer_is_named_by_the_interpreter() -> None:
    @triton.jit
    def half_kernel(x_ptr, y_ptr, out_ptr, size, BLOCK: tl.constexpr):  # noqa: N803
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs)
        y = tl.load(y_ptr + offs)
        tl.store(out_ptr + offs, x + y)

    def no_mask(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        half_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
        return out

    report = check(no_mask)
    if (
        report.outcome == "passed"
    ):  # what lies past the end may hold by chance: the lint still warns
        assert report.warnings
    else:
        assert "mask" in str(report), str(report)
