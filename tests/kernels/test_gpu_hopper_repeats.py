"""The kernels for Hopper give the same bits on any stream, in graphs, on any device, again and again."""

from __future__ import annotations

import pytest
import torch
from hopper_calls import differing, grads_of, problem_of, run
from hopper_calls import hopper_here as hopper_here
from oracles import assert_within_budget, make_grads, make_qkv, truth
from torch import Tensor

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty", "hopper_here")]
REPEATS = 1000
A_WHILE = 10**9  # cycles, about half a second


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
def test_a_thousand_runs_on_four_streams_at_once(width: int, causal: bool) -> None:
    problem = problem_of((513, 700), width, heads=(8, 2), batch=4, causal=causal)
    tensors, grads = make_qkv(problem, device="cuda"), grads_of(problem)
    first = run(*tensors, *grads, causal=causal)
    streams = [torch.cuda.Stream() for _ in range(4)]
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    found_different = []
    for i in range(REPEATS):
        with torch.cuda.stream(streams[i % len(streams)]):
            found = run(*tensors, *grads, causal=causal)
            found_different.append(differing(found, first))
    torch.cuda.synchronize()
    assert int(torch.stack(found_different).sum()) == 0
    exact = truth(*tensors, causal=causal, do=grads[0], dlse=grads[1], device="cuda")
    for name, x in found.items():
        assert_within_budget(name, x, exact)


def test_a_thousand_runs_of_the_widest_forward() -> None:
    q, k, v = make_qkv(problem_of((513, 700), 256, heads=(8, 2), causal=True), device="cuda")
    first = run(q, k, v, causal=True)
    found_different = [differing(run(q, k, v, causal=True), first) for _ in range(REPEATS)]
    assert int(torch.stack(found_different).sum()) == 0


def test_launches_overlap_on_two_streams() -> None:
    """Long launches of other sizes, so that programs of both are on the GPU together."""
    sizes = [
        problem_of((4096, 4096), 128, heads=(2, 2)),
        problem_of((3000, 3500), 128, causal=True),
    ]
    inputs = [make_qkv(problem, device="cuda") for problem in sizes]
    options = [{"causal": problem.causal} for problem in sizes]
    alone = [run(*x, **o) for x, o in zip(inputs, options, strict=True)]
    streams = [torch.cuda.Stream() for _ in sizes]
    torch.cuda.synchronize()
    for _ in range(50):
        found: list[dict[str, Tensor]] = []
        for stream, x, o in zip(streams, inputs, options, strict=True):
            with torch.cuda.stream(stream):
                found.append(run(*x, **o))
        torch.cuda.synchronize()
        assert all(int(differing(a, b)) == 0 for a, b in zip(found, alone, strict=True))


def test_a_side_stream() -> None:
    """The inputs come to be on the side stream, after a long wait: no launch may be elsewhere."""
    problem = problem_of((300, 400), 128, causal=True)
    tensors, grads = make_qkv(problem, device="cuda"), grads_of(problem)
    expected, kept = run(*tensors, *grads, causal=True), [x.clone() for x in tensors]
    stream = torch.cuda.Stream()
    for x in tensors:
        x.zero_()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(A_WHILE)
        for x, values in zip(tensors, kept, strict=True):
            x.copy_(values)
        found = run(*tensors, *grads, causal=True)
        assert not stream.query()  # nothing waited for the device
    torch.cuda.synchronize()
    assert int(differing(found, expected)) == 0


@pytest.mark.parametrize("width", [64, 128])
def test_a_graph_replays_forward_and_backward(width: int) -> None:
    problem = problem_of((513, 513), width, heads=(8, 2), batch=2, causal=True)
    tensors, grads = list(make_qkv(problem, device="cuda")), grads_of(problem)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run(*tensors, *grads, causal=True)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run(*tensors, *grads, causal=True)
    for _ in range(3):  # what a launch leaves behind serves the next
        for x in tensors:
            x.copy_(torch.randn_like(x))
        for x in captured.values():
            x.fill_(float("nan"))
        graph.replay()
        plain = run(*tensors, *grads, causal=True)
        torch.cuda.synchronize()
        assert int(differing(captured, plain)) == 0
        exact = truth(*tensors, causal=True, do=grads[0], dlse=grads[1])
        assert_within_budget("dq", captured["dq"], exact)


def test_two_graphs_replay_at_once() -> None:
    q, k, v = make_qkv(problem_of((2048, 2048), 128, heads=(8, 8)), device="cuda")
    expected = run(q, k, v)
    torch.cuda.synchronize()
    graphs, captured = [torch.cuda.CUDAGraph() for _ in range(2)], []
    for graph in graphs:
        with torch.cuda.graph(graph):
            captured.append(run(q, k, v))
    streams = [torch.cuda.Stream() for _ in graphs]
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, graph in zip(streams, graphs, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        assert all(int(differing(x, expected)) == 0 for x in captured)


def test_a_device_that_is_not_current() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    problem = problem_of((300, 400), 64, causal=True)
    tensors, grads = make_qkv(problem), make_grads(problem)
    there, here = (
        run(*(x.to(device) for x in (*tensors, *grads)), causal=True)
        for device in ("cuda:1", "cuda:0")
    )
    assert torch.cuda.current_device() == 0 and there["dq"].device.index == 1
    for name in ("o", "lse", "dk", "dv"):
        assert torch.equal(there[name].cpu(), here[name].cpu())
