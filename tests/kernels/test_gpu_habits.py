"""What scripts do with the operator on a GPU: other devices, streams, graphs, huge tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from decode_cases import Case, make
from oracles import assert_within_budget, make_qkv, truth

from fa_toolkit import flash_attention, flash_attention_varlen, flash_decode, repeated
from fa_toolkit.problem import AttentionProblem

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]
Step = Callable[[], tuple[torch.Tensor, ...]]
Inputs = tuple[torch.Tensor, ...]
A_WHILE = 10**9  # cycles, about half a second


def _packed(device: str) -> tuple[Inputs, Step]:
    """Forward and backward of three packed sequences on the device."""
    rng = torch.Generator().manual_seed(0)
    q, k, v, do = (
        torch.randn(130, heads, 64, generator=rng).half().to(device) for heads in (4, 2, 2, 4)
    )
    leaves = [x.requires_grad_() for x in (q, k, v)]
    cu = torch.tensor([0, 63, 63, 127], dtype=torch.int32, device=device)

    def step() -> tuple[torch.Tensor, ...]:
        o = flash_attention_varlen(*leaves, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)
        return o.detach(), *torch.autograd.grad(o, leaves, do)

    return (q, k, v, do), step


def _dense(device: str) -> tuple[Inputs, Step]:
    problem = AttentionProblem(2, 4, 2, 130, 257, 64, dtype="bfloat16", causal=True)
    leaves = [x.to(device).requires_grad_() for x in make_qkv(problem)]
    sink = torch.linspace(-1, 1, 4, device=device, requires_grad=True)

    def step() -> tuple[torch.Tensor, ...]:
        o, lse = flash_attention(
            *leaves, sink=sink, causal=True, dropout_p=0.2, seed=3, return_lse=True
        )
        grads = torch.autograd.grad((o.float().square().sum(), lse.sum()), [*leaves, sink])
        return o.detach(), lse.detach(), *grads

    return (*leaves, sink), step


def _decode(device: str) -> tuple[Inputs, Step]:
    x = make(Case((900, 0, 64), (8, 2), (64, 64), page=16, dtype="float16"), device)
    return (x.q, x.k_cache, x.v_cache, x.seq_lens), lambda: flash_decode(
        x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table, return_lse=True
    )


STEPS: dict[str, Callable[[str], tuple[Inputs, Step]]] = {
    "dense": _dense,
    "packed": _packed,
    "decode": _decode,
}


@pytest.mark.parametrize("name", STEPS)
def test_tensors_on_a_device_that_is_not_current(name: str) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    there, here = STEPS[name]("cuda:1")[1](), STEPS[name]("cuda:0")[1]()
    assert torch.cuda.current_device() == 0
    for a, b in zip(there, here, strict=True):
        assert a.device.index == 1 and torch.equal(a.cpu(), b.cpu())


@pytest.mark.parametrize("name", STEPS)
def test_side_streams(name: str) -> None:
    """The inputs come to be only on a side stream, after a long wait: no launch may be elsewhere."""
    inputs, step = STEPS[name]("cuda")
    expected, kept = step(), [x.detach().clone() for x in inputs]
    stream = torch.cuda.Stream()
    with torch.no_grad():
        for x in inputs:
            x.zero_()
    assert not torch.equal(step()[0], expected[0])
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(A_WHILE)
        with torch.no_grad():
            for x, values in zip(inputs, kept, strict=True):
                x.copy_(values)
        found = step()
        assert not stream.query()  # nothing waited for the device
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", STEPS)
def test_a_captured_graph_replays_the_step(name: str) -> None:
    _, step = STEPS[name]("cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for x in captured:
        x.fill_(float("nan"))
    graph.replay()
    expected = step()
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(captured, expected, strict=True))


def test_each_replay_of_a_graph_drops_anew() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 2, 64, 64, 64), torch.float16, device="cuda")
    flash_attention(q, k, v, dropout_p=0.5)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = flash_attention(q, k, v, dropout_p=0.5)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(o.clone())
    assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])


def test_a_tensor_of_more_than_2_31_elements() -> None:
    """Queries, outputs and gradients whose last rows lie past 2^31 elements of one head."""
    rows, width, last = 2**23 + 100, 256, 50
    problem = AttentionProblem(1, 1, 1, last, 33, width)
    tail, k, v = make_qkv(problem, torch.float16, device="cuda")
    q = torch.zeros(1, 1, rows, width, dtype=torch.float16, device="cuda")
    assert q.numel() > 2**31
    q[:, :, -last:] = tail
    do = torch.randn(1, 1, 1, width, device="cuda").half()
    o = flash_attention(q.requires_grad_(), k, v)
    (dq,) = torch.autograd.grad(o, q, do.expand_as(o))
    exact = truth(tail, k, v, do=do.expand(1, 1, last, width))
    assert_within_budget("o", o[:, :, -last:], exact)
    assert_within_budget("dq", dq[:, :, -last:], exact)
    middle = truth(q[:, :, :last], k, v, do=do.expand(1, 1, last, width))  # q = 0
    assert_within_budget("o", o[:, :, rows // 2 : rows // 2 + last], middle)
    assert_within_budget("dq", dq[:, :, rows // 2 : rows // 2 + last], middle)


def test_dropout_stores_no_mask() -> None:
    problem = AttentionProblem(1, 2, 2, 8192, 8192, 64)
    leaves = [x.requires_grad_() for x in make_qkv(problem, torch.float16, device="cuda")]

    def asked() -> dict[str, int]:
        return torch.cuda.memory_stats()  # what was asked for, not the blocks it came in

    def peak(dropout_p: float) -> int:
        gc.collect()  # what an earlier test left in cycles must not go while we measure
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = asked()["requested_bytes.all.current"]
        # the kernels without dropout too, whose memory is that of the gradients
        o = flash_attention(*leaves, dropout_p=dropout_p, seed=1, impl="triton")
        torch.autograd.grad(o, leaves, o.detach())
        torch.cuda.synchronize()
        return asked()["requested_bytes.all.peak"] - before

    peak(0.5), peak(0.0)
    dropped, plain = (min(peak(p) for _ in range(3)) for p in (0.5, 0.0))
    # one bit for each pair would be 16 MiB
    assert dropped <= plain + 2**20, f"{dropped} B with dropout, {plain} B without"


@pytest.mark.parametrize("impl", ["auto", "triton"])
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_repeated_call_starts_the_compiled_kernels_on_other_tensors(
    dtype: str, dim: int, training: bool, impl: Any
) -> None:
    """Other numbers, a graph, another stream, addresses that are not aligned."""
    kind = getattr(torch, dtype)
    problem = AttentionProblem(2, 4, 2, 200, 300, dim, causal=True)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    do = torch.randn(2, 4, 200, dim, device="cuda").to(kind) if training else None

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
        """o, and the gradients."""
        leaves = [x.detach().requires_grad_(training) for x in (q, k, v)]
        o = flash_attention(*leaves, causal=True, impl=impl)
        return [o.detach(), *(torch.autograd.grad(o, leaves, do) if training else ())]

    def fresh(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        like = make_qkv(problem, kind, device="cuda")
        return [torch.randn(x.shape, device="cuda").to(kind) for x in like]

    attend(*fresh(0))
    known = len(repeated._READY)
    seen = [(x := fresh(1), attend(*x))]
    with torch.cuda.stream(stream):
        seen.append((y := fresh(2), attend(*y)))
    z = fresh(3)
    stream.synchronize()
    with torch.cuda.graph(graph):
        captured = attend(*z)
    for a, b in zip(z, fresh(4), strict=True):
        a.copy_(b)
    graph.replay()
    seen.append((z, captured))
    assert len(repeated._READY) == known
    odd = [torch.empty(x.numel() + 1, dtype=kind, device="cuda")[1:].view(x.shape) for x in z]
    for a, b in zip(odd, z, strict=True):
        a.copy_(b)
    seen.append((odd, attend(*odd)))
    torch.cuda.synchronize()
    for tensors, found in seen:
        exact = truth(*tensors, do=do, causal=True)
        for name, x in zip(("o", "dq", "dk", "dv"), found, strict=False):
            assert_within_budget(name, x, exact)
