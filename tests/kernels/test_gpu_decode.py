"""The compiled decode kernels on a GPU: long caches, half types, graphs, and what a device shows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch._dynamo
from decode_cases import CASES, Case, check, make, random_case, with_
from oracles import assert_within_budget, case_id, make_qkv, truth

from fa_toolkit import flash_attention, flash_decode
from fa_toolkit.decode_operator import DecodeOptions, decode_op
from fa_toolkit.errors import ArgumentError, BackendUnavailable
from fa_toolkit.kernels.decode_configuration import choose_decode, choose_split
from fa_toolkit.problem import AttentionProblem
from fa_toolkit.reference.cache import decode_problem

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty")]

LARGE = (
    Case((4096, 100, 0, 2500), (32, 8), (128, 128)),
    Case((4096, 1, 777), (32, 8), (128, 128), page=16, sink=True),
    Case((3000, 3001), (8, 1), (64, 64), len_q=4, window=(1000, 0)),
    Case((2000, 30), (40, 1), (64, 128), len_q=9, page=64, softcap=20.0),
    Case((1500, 1), (16, 16), (256, 256), page=256),
    Case((1000, 64), (24, 2), (80, 96), len_q=3, causal=False, window=(300, 1), layout="gaps"),
    Case((2048,), (1, 1), (1, 255), page=1),
    Case((900, 17), (6, 3), (17, 33), page=7, layout="gaps", sink=True, scale=-0.2),
)


def decode(*args: Any, **keywords: Any) -> Any:
    return flash_decode(*args, return_lse=True, impl="triton", **keywords)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("case", (*LARGE, *CASES), ids=lambda case: case.name)
def test_within_budget(case: Case, dtype: str) -> None:
    check(decode, with_(case, dtype=dtype), "cuda")


@pytest.mark.parametrize("splits", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("case", LARGE[:4], ids=lambda case: case.name)
def test_any_number_of_splits(case: Case, splits: int) -> None:
    check(decode, with_(case, dtype="float16"), "cuda", num_splits=splits)


@pytest.mark.parametrize("seed", range(150))
def test_random_calls(seed: int) -> None:
    case = random_case(seed, 1500)
    check(decode, case, "cuda", num_splits=case.splits)


def test_splits_fill_the_device() -> None:
    x = make(with_(LARGE[0], lens=(30000,), dtype="float16"), "cuda")
    problem = decode_problem(x.q, x.k_cache, x.v_cache, x.seq_lens)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    assert choose_decode(problem, x.q.device).splits * problem.heads_kv >= 2 * sms


@pytest.mark.parametrize("page", [0, 16])
def test_wrong_values_never_leave_the_tensors(page: int) -> None:
    """Run under compute-sanitizer to see it; here: no error, no NaN where a length is negative."""
    x = make(Case((900, 200), page=page, dtype="float16"), "cuda")
    lens = torch.tensor([-5, 2**31 - 1], dtype=torch.int32, device="cuda")
    table = x.block_table
    if table is not None:
        table.fill_(2**31 - 1)
        table[1] = -(2**31)
    o = flash_decode(x.q, x.k_cache, x.v_cache, seq_lens=lens, block_table=table)
    torch.cuda.synchronize()
    assert bool((o[0] == 0).all())
    with pytest.raises(ArgumentError, match=r"seq_lens\[0\]"):
        flash_decode(x.q, x.k_cache, x.v_cache, seq_lens=lens, block_table=table, validate=True)


def test_offsets_past_32_bits() -> None:
    """Pages beyond 2^31 elements of the cache."""
    pages, page, heads, width = 9000, 16, 128, 128  # 2.36e9 elements
    cache = torch.empty(pages, page, heads, width, dtype=torch.float16, device="cuda")
    cache[-3:] = torch.randn(3, page, heads, width, device="cuda").half()
    ids = [pages - 1, pages - 3, pages - 2]
    table = torch.tensor([ids], dtype=torch.int32, device="cuda")
    lens = torch.tensor([40], dtype=torch.int32, device="cuda")
    q = torch.randn(1, heads, width, device="cuda").half()
    small = cache[ids].contiguous()
    near = torch.tensor([[0, 1, 2]], dtype=torch.int32, device="cuda")
    far_o = flash_decode(q, cache, cache, seq_lens=lens, block_table=table)
    near_o = flash_decode(q, small, small, seq_lens=lens, block_table=near)
    assert bool(torch.isfinite(far_o).all()) and torch.equal(far_o, near_o)


ATTENTION = (
    AttentionProblem(1, 32, 8, 1, 20000, 128, causal=True),
    AttentionProblem(2, 8, 8, 100, 6000, 64, causal=True),
    AttentionProblem(1, 16, 2, 5, 9000, 80, 96, window=(5000, 3)),
    AttentionProblem(64, 32, 4, 2, 1500, 128),
)


@pytest.mark.parametrize("layout", ["contiguous", "bnhd", "gaps"])
@pytest.mark.parametrize("problem", ATTENTION, ids=case_id)
def test_attention_of_few_queries(problem: AttentionProblem, layout: str) -> None:
    """It takes the path of decoding, within budget, laid out as q, and a CUDA graph holds it."""
    if problem.batch > 2 and layout != "bnhd":
        pytest.skip("the large case runs once")
    q, k, v = make_qkv(problem, torch.bfloat16, layout=layout, device="cuda")
    plan = choose_split(problem, q.device)
    assert plan and (plan.splits > 1 or problem.batch > 2)
    mask: dict[str, Any] = {"causal": problem.causal, "window": problem.window}
    o, lse = flash_attention(q, k, v, return_lse=True, **mask)
    exact = truth(q, k, v, **mask)
    assert_within_budget("o", o, exact)
    assert_within_budget("lse", lse, exact)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured, _ = flash_attention(q, k, v, return_lse=True, **mask)
    for _ in range(20):
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(captured, o)


@pytest.mark.parametrize("page", [0, 16])
def test_cuda_graph_follows_new_lengths(page: int) -> None:
    x = make(Case((900, 300), (8, 2), (64, 64), page=page, dtype="float16"), "cuda")

    def step() -> torch.Tensor:
        return flash_decode(
            x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table
        )

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for lens in ((900, 300), (1, 250), (0, 64)):
        x.seq_lens.copy_(torch.tensor(lens, dtype=torch.int32))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(captured, step())


@pytest.mark.parametrize("page", [0, 16])
def test_opcheck_compile_and_graph_of_the_operator(page: int) -> None:
    """One compiled graph for every cache; captured, it reads no value of the device."""
    torch._dynamo.reset()
    case = Case((900, 300, 7), (8, 2), (64, 64), page=page, dtype="float16")
    x = make(case, "cuda")
    table = None if x.block_table is None else x.block_table.clamp(0, len(x.k_cache) - 1)
    arguments = (x.q[:, None], x.k_cache.nan_to_num(), x.v_cache.nan_to_num(), x.seq_lens, table)
    torch.library.opcheck(decode_op, (*arguments, None, *DecodeOptions(impl="triton")))

    def step(q: Any, k: Any, v: Any, lens: Any, pages: Any) -> torch.Tensor:
        return flash_decode(q, k, v, seq_lens=lens, block_table=pages)

    compiled = torch.compile(step, fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for lens in ((900, 300, 7), (1300, 5, 1, 0, 70), (70, 80, 90, 100, 110, 1111)):
            y = make(with_(case, lens=lens), "cuda")
            call = (y.q, y.k_cache, y.v_cache, y.seq_lens, y.block_table)
            assert torch.equal(compiled(*call), step(*call))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = compiled(*call)
    for less in (0, 30, 60):
        y.seq_lens.sub_(less)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(captured, step(*call))


def test_repeats_are_bitwise_equal() -> None:
    x = make(with_(LARGE[1], dtype="bfloat16"), "cuda")
    keywords = {"seq_lens": x.seq_lens, "block_table": x.block_table, "sink": x.sink}
    first = flash_decode(x.q, x.k_cache, x.v_cache, **keywords)
    for _ in range(50):
        assert torch.equal(first, flash_decode(x.q, x.k_cache, x.v_cache, **keywords))


def test_side_stream() -> None:
    x = make(with_(LARGE[0], dtype="float16"), "cuda")
    expected = flash_decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        got = flash_decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens)
    stream.synchronize()
    assert torch.equal(got, expected)


def test_cpu_tensors_are_refused_where_kernels_are_compiled() -> None:
    x = make(CASES[0])
    with pytest.raises(BackendUnavailable, match=r"\.cuda\(\)"):
        flash_decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, impl="triton")
