"""Packed sequences on a GPU: many of them, graphs that are replayed with other lengths."""

from __future__ import annotations

import pytest
import torch
from oracles import assert_no_worse_than_peer, plain_attention, truth
from varlen_cases import CASES, Case, check_gradients, make, offsets, sequences

from fa_toolkit import flash_attention_varlen
from fa_toolkit.operator import Options, attention_op

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]

LARGE = (
    Case((700, 0, 129, 1), (700, 40, 129, 900), (8, 2), (128, 128), "bfloat16", (70, 3)),
    Case((300, 513), (1000, 600), (4, 4), (64, 80), "float16", sink=True, flags={"causal": True}),
    Case((100, 257), (256, 100), (2, 1), (40, 24), "float32", flags={"window": (50, 9)}),
    Case((200, 90), (200, 90), (2, 2), (64, 64), "float16", dropout_p=0.2, flags={"causal": True}),
    Case((130, 77), (130, 200), (2, 1), (256, 256), "bfloat16", flags={"softcap": 15.0}),
)


@pytest.mark.parametrize(
    "case", [c for c in (*CASES, *LARGE) if c.dtype != "float64"], ids=lambda case: case.name
)
def test_within_budget(case: Case) -> None:
    check_gradients(flash_attention_varlen, case, "cuda", return_lse=True)


def test_no_worse_than_plain_torch() -> None:
    case = LARGE[0]
    q, k, v, _ = make(case, "cuda")
    cu_q, cu_k = offsets(case.lens_q, "cuda"), offsets(case.lens_k, "cuda")
    o = flash_attention_varlen(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k)
    inputs = sequences(case, q, k, v)
    outputs = sequences(case, o, k)
    for one, (got, _) in zip(inputs, outputs, strict=True):
        if got.numel() and one[1].numel():
            peer, _ = plain_attention(*one)
            assert_no_worse_than_peer("o", got, peer, truth(*one))


def test_two_thousand_sequences() -> None:
    lens = torch.randint(0, 40, (2000,), generator=torch.Generator().manual_seed(1))
    cu = torch.cat([torch.zeros(1, dtype=torch.int32), lens.cumsum(0).to(torch.int32)]).cuda()
    q, k, v = (torch.randn(int(cu[-1]) + 9, 2, 64, device="cuda").half() for _ in "qkv")
    o = flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)
    assert bool((o[-9:] == 0).all())
    first = torch.tensor([int(cu[b]) for b in range(2000) if lens[b]])
    assert torch.equal(o[first.cuda()], v[first.cuda()])  # a first token sees itself alone


def test_a_cuda_graph_is_replayed_with_other_lengths() -> None:
    q, k, v = (torch.randn(600, h, 64, device="cuda").half().requires_grad_() for h in (4, 2, 2))
    do = torch.randn(600, 4, 64, device="cuda").half()
    cu = offsets((100, 0, 350, 120), "cuda")

    def both() -> tuple[torch.Tensor, ...]:
        o = flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)
        return (o.detach(), *torch.autograd.grad(o, (q, k, v), do))

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        both()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = both()
    cu.copy_(offsets((1, 250, 0, 260), "cuda"))
    graph.replay()
    for a, b in zip(captured, both(), strict=True):
        assert torch.equal(a, b)


def test_bitwise_repeats_and_any_place_in_the_pack() -> None:
    lens = (300, 77, 300)
    q, k, v = (torch.randn(677, 2, 64, device="cuda").half() for _ in "qkv")
    for x in (q, k, v):
        x[377:] = x[:300]
    cu = offsets(lens, "cuda")
    leaves = [x.requires_grad_() for x in (q, k, v)]
    first = None
    for _ in range(20):
        o = flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)
        grads = (o, *torch.autograd.grad(o, leaves, v.detach()))
        assert all(torch.equal(x[:300], x[377:]) for x in grads)
        assert first is None or all(torch.equal(a, b) for a, b in zip(first, grads, strict=True))
        first = grads


def test_opcheck_and_compile() -> None:
    q, k, v = (torch.randn(90, h, 64, device="cuda").half().requires_grad_() for h in (4, 2, 2))
    cu = offsets((40, 0, 41), "cuda")
    torch.library.opcheck(
        attention_op, (q, k, v, None, None, cu, cu, *Options(causal=True, impl="triton"))
    )

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu: torch.Tensor) -> torch.Tensor:
        return flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)

    compiled = torch.compile(call, fullgraph=True, dynamic=True)
    assert torch.equal(compiled(q, k, v, cu), call(q, k, v, cu))


def test_wrong_offsets_stay_inside() -> None:
    q, k, v = (torch.randn(64, 1, 64, device="cuda").half().requires_grad_() for _ in "qkv")
    for given in ([0, 3, 2, 900], [-4, 1, 99, 2], [70, 0, 0, 0]):
        cu = torch.tensor(given, dtype=torch.int32, device="cuda")
        o = flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu.flip(0), causal=True)
        torch.autograd.grad(o, (q, k, v), torch.ones_like(o))
        torch.cuda.synchronize()
