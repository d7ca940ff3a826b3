"""The backward kernels and the operator on a GPU: large shapes, half types, streams, repeats."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from attention_cases import CASES, FEATURES, Case, check, check_backward
from oracles import (
    DTYPES,
    LAYOUTS,
    assert_no_worse_than_peer,
    assert_within_budget,
    case_id,
    make_qkv,
    plain_attention,
    truth,
)
from test_gpu import LARGE, SWEEP_D

import fa_toolkit.kernels as kernels
from fa_toolkit import flash_attention
from fa_toolkit.operator import Options, attention_op
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]
HALF = ("float16", "bfloat16")


@pytest.mark.parametrize("dtype", [*HALF, "float32"])
@pytest.mark.parametrize("problem", LARGE, ids=case_id)
def test_large(problem: AttentionProblem, dtype: str) -> None:
    case = Case(replace(problem, dtype=dtype), None)  # type: ignore[arg-type]
    check_backward(kernels.flash_backward, case, "cuda")


@pytest.mark.parametrize("dtype", [*HALF, "float32"])
@pytest.mark.parametrize("case", FEATURES, ids=lambda case: case.name)
def test_features_at_size(case: Case, dtype: str) -> None:
    grown = replace(
        case.problem,
        len_q=7 * case.problem.len_q,
        len_k=7 * case.problem.len_k,
        head_dim=64,
        head_dim_v=64 if case.problem.head_dim == case.problem.head_dim_v else 80,
        dtype=dtype,  # type: ignore[arg-type]
    )
    large = replace(case, problem=grown, tile=None)
    check(kernels.flash_forward, large, "cuda")
    check_backward(kernels.flash_backward, large, "cuda")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_small_cases_without_a_tile(case: Case) -> None:
    check_backward(kernels.flash_backward, replace(case, tile=None), "cuda")


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("problem", LARGE[:4], ids=case_id)
def test_no_worse_than_plain_torch(problem: AttentionProblem, dtype: str) -> None:
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, DTYPES[dtype], device="cuda"))
    peer, _ = plain_attention(q, k, v, causal=problem.causal)
    do = torch.randn_like(peer)
    peers = torch.autograd.grad(peer, (q, k, v), do)
    o = flash_attention(q, k, v, causal=problem.causal)
    grads = torch.autograd.grad(o, (q, k, v), do)
    exact = truth(q, k, v, causal=problem.causal, do=do)
    for name, got, theirs in zip(("dq", "dk", "dv"), grads, peers, strict=True):
        assert_no_worse_than_peer(name, got, theirs, exact)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*HALF, "float32"])
def test_layouts(layout: str, dtype: str) -> None:
    problem = AttentionProblem(2, 4, 2, 200, 333, 72, 40, dtype, True)  # type: ignore[arg-type]
    check_backward(kernels.flash_backward, Case(problem, None, layout), "cuda")


@pytest.mark.parametrize("dtype", [*HALF, "float32"])
@pytest.mark.parametrize("d", SWEEP_D)
def test_every_head_dimension(d: int, dtype: str) -> None:
    for dv in (d, 257 - d):
        problem = AttentionProblem(1, 2, 1, 130, 200, d, dv, dtype, True)  # type: ignore[arg-type]
        check_backward(kernels.flash_backward, Case(problem, None), "cuda")


@pytest.mark.parametrize("m", [16, 32, 64])
@pytest.mark.parametrize("n", [16, 32, 64, 128])
def test_given_tiles(m: int, n: int) -> None:
    case = Case(replace(LARGE[4], dtype="bfloat16"), TileShape(m, n))
    check_backward(kernels.flash_backward, case, "cuda")


def test_a_thousand_repeats_are_bitwise_equal() -> None:
    q, k, v = make_qkv(LARGE[3], torch.bfloat16, device="cuda")
    o, lse = kernels.flash_forward(q, k, v, causal=True)
    do = torch.randn_like(o)
    first = kernels.flash_backward(q, k, v, o, lse, do, causal=True)
    for _ in range(1000):
        again = kernels.flash_backward(q, k, v, o, lse, do, causal=True)
        for a, b in zip(first[:3], again[:3], strict=True):
            assert torch.equal(a, b)


def test_places_in_a_batch_and_streams_do_not_matter() -> None:
    q, k, v = make_qkv(LARGE[0], torch.float16, device="cuda")
    o, lse = kernels.flash_forward(q, k, v)
    whole = kernels.flash_backward(q, k, v, o, lse, o)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        second = kernels.flash_backward(*(x[1:] for x in (q, k, v, o, lse, o)))
    stream.synchronize()
    for a, b in zip(whole[:3], second[:3], strict=True):
        assert torch.equal(a[1:], b)


def test_memory_is_gradients_and_one_number_a_row() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 2, 8192, 8192, 64), torch.float16, device="cuda")
    o, lse = kernels.flash_forward(q, k, v)
    kernels.flash_backward(q, k, v, o, lse, o)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    grads = kernels.flash_backward(q, k, v, o, lse, o)
    used = torch.cuda.max_memory_allocated() - before
    floor = sum(x.numel() * x.element_size() for x in grads[:3]) + 4 * lse.numel()
    assert floor <= used <= floor + 2**20


def test_opcheck_and_compile_on_the_device() -> None:
    problem = AttentionProblem(2, 4, 2, 77, 130, 64, causal=True)
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, torch.float16, device="cuda"))
    options = Options(causal=True, left=30, softcap=20.0, impl="triton")
    sink = torch.zeros(4, device="cuda", requires_grad=True)
    torch.library.opcheck(attention_op, (q, k, v, sink, None, None, None, *options))
    compiled = torch.compile(
        lambda *x: flash_attention(*x, causal=True), fullgraph=True, dynamic=True
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for n in (77, 155, 311):
            some = replace(problem, len_q=n, len_k=n + 53)
            q, k, v = (x.requires_grad_() for x in make_qkv(some, torch.float16, device="cuda"))
            o, plain = compiled(q, k, v), flash_attention(q, k, v, causal=True)
            assert torch.equal(o, plain)
            mine = torch.autograd.grad(o.sum(), (q, k, v))
            for a, b in zip(mine, torch.autograd.grad(plain.sum(), (q, k, v)), strict=True):
                assert torch.equal(a, b)


def test_a_cuda_graph_replays_forward_and_backward() -> None:
    q, k, v = make_qkv(LARGE[1], torch.bfloat16, device="cuda")
    do = torch.randn_like(q)

    def both() -> tuple[torch.Tensor, ...]:
        o, lse = kernels.flash_forward(q, k, v, causal=True)
        return (o, lse, *kernels.flash_backward(q, k, v, o, lse, do, causal=True)[:3])

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        both()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = both()
    q.copy_(torch.randn_like(q))
    graph.replay()
    for a, b in zip(captured, both(), strict=True):
        assert torch.equal(a, b)


def test_dropout_is_the_same_mask_on_the_device_and_on_the_cpu() -> None:
    problem = AttentionProblem(2, 4, 2, 150, 260, 32, dtype="float32", causal=True)
    q, k, v = make_qkv(problem)
    on_cpu = flash_attention(q, k, v, causal=True, dropout_p=0.3, seed=99, impl="tiled")
    on_gpu = flash_attention(*(x.cuda() for x in (q, k, v)), causal=True, dropout_p=0.3, seed=99)
    torch.testing.assert_close(on_gpu.cpu(), on_cpu, rtol=1e-4, atol=1e-5)


def test_tensors_on_a_device_that_is_not_current() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    q, k, v = (x.to("cuda:1").requires_grad_() for x in make_qkv(LARGE[1], torch.float16))
    do = torch.randn(q.shape, device="cuda:1").half()
    grads = torch.autograd.grad(flash_attention(q, k, v), (q, k, v), do)
    exact = truth(q, k, v, do=do)
    for name, got in zip(("dq", "dk", "dv"), grads, strict=True):
        assert_within_budget(name, got, exact)


@pytest.mark.parametrize("name", ["q", "k", "v", "do"])
def test_offsets_past_32_bits(name: str) -> None:
    rows, stride = 3, 2**30 + 8
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, rows, rows, 16), torch.float16, device="cuda")
    do = torch.randn(1, 1, rows, 16).half().cuda()
    o, lse = kernels.flash_forward(q, k, v)
    exact = truth(q, k, v, do=do)
    tensors = {"q": q, "k": k, "v": v, "do": do}
    big = torch.empty(2 * stride + 16, dtype=torch.float16, device="cuda")
    far = big.as_strided((1, 1, rows, 16), (0, 0, stride, 1))
    tensors[name] = far.copy_(tensors[name])
    q, k, v, do = tensors.values()
    for label, got in zip(
        ("dq", "dk", "dv"), kernels.flash_backward(q, k, v, o, lse, do), strict=False
    ):
        assert_within_budget(label, got, exact)
