"""Decoding: one query against a cache, checked and timed like the rest, reported in bytes."""

from __future__ import annotations

import pytest
from bench_fakes import FakeTimer, ready

from fa_toolkit.bench.decode import DECODERS, measure_decode
from fa_toolkit.bench.providers import find
from fa_toolkit.io_model import decode_traffic
from fa_toolkit.problem import AttentionProblem

PROBLEM = AttentionProblem(2, 4, 2, 1, 100, 16, dtype="float32")


def test_ours_and_torch_s_decode_the_same() -> None:
    chosen, _ = find(DECODERS, only=["ours", "sdpa_math", "eager"])
    rows = measure_decode(PROBLEM, chosen, FakeTimer(ms=0.5), device="cpu")
    assert [row.provider for row in rows] == ["ours", "sdpa_math", "eager"]
    assert [row.failed for row in rows] == ["", "", ""]
    for row in rows:
        assert row.gbps == pytest.approx(decode_traffic(PROBLEM).total / 0.5e6, rel=1e-5)
        assert row.tflops is None and row.pass_ == "decode" and row.errors["o"] < 1e-5


def test_a_wrong_decoder_is_not_timed() -> None:
    timer = FakeTimer()
    rows = measure_decode(PROBLEM, [ready("off", lambda q, k, v, p: q)], timer, device="cpu")
    assert rows[0].failed.startswith("wrong output") and timer.prepared == 0
