"""Peak memory by the allocator, host time by a clock."""

from __future__ import annotations

import itertools

import pytest
import torch
from bench_fakes import ready
from torch import Tensor

from fa_toolkit.bench import cpu
from fa_toolkit.bench.host import measure_host, over_sdpa
from fa_toolkit.bench.memory import cpu_peak, measure_memory
from fa_toolkit.bench.providers import EAGER, find
from fa_toolkit.measured import Host
from fa_toolkit.problem import AttentionProblem
from fa_toolkit.reference import attention


def square(length: int) -> AttentionProblem:
    return AttentionProblem(1, 2, 2, length, length, 16, dtype="float32", causal=False)


def test_the_peak_is_what_was_alive_at_once() -> None:
    megabyte = 2**20 // 4

    def one_after_the_other() -> None:
        for _ in range(3):
            torch.empty(megabyte).fill_(1.0)

    def together() -> list[Tensor]:
        return [torch.empty(megabyte).fill_(1.0) for _ in range(3)]

    assert cpu_peak(one_after_the_other) == 2**20
    assert cpu_peak(together) == 3 * 2**20


def test_eager_grows_with_the_square_and_tiles_do_not() -> None:
    tiled, eager = find(cpu.ON_CPU)[0]
    peaks = {}
    for length in (128, 512):
        rows = measure_memory(square(length), [tiled, eager], device="cpu", passes=("forward",))
        peaks[length] = {row.provider: row.mib for row in rows}
    scores = 2 * 512 * 512 * 4 / 2**20
    assert peaks[512]["eager"] >= 2 * scores, "S and P at least"
    assert peaks[512]["eager"] / peaks[128]["eager"] > 12
    assert peaks[512]["ours_tiled"] / peaks[128]["ours_tiled"] < 6
    assert peaks[512]["ours_tiled"] < scores


def test_training_holds_more_and_failures_are_rows() -> None:
    def exhausts(*_: object) -> Tensor:
        raise torch.OutOfMemoryError("no")

    eager = find([EAGER])[0]
    rows = list(measure_memory(square(128), [*eager, ready("x", exhausts)], device="cpu"))
    forward, training, *lost = rows
    assert forward.pass_ == "forward" and training.pass_ == "training"
    assert training.mib > forward.mib  # type: ignore[operator]
    assert [(row.provider, row.mib, row.failed) for row in lost] == [
        ("x", None, "out of memory")
    ] * 2


def test_host_time_is_the_median_of_calls_after_warm_up() -> None:
    now, calls = [0.0], itertools.count()

    def slowly(q: Tensor, k: Tensor, v: Tensor, p: AttentionProblem) -> Tensor:
        # the first twenty of each kind take a millisecond, others 30 us, with gradients 70
        now[0] += 1e-6 * (1000 if next(calls) < 40 else 70 if q.requires_grad else 30)
        return attention(q, k, v)[0]

    wide = ready("wide", lambda q, k, v, p: q, scores=4)
    clock = lambda: now[0]  # noqa: E731
    rows = measure_host(square(16), [ready("a", slowly), wide], device="cpu", calls=9, clock=clock)
    assert [(row.provider, row.microseconds) for row in rows] == [("a", pytest.approx(30))]
    assert rows[0].trained == pytest.approx(70) and rows[0].replayed is None


def test_a_host_that_is_busy_for_a_while_is_busy_for_all() -> None:
    """Ten times slower for twenty calls in eighty, all at once."""
    now, calls = [0.0], itertools.count()

    def one(q: Tensor, k: Tensor, v: Tensor, p: AttentionProblem) -> Tensor:
        now[0] += 1e-5 * (10 if 80 <= next(calls) < 100 else 1)
        return q + k + v

    rows = measure_host(square(16), [ready("a", one), ready("b", one)], device="cpu", calls=20,
                        clock=lambda: now[0])  # fmt: skip
    assert {row.microseconds for row in rows} == {10.0} == {row.trained for row in rows}


def test_a_backward_that_fails_leaves_the_time_of_the_forward() -> None:
    def once(q: Tensor, k: Tensor, v: Tensor, p: AttentionProblem) -> Tensor:
        if q.requires_grad:
            raise RuntimeError("no backward")
        return q

    [row] = measure_host(square(16), [ready("a", once)], device="cpu", calls=3)
    assert row.microseconds > 0 and row.trained is None


def test_what_a_provider_adds_is_its_time_less_sdpa_s() -> None:
    p, other = square(512), square(1024)
    rows = [Host("ours", p, 42.0), Host("sdpa_flash", p, 20.0), Host("fa3", other, 9.0)]
    assert over_sdpa(rows) == {"ours": 22.0}


def test_bills_counted_and_modelled_agree() -> None:
    bills = list(cpu.bills())
    assert {bill.algorithm for bill in bills} == {"standard_forward", "flash_forward"}
    assert all(bill.counted == bill.modelled and sum(bill.counted) for bill in bills)
