"""Peers of other packages, played by stand-ins with their real signatures: right layout, right mask."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from bench_fakes import FakeTimer
from torch import Tensor

from fa_toolkit.bench.decode import DECODERS, measure_decode
from fa_toolkit.bench.installed import INSTALLED
from fa_toolkit.bench.providers import find
from fa_toolkit.bench.speed import measure_case
from fa_toolkit.problem import AttentionProblem
from fa_toolkit.reference import attention


def bnhd(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Attention in the layout [B, N, H, D]."""
    o, _ = attention(*(x.transpose(1, 2) for x in (q, k, v)), causal=causal)
    return o.transpose(1, 2)


def module(monkeypatch: pytest.MonkeyPatch, name: str, **contents: Any) -> None:
    made = ModuleType(name)
    vars(made).update(contents)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        return bnhd(q, k, v, causal)

    def flash_attn_func_3(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> tuple[Any, ...]:
        return bnhd(q, k, v, causal), None

    class LowerTriangularMask: ...

    def memory_efficient_attention(q: Tensor, k: Tensor, v: Tensor, attn_bias: Any) -> Tensor:
        return bnhd(q, k, v, isinstance(attn_bias, LowerTriangularMask))

    def flash_attn_with_kvcache(
        q: Tensor, k: Tensor, v: Tensor, cache_seqlens: Tensor, causal: bool
    ) -> Tensor:
        assert not causal and bool((cache_seqlens == k.shape[1]).all())
        return bnhd(q, k, v, False)

    monkeypatch.setattr(
        torch, "full", lambda *a, _full=torch.full, **k: _full(*a, **{**k, "device": "cpu"})
    )
    module(monkeypatch, "flash_attn", flash_attn_func=flash_attn_func,
           flash_attn_with_kvcache=flash_attn_with_kvcache)  # fmt: skip
    module(monkeypatch, "fa3_fwd_interface", flash_attn_func=flash_attn_func_3)
    ops = SimpleNamespace(
        LowerTriangularMask=LowerTriangularMask,
        memory_efficient_attention=memory_efficient_attention,
    )
    module(monkeypatch, "xformers", ops=ops)
    monkeypatch.setitem(sys.modules, "xformers.ops", ops)  # type: ignore[arg-type]


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("causal", [True, False])
def test_installed_peers_are_called_as_they_want(causal: bool) -> None:
    chosen, absent = find(INSTALLED)
    assert {each.provider.id for each in chosen} == {"flash_attn", "fa3", "xformers"}
    assert set(absent) == {"fa4", "flashinfer"}
    problem = AttentionProblem(2, 3, 3, 20, 20, 8, dtype="float32", causal=causal)
    rows = measure_case(problem, ("forward", "backward"), chosen, FakeTimer(), device="cpu")
    assert len(rows) == 6 and [row.failed for row in rows] == [""] * 6


@pytest.mark.usefixtures("packages")
def test_what_a_peer_cannot_do_is_said() -> None:
    chosen, _ = find(INSTALLED, only=["xformers", "flash_attn"])
    grouped = AttentionProblem(1, 4, 2, 20, 20, 8, dtype="float32", causal=True)
    rows = measure_case(grouped, ("forward",), chosen, FakeTimer(), device="cpu")
    assert {row.provider: row.failed for row in rows} == {
        "flash_attn": "", "xformers": "unsupported: grouped heads",
    }  # fmt: skip


@pytest.mark.usefixtures("packages")
def test_a_cache_is_handed_over_whole() -> None:
    chosen, _ = find(DECODERS, only=["flash_attn"])
    problem = AttentionProblem(2, 4, 2, 1, 50, 8, dtype="float32")
    [row] = measure_decode(problem, chosen, FakeTimer(), device="cpu")
    assert row.failed == "" and row.gbps
