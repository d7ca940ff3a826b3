"""A thousand runs of forward and backward on a GPU give the same bits, whatever else is going on."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from oracles import make_qkv

from fa_toolkit import flash_attention
from fa_toolkit.problem import AttentionProblem

pytestmark = pytest.mark.gpu
REPEATS = 1000
#: grouped heads, ragged lengths and everything that could add in another order
CALLS: dict[str, tuple[AttentionProblem, dict[str, Any]]] = {
    "plain": (
        AttentionProblem(4, 8, 2, 513, 700, 64, dtype="bfloat16", causal=True),
        {"deterministic": True},  # the kernel for Hopper adds dQ up in an order of chance
    ),
    "everything": (
        AttentionProblem(4, 4, 2, 300, 421, 80, 96, "float16", True, (200, 0)),
        {"softcap": 20.0, "dropout_p": 0.1, "seed": 5},
    ),
    "float32": (AttentionProblem(4, 4, 1, 130, 260, 40, 24, "float32"), {}),
}


@functools.cache
def _inputs(name: str) -> tuple[torch.Tensor, ...]:
    problem, _ = CALLS[name]
    q, k, v = make_qkv(problem, device="cuda")
    do = torch.randn(*q.shape[:3], v.shape[3], device="cuda").to(q.dtype)
    return q, k, v, do, torch.randn(q.shape[1], device="cuda")


def _run(name: str, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """o, lse, dq, dk, dv, dsink."""
    problem, options = CALLS[name]
    q, k, v, do, sink = (x.detach() for x in tensors)
    leaves = [x.requires_grad_() for x in (q, k, v, sink)]
    o, lse = flash_attention(
        q, k, v, sink=sink, causal=problem.causal, window=problem.window, return_lse=True, **options
    )
    grads = torch.autograd.grad((o, lse), leaves, (do, torch.ones_like(lse)))
    return o.detach(), lse.detach(), *grads


def _differing(found: tuple[torch.Tensor, ...], first: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """How many bits' worth of results differ, without waiting for the device."""
    return torch.stack([(a != b).sum() for a, b in zip(found, first, strict=True)]).sum()


@pytest.mark.parametrize("name", CALLS)
def test_a_thousand_runs(name: str) -> None:
    """Each run on one of four side streams, which work at the same time."""
    inputs = _inputs(name)
    first = _run(name, *inputs)
    streams = [torch.cuda.Stream() for _ in range(4)]
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    differing = []
    for i in range(REPEATS):
        with torch.cuda.stream(streams[i % len(streams)]):
            differing.append(_differing(_run(name, *inputs), first))
    torch.cuda.synchronize()
    assert int(torch.stack(differing).sum()) == 0
    assert all(bool(torch.isfinite(x).all()) for x in first)


@pytest.mark.parametrize("name", ["plain", "float32"])
def test_a_thousand_runs_in_changing_places(name: str) -> None:
    """A sequence gives the same bits wherever it lies in the batch, between whatever others."""
    q, k, v, do, sink = _inputs(name)
    first = _run(name, q, k, v, do, sink)[:5]
    rng = torch.Generator().manual_seed(0)
    differing = []
    for _ in range(REPEATS):
        order = torch.randperm(len(q), generator=rng).cuda()
        found = _run(name, *(x[order] for x in (q, k, v, do)), sink)[:5]
        differing.append(_differing(found, tuple(x[order] for x in first)))
    assert int(torch.stack(differing).sum()) == 0


def test_a_batch_of_one_gives_the_bits_of_a_batch_of_many() -> None:
    q, k, v, do, sink = _inputs("plain")
    first = _run("plain", q, k, v, do, sink)[:5]
    for b in range(len(q)):
        alone = _run("plain", *(x[b : b + 1] for x in (q, k, v, do)), sink)[:5]
        assert int(_differing(alone, tuple(x[b : b + 1] for x in first))) == 0
