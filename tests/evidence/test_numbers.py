"""The figures behind the verdicts, against numbers worked out by hand; and a verdict that turns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fa_toolkit import evidence, hardware, io_model, reference, tiled
from fa_toolkit.evidence import blocks, counting, keeping, levels, memory
from fa_toolkit.evidence.record import Evidence

Experiment = Callable[[], Evidence]


def numbers(name: str) -> dict[str, Any]:
    return dict(evidence.ALL[name]().numbers)


def fresh(experiment: Any) -> bool:
    """Whether all that the claim states is found, run anew."""
    return all(check.found for check in experiment.experiment().stated)


def test_levels() -> None:
    four = numbers("S04")
    assert four["l1"] == 108 * 192 * 1024 == 20.25 * 2**20
    assert four["l2"] == 40 * 2**20 and four["registers"] == 27 * 2**20
    assert four["per_block"] == 163 * 1024
    ratio = numbers("S21")
    sram = 108 * 128 * 1.41e9
    assert ratio["a100_40"] == pytest.approx(sram / 1.555e12)
    assert ratio["a100_80"] == pytest.approx(sram / 2.039e12)
    assert 7 < ratio["h200"] < 7.5
    five = numbers("S05")
    assert five["longest_scores"] == math.isqrt(108 * 164 * 1024 // 2)
    assert five["longest_inputs"] == 108 * 164 * 1024 // (4 * 64 * 2)


def test_the_row_of_four() -> None:
    ten, eleven = numbers("S10"), numbers("S11")
    assert ten["sum_1"] == ten["sum_2"] == pytest.approx(1 + 1 / math.e)
    assert ten["m"] == 4 and eleven["factor"] == pytest.approx(math.exp(-2))
    # subtracting: e^-1 - 2 and 1 - 2, then e^-1 and 1, over their sum
    e = math.exp(-1)
    wrong = [e - 2, -1.0, e, 1.0]
    right = torch.softmax(torch.tensor([1.0, 2, 3, 4]), 0)
    worst = max(abs(w / sum(wrong) - r) for w, r in zip(wrong, right.tolist(), strict=True))
    assert eleven["error_of_subtracting"] == pytest.approx(worst, rel=1e-5)


def test_counts() -> None:
    assert numbers("S07") == {"transfers": 6, "tensors_read": 5, "tensors_written": 3}
    eight = numbers("S08")
    assert (eight["transfers"], eight["k_read"]) == (2, 4)
    standard = 2 * 4096 * (64 + 2 * 32 * 64 + 64) + 4 * 2 * 4096 * 4096
    flash = 2 * 4096 * (64 + 2 * 32 * 64 + 64) + 4 * 4096
    assert eight["ratio"] == pytest.approx(standard / flash)
    assert numbers("S06") == {"phases": 3, "eager_launches": 5}
    assert numbers("S13") == {"naive": 2, "safe": 3, "online": 2, "fused": 1}
    assert numbers("S17")["held"] == 4 * (8 + 2)


def test_operations_are_counted_one_by_one() -> None:
    n = 16  # n - 1 comparisons, n subtractions, n exponentials, n - 1 sums, n divisions
    assert counting._count(lambda: counting._safe(counting._row(n))) == 5 * n - 2
    dots = counting._count(lambda: counting._scores([counting._row(8)] * 3, [counting._row(8)] * 2))
    assert dots == 3 * 2 * (8 + 7)


def test_memory_and_what_is_kept() -> None:
    sixteen, eighteen, last = numbers("S16"), numbers("S18"), numbers("S23")
    assert sixteen["blocked"] == 256 * 256
    assert sixteen["eager"] == pytest.approx(2, abs=0.01)
    assert sixteen["flash"] == pytest.approx(1, abs=0.02)
    assert (eighteen["kept"], eighteen["largest"]) == (5, 48 * 8)
    assert eighteen["local"] == pytest.approx(3)  # each of three blocks adds up to 1
    assert last["largest"] == last["n_by_d"] == 512 * 16
    assert last["recomputed"] == 2 * 4 * 4  # dK, dV and dQ each build 4 x 4 tiles again


def test_recorded_ranges() -> None:
    ratio, gain = numbers("S19"), numbers("S01")
    assert (ratio["least"], ratio["most"], ratio["cases"]) == (1.3, 24.3, 24)
    assert gain["decode"] < 1.5 and gain["most"] == 11.4
    bound = numbers("S24")
    assert bound["standard"] < bound["flash"] < bound["ridge"] < bound["flash, L2"]
    assert bound["backward"] == pytest.approx(7 / 4)


def test_s21_turns_with_the_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fresh(levels.twenty_times)
    real = hardware.gpu("a100-40")
    slow = dataclasses.replace(real, hbm_bandwidth=1.0e12)
    monkeypatch.setattr(hardware, "gpu", lambda key: slow)
    assert fresh(levels.twenty_times)


@pytest.mark.parametrize(
    ("experiment", "where", "name", "broken"),
    [
        (blocks.exactly_the_global_softmax, reference, "online_softmax",
         lambda x, block: torch.softmax(x[:block], 0).new_zeros(x.shape)),
        (blocks.multiply_not_subtract, reference, "online_softmax",
         lambda x, block: reference.subtracting_softmax(x, 2)),
        (blocks.same_attention, tiled, "flash_forward",
         lambda q, k, v, **more: reference.attention(q, k[:, :, :-1], v[:, :, :-1], causal=True)),
        (counting.three_walks, reference, "safe_softmax",
         lambda x, passes=None: reference.naive_softmax(x, passes=passes)),
        (memory.never_stored, memory, "flash_attention",
         lambda q, k, v, **more: (torch.softmax(q @ k.mT, -1) @ v, q.sum(-1))[: 1 + (len(more) > 1)]
         if len(more) > 1 else torch.softmax(q @ k.mT, -1) @ v),
        (keeping.what_backward_keeps, keeping, "flash_attention",
         lambda q, k, v, **more: torch.softmax(q @ k.mT / 8**0.5, -1) @ v),
    ],
    ids=["S12", "S11", "S22", "S13", "S23", "S18"],
)  # fmt: skip
def test_a_broken_implementation_turns_the_verdict(
    experiment: Any, where: Any, name: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    found = experiment.experiment()
    assert not all(check.found for check in found.stated)


def test_s24_needs_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    standard = io_model.standard_forward_traffic
    monkeypatch.setattr(io_model, "flash_forward_traffic", standard)
    assert not fresh(evidence.ALL["S24"])
