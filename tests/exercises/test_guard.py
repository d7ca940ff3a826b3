"""Whatever a learner's function does, a sentence comes back with their own line in it."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import guard
from fa_toolkit.language import say, using

PAIR = (1, 2)


def test_an_error_names_the_learners_line() -> None:
    def fn(a: int, b: int) -> Any:
        q = torch.zeros(2, 3)
        return q @ torch.zeros(2, 3)  # does not fit

    found = guard.call(fn, PAIR, seconds=5)
    text = say(found.sentence)
    assert found.kind == "error" and "q @ torch.zeros(2, 3)" in text
    assert "RuntimeError" in text and "site-packages" not in text and "Traceback" not in text


def test_an_error_inside_a_callback_names_the_deepest_own_line() -> None:
    def key(x: int) -> float:
        return x / 0

    found = guard.call(lambda a, b: sorted([a, b], key=key), PAIR, seconds=5)
    assert "return x / 0" in say(found.sentence) and "ZeroDivisionError" in say(found.sentence)


def test_the_wrong_number_of_arguments_is_said() -> None:
    found = guard.call(lambda a: a, PAIR, seconds=5)
    assert found.kind == "error" and "takes 1 positional argument" in say(found.sentence)


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "raised",
    [
        SystemExit(3), AssertionError(), KeyError("x"), StopIteration(), GeneratorExit(),
        BaseException("base"), _MuteError(),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_any_exception_comes_back(raised: BaseException) -> None:
    def fn(a: int, b: int) -> None:
        raise raised

    found = guard.call(fn, PAIR, seconds=5)
    assert found.kind == "error" and type(raised).__name__ in say(found.sentence)


def test_the_learners_own_interrupt_passes() -> None:
    def fn(a: int, b: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard.call(fn, PAIR, seconds=5)


def test_endless_recursion_is_a_sentence() -> None:
    def fn(a: int, b: int) -> Any:
        return fn(b, a)

    assert "RecursionError" in say(guard.call(fn, PAIR, seconds=10).sentence)


@pytest.mark.skipif(sys.platform == "win32", reason="no interval timer on Windows")
def test_an_endless_loop_is_stopped_even_behind_a_bare_except() -> None:
    def fn(a: int, b: int) -> None:
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    def stubborn(a: int, b: int) -> None:
        for _ in range(3):
            try:
                while True:
                    time.sleep(0.01)
            except:  # noqa: E722
                pass
        raise RuntimeError("over")

    began = time.monotonic()
    found = guard.call(fn, PAIR, seconds=0.3)
    assert found.kind == "stopped" and "0.3 s" in say(found.sentence)
    with using("zh"):
        assert "已停止" in say(found.sentence)
    guard.call(stubborn, PAIR, seconds=0.3)
    assert time.monotonic() - began < 20


@pytest.mark.skipif(sys.platform == "win32", reason="no interval timer on Windows")
def test_a_loop_that_swallows_everything_is_stopped() -> None:
    def swallows(a: int, b: int) -> None:
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(0.01)

    def swallows_twice(a: int, b: int) -> None:
        while True:
            try:
                try:
                    time.sleep(0.01)
                except:  # noqa: E722
                    time.sleep(0.01)
            except:  # noqa: E722
                continue

    tracer = sys.gettrace()
    for fn in (swallows, swallows_twice):
        began = time.monotonic()
        found = guard.call(fn, PAIR, seconds=0.2)
        assert found.kind == "stopped" and "It was at line" in say(found.sentence)
        assert time.monotonic() - began < 20
        assert sys.gettrace() is tracer


def test_outside_the_main_thread_it_still_runs() -> None:
    found: list[guard.Call] = []
    thread = threading.Thread(
        target=lambda: found.append(guard.call(lambda a, b: a + b, PAIR, seconds=5))
    )
    thread.start()
    thread.join()
    assert found[0].kind == "ok" and found[0].value == 3


def test_a_stub_is_told_from_a_missing_operator() -> None:
    def stub(a: int, b: int) -> None:
        raise NotImplementedError

    def missing(a: int, b: int) -> torch.Tensor:
        return torch.softmax(torch.tensor([a, b]), 0)  # torch has none for whole numbers

    assert guard.call(stub, PAIR, seconds=5).kind == "stub"
    found = guard.call(missing, PAIR, seconds=5)
    assert found.kind == "error" and "not implemented" in say(found.sentence)


def test_passing_the_result_instead_of_the_function_is_explained() -> None:
    report = exercises.check("03.merge", None)  # type: ignore[arg-type]
    assert report.outcome == "not attempted" and "without brackets" in str(report)


def test_a_loop_in_an_exercise_ends_the_check() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        while True:
            x = x + 0

    began = time.monotonic()
    report = exercises.check("03.three_pass", fn)
    assert (report.outcome == "not yet" and "while True" in str(report)) or "x = x + 0" in str(
        report
    )
    assert time.monotonic() - began < 40
    assert [f.status for f in report.findings].count("not run") >= 4


UNMASKED = """
@triton.jit
def unmasked_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x + tl.load(y_ptr + offs))


def my_add(x, y):
    out = torch.empty_like(x)
    unmasked_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, BLOCK=64)
    return out
"""


def test_an_index_outside_a_tensor_is_a_sentence(tmp_path: Path) -> None:
    if kernels.mode() != "interpreter":
        pytest.skip("the bounds check is the interpreter's")
    from fa_toolkit.exercises.triton_names import tl, triton

    file = tmp_path / "cell.py"
    file.write_text(UNMASKED)
    names: dict[str, Any] = {"torch": torch, "tl": tl, "triton": triton}
    exec(compile(UNMASKED, str(file), "exec"), names)
    report = exercises.check("05.vector_add", names["my_add"])
    assert report.failed == ("ragged",)
    assert "Line 5, “x = tl.load(x_ptr + offs)”: x_ptr: expected offsets 0..99" in str(report)


@pytest.mark.parametrize(
    ("told", "english", "chinese"),
    [
        (
            "CUDA out of memory. Tried to allocate 37252.90 GiB. GPU 0 has a total capacity of "
            "139.80 GiB of which 139.29 GiB is free.",
            "asked for 37252.90 GiB of GPU memory; this GPU has 139.80 GiB", "这块 GPU 有 139.80 GiB",
        ),
        (
            "CUDA error: an illegal memory access was encountered\nFor debugging consider passing",
            "reached memory outside its tensors", "访问了张量之外的内存",
        ),
        (
            "CUDA error: operation not supported on global/shared address space\nCompile with",
            "reached memory outside its tensors", "访问了张量之外的内存",
        ),
        ("Triton Error [CUDA]: misaligned address", "does not allow", "不允许的地址"),
        (
            "CUDA error: unspecified launch failure\nCompile with `TORCH_USE_CUDA_DSA` to enable "
            "device-side assertions.",
            "most often because it reached memory outside", "多半是因为访问了张量之外的内存",
        ),
    ],
)  # fmt: skip
def test_what_a_gpu_says_is_put_in_words(told: str, english: str, chinese: str) -> None:
    def fn(a: int, b: int) -> None:
        raise RuntimeError(told)

    found = guard.call(fn, PAIR, seconds=5)
    assert english in say(found.sentence) and "raise RuntimeError(told)" in say(found.sentence)
    with using("zh"):
        assert chinese in say(found.sentence)


def test_other_errors_speak_for_themselves() -> None:
    def fn(a: int, b: int) -> None:
        raise RuntimeError("shape mismatch")

    assert "RuntimeError: shape mismatch" in say(guard.call(fn, PAIR, seconds=5).sentence)
