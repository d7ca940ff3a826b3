"""The kernels for Hopper behind the door: who takes them, opcheck, compile, explain."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest
import torch
from hopper_calls import HALF, problem_of
from hopper_calls import always_better as always_better
from hopper_calls import hopper_here as hopper_here
from oracles import assert_within_budget, make_qkv, truth

import fa_toolkit.kernels as kernels
from fa_toolkit import explain, flash_attention, sdpa
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.hopper import availability
from fa_toolkit.operator import Options, attention_op
from fa_toolkit.problem import Dtype

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty", "hopper_here")]


def test_auto_takes_them_where_they_were_measured_better() -> None:
    for (kind, width, causal), first in availability.MEASURED_BETTER.items():
        if kind == "backward":
            continue
        for n, impl in ((first, "hopper"), (first - 1, "triton")):
            q, k, v = make_qkv(problem_of((n, n), width, causal=causal), device="cuda")
            repeats = [flash_attention(q, k, v, causal=causal) for _ in range(2)]
            named = flash_attention(q, k, v, causal=causal, impl=impl)  # type: ignore[call-overload]
            assert all(torch.equal(o, named) for o in repeats), (width, causal, n)


def test_the_backward_of_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, real = [], routing._hopper_backward
    monkeypatch.setattr(routing, "_hopper_backward", lambda *x: seen.append(1) or real(*x))
    first = availability.MEASURED_BETTER["backward", 128, True]
    q, k, v = (x.requires_grad_() for x in make_qkv(problem_of((first, first), 128), device="cuda"))
    for deterministic, times in ((None, 1), (True, 1), (False, 2)):
        o = flash_attention(q, k, v, causal=True, deterministic=deterministic)
        torch.autograd.grad(o.sum(), (q, k, v))
        assert len(seen) == times
    o = flash_attention(q, k.detach(), v.detach(), causal=True)
    (dq,) = torch.autograd.grad(o.sum(), q)
    assert len(seen) == 2 and bool(dq.isfinite().all())  # dQ alone: fewer products elsewhere


def test_features_go_to_the_readable_kernel(always_better: None) -> None:
    q, k, v = make_qkv(problem_of((300, 400), 64), device="cuda")
    sink = torch.zeros(2, device="cuda")
    options: tuple[dict[str, Any], ...] = (
        {"window": (50, 0)}, {"softcap": 5.0}, {"sink": sink}, {"dropout_p": 0.3, "seed": 1},
        {"scale": -0.3}, {"scale": 0.0},
    )  # fmt: skip
    for some in options:
        auto, named = (
            flash_attention(q, k, v, **some),
            flash_attention(q, k, v, impl="triton", **some),
        )
        assert torch.equal(auto, named), some
    odd = torch.empty(q.numel() + 1, dtype=q.dtype, device="cuda")[1:].view(q.shape).copy_(q)
    assert torch.equal(flash_attention(odd, k, v), flash_attention(odd, k, v, impl="triton"))


def test_sdpa_and_autocast(always_better: None) -> None:
    q, k, v = make_qkv(problem_of((300, 300), 64), device="cuda")
    ours = flash_attention(q, k, v, causal=True, impl="hopper")
    assert torch.equal(sdpa(q, k, v, is_causal=True), ours)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        cast = flash_attention(q.float(), k.float(), v.float(), causal=True)
    assert torch.equal(cast, ours)


@pytest.mark.parametrize("width", [64, 128])
def test_opcheck(width: int, always_better: None) -> None:
    problem = problem_of((130, 200), width, heads=(4, 2), causal=True)
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, device="cuda"))
    for impl in ("auto", "hopper"):
        options = Options(causal=True, impl=impl)
        torch.library.opcheck(attention_op, (q, k, v, *[None] * 4, *options))


def test_compile_sees_one_graph_and_no_recompile_for_a_new_length(always_better: None) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *x: flash_attention(*x, causal=True), fullgraph=True, dynamic=True
    )
    problem = problem_of((130, 200), 128, heads=(4, 2), causal=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for n in (77, 155, 311):
            some = replace(problem, len_q=n, len_k=n + 53)
            q, k, v = (x.requires_grad_() for x in make_qkv(some, device="cuda"))
            o, plain = compiled(q, k, v), flash_attention(q, k, v, causal=True)
            assert torch.equal(o, plain)
            assert torch.equal(o, flash_attention(q, k, v, causal=True, impl="hopper"))
            mine = torch.autograd.grad(o, (q, k, v), plain.detach())
            theirs = torch.autograd.grad(plain, (q, k, v), plain.detach())
            exact = truth(q, k, v, causal=True, do=plain)
            assert_within_budget("dq", mine[0], exact)
            assert all(torch.equal(a, b) for a, b in zip(mine[1:], theirs[1:], strict=True))


class Spy:
    """A kernel that remembers how it is started."""

    def __init__(self, name: str, kernel: Any, seen: list[tuple[str, int]]) -> None:
        self.name, self.kernel, self.seen = name, kernel, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        self.seen.append((self.name, grid[0]))
        return self.kernel[grid]


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
def test_explain_says_what_is_started(
    width: int, causal: bool, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []
    routing._launch_for.cache_clear()
    for home in ("prepared", "backward_call"):
        module = importlib.import_module(f"fa_toolkit.kernels.hopper.{home}")
        for name in [x for x in vars(module) if x.startswith("hopper_") and x.endswith("_kernel")]:
            monkeypatch.setattr(module, name, Spy(name, getattr(module, name), seen))
    for lengths in ((1000, 1000), (2048, 2500)):
        problem = problem_of(lengths, width, heads=(8, 2), dtype=dtype, causal=causal)
        q, k, v = (x.requires_grad_() for x in make_qkv(problem, device="cuda"))
        seen.clear()
        answer = explain(q, k, v, causal=causal, impl="hopper")
        flash_attention(q, k, v, causal=causal, impl="hopper").sum().backward()
        assert [(x.kernel, x.programs) for x in answer.launches] == seen
        assert all(getattr(kernels, x.kernel) is not None for x in answer.launches)
    routing._launch_for.cache_clear()
