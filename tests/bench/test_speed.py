"""A case: every provider is checked before it is timed, in rounds that go there and back."""

from __future__ import annotations

import pytest
import torch
from bench_fakes import FakeTimer, ready
from torch import Tensor

from fa_toolkit.bench import speed
from fa_toolkit.bench.failures import DeviceLost, Unsupported
from fa_toolkit.bench.providers import BUILT_IN, EAGER, OURS, Ready, also, find
from fa_toolkit.errors import ArgumentError
from fa_toolkit.measured import counted_flops
from fa_toolkit.problem import AttentionProblem
from fa_toolkit.reference import attention

PROBLEM = AttentionProblem(1, 2, 2, 24, 24, 8, dtype="float32", causal=True)


def right(q: Tensor, k: Tensor, v: Tensor, problem: AttentionProblem) -> Tensor:
    return attention(q, k, v, causal=problem.causal)[0]


def measure(providers: list[Ready], timer: FakeTimer, **more: object) -> list[speed.Speed]:
    passes = more.pop("passes", ("forward", "backward"))
    return speed.measure_case(PROBLEM, passes, providers, timer, device="cpu", **more)  # type: ignore[arg-type]


def test_rows_of_a_case() -> None:
    timer = FakeTimer()
    rows = measure([ready("a", right), ready("b", right, backward=False)], timer)
    assert [(r.provider, r.pass_) for r in rows] == [
        ("a", "forward"), ("a", "backward"), ("b", "forward"),
    ]  # fmt: skip
    for row in rows:
        assert row.ms == 2.0 and row.rounds == (2.0, 2.0) and not row.failed
        assert row.tflops == pytest.approx(counted_flops(PROBLEM, row.pass_) / 2e9, rel=1e-5)
        assert set(row.errors) == ({"o"} if row.pass_ == "forward" else {"dq", "dk", "dv"})
        assert all(0 <= error < 1e-5 for error in row.errors.values())


def test_rounds_are_interleaved_there_and_back() -> None:
    timer = FakeTimer()
    measure([ready(name, right) for name in "abc"], timer, passes=("forward",), rounds=3)
    first, second, third = (timer.asked[at : at + 3] for at in (0, 3, 6))
    assert second == first[::-1] and third == first and len(timer.asked) == 9


def test_what_is_wrong_or_fails_is_reported_and_never_timed() -> None:
    def bad(q: Tensor, k: Tensor, v: Tensor, problem: AttentionProblem) -> Tensor:
        return right(q, k, v, problem) * 1.1

    def refuses(*_: object) -> Tensor:
        raise Unsupported("no such heads")

    def breaks(*_: object) -> Tensor:
        raise ValueError("two\nlines")

    def exhausts(*_: object) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    timer = FakeTimer()
    named = {"bad": bad, "refuses": refuses, "breaks": breaks, "exhausts": exhausts}
    rows = measure([ready(name, f) for name, f in named.items()], timer, passes=("forward",))
    said = {row.provider: row.failed for row in rows}
    assert said["bad"].startswith("wrong output: o 1.0e-01")
    assert said["refuses"] == "unsupported: no such heads"
    assert said["breaks"] == "error: ValueError: two lines"
    assert said["exhausts"] == "out of memory"
    assert timer.prepared == 0 and all(row.ms is None and row.tflops is None for row in rows)


def test_wrong_gradients_are_found_though_the_output_is_right() -> None:
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(q, k, v)
            return right(q, k, v, PROBLEM)

        @staticmethod
        def backward(ctx, do):  # type: ignore[no-untyped-def]
            q, k, v = (x.detach().requires_grad_() for x in ctx.saved_tensors)
            with torch.enable_grad():
                dq, dk, dv = torch.autograd.grad(right(q, k, v, PROBLEM), (q, k, v), do)
            return dq, 2 * dk, dv

    careless = ready("careless", lambda q, k, v, p: Careless.apply(q, k, v))  # type: ignore[no-untyped-call]
    forward, backward = measure([careless], FakeTimer())
    assert not forward.failed and backward.failed == "wrong output: dk 1.0e+00"


def test_a_lost_device_ends_the_run() -> None:
    def lost(*_: object) -> Tensor:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(DeviceLost):
        measure([ready("lost", lost)], FakeTimer(), passes=("forward",))


def test_sustained_rows_carry_clock_and_power() -> None:
    rows = measure([ready("a", right)], FakeTimer(), passes=("forward",), sustain_s=1.0)
    burst, sustained = rows
    assert (burst.regime, sustained.regime) == ("burst", "sustained")
    assert (sustained.ms, sustained.clock_mhz, sustained.watts) == (2.5, 1500.0, 690.0)


def test_quadratic_providers_are_timed_once_and_freed() -> None:
    timer = FakeTimer()
    rows = measure([ready("a", right), ready("wide", right, scores=4)], timer, passes=("forward",))
    assert {row.provider: len(row.rounds) for row in rows} == {"a": 2, "wide": 1}


def test_the_providers_that_come_with_torch_compute_attention() -> None:
    chosen, absent = find([OURS, EAGER, *BUILT_IN[5:6]])
    rows = measure(chosen, FakeTimer())
    assert not absent and [r for r in rows if r.failed] == []
    assert {row.provider for row in rows} == {"ours", "eager", "sdpa_math"}
    grouped = AttentionProblem(2, 4, 2, 12, 12, 8, dtype="float32")
    rows = speed.measure_case(grouped, ("forward",), chosen, FakeTimer(), device="cpu")
    assert [r for r in rows if r.failed] == []


def test_finding_says_why_a_provider_is_absent() -> None:
    def gone() -> None:
        raise ImportError("no module named x")

    from fa_toolkit.bench.providers import Provider

    known = [Provider("x", gone), EAGER]  # type: ignore[arg-type]
    found, absent = find(known)
    assert [each.provider.id for each in found] == ["eager"]
    assert absent == {"x": "ImportError: no module named x"}
    assert find(known, without={"x"})[1] == {} and find(known, only=["eager"])[1] == {}
    with pytest.raises(ArgumentError, match="y"):
        find(known, only=["y"])


def test_a_reader_s_own_function_is_a_provider(tmp_path: object) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "mine.py"
    file.write_text(
        "from fa_toolkit.reference import attention\n"
        "def mine(q, k, v, causal): return attention(q, k, v, causal=causal)\n"
    )
    found, _ = find([also(f"{file}:mine")])
    rows = measure(found, FakeTimer())
    assert [row.failed for row in rows] == ["", ""] and rows[0].provider.endswith("mine.py:mine")
    for target in (f"{file}:none", "no_such_module:f", "json:__name__", "words"):
        with pytest.raises(ArgumentError, match="--also"):
            also(target)
