"""What scripts do with the operator on a GPU: other devices, streams, graphs, huge tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from decode_cases import Case, make
from oracles import assert_within_budget, make_qkv, truth

from fa_toolkit import flash_attention, flash_attention_varlen, flash_decode
from fa_toolkit.problem import AttentionProblem

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]
Step = Callable[[], tuple[torch.Tensor, ...]]


def _packed(device: str) -> Step:
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

    return step


def _dense(device: str) -> Step:
    problem = AttentionProblem(2, 4, 2, 130, 257, 64, dtype="bfloat16", causal=True)
    leaves = [x.to(device).requires_grad_() for x in make_qkv(problem)]
    sink = torch.linspace(-1, 1, 4, device=device, requires_grad=True)

    def step() -> tuple[torch.Tensor, ...]:
        o, lse = flash_attention(
            *leaves, sink=sink, causal=True, dropout_p=0.2, seed=3, return_lse=True
        )
        grads = torch.autograd.grad((o.float().square().sum(), lse.sum()), [*leaves, sink])
        return o.detach(), lse.detach(), *grads

    return step


def _decode(device: str) -> Step:
    x = make(Case((900, 0, 64), (8, 2), (64, 64), page=16, dtype="float16"), device)
    return lambda: flash_decode(
        x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table, return_lse=True
    )


STEPS: dict[str, Callable[[str], Step]] = {"dense": _dense, "packed": _packed, "decode": _decode}


@pytest.mark.parametrize("name", STEPS)
def test_tensors_on_a_device_that_is_not_current(name: str) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    there, here = STEPS[name]("cuda:1")(), STEPS[name]("cuda:0")()
    assert torch.cuda.current_device() == 0
    for a, b in zip(there, here, strict=True):
        assert a.device.index == 1 and torch.equal(a.cpu(), b.cpu())


@pytest.mark.parametrize("name", STEPS)
def test_side_streams(name: str) -> None:
    """Two streams at once, each behind a long wait: nothing runs on the default stream instead."""
    step = STEPS[name]("cuda")
    expected = step()
    torch.cuda.synchronize()
    found = []
    for stream in [torch.cuda.Stream() for _ in range(2)]:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            started = torch.cuda.Event()
            started.record()
            found.append(step())
            assert not started.query() and not stream.query()
    torch.cuda.synchronize()
    for results in found:
        assert all(torch.equal(a, b) for a, b in zip(results, expected, strict=True))


@pytest.mark.parametrize("name", STEPS)
def test_a_captured_graph_replays_the_step(name: str) -> None:
    step = STEPS[name]("cuda")
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

    def peak(dropout_p: float) -> int:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        o = flash_attention(*leaves, dropout_p=dropout_p, seed=1)
        torch.autograd.grad(o, leaves, o.detach())
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    peak(0.5), peak(0.0)
    # one bit for each pair would be 16 MiB
    assert peak(0.5) <= peak(0.0) + 2**20
