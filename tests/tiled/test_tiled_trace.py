"""Traces: the bill equals the I/O model, steps come in order, values are what was on chip."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from oracles import make_qkv
from problem_strategies import problems, tiles

from fa_toolkit import io_model, tiled
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.reference import attention
from fa_toolkit.tiled import PHASES, Ledger, Step, Trace

PROBLEM = AttentionProblem(1, 4, 2, 20, 28, 4, 6, "float32", True)
TILE = TileShape(8, 4)


def traces(problem: AttentionProblem, tile: TileShape, **options: Any) -> dict[str, Trace]:
    q, k, v = make_qkv(problem)
    mask: dict[str, Any] = {"causal": problem.causal, "window": problem.window}
    o, lse = attention(q, k, v, **mask)
    common = {"tile": tile, **mask, **options}
    return {
        "standard": tiled.trace_standard_forward(q, k, v, **common),
        "flash_forward": tiled.trace_flash_forward(q, k, v, **common),
        "flash_backward": tiled.trace_flash_backward(q, k, v, o, lse, o, **common),
    }


MODELS = {
    "standard": io_model.standard_forward_traffic,
    "flash_forward": io_model.flash_forward_traffic,
    "flash_backward": io_model.flash_backward_traffic,
}


@settings(deadline=None, max_examples=60)
@example(AttentionProblem(1, 0, 2, 3, 5), TileShape(2, 2))
@example(AttentionProblem(1, 2, 2, 9, 4, 8, causal=True), TileShape(2, 3))
@given(problems(), tiles)
def test_the_bill_equals_the_io_model(problem: AttentionProblem, tile: TileShape) -> None:
    for name, trace in traces(problem, tile).items():
        model, ledger = MODELS[name](problem, tile), trace.ledger
        assert trace.problem == problem
        assert dict(ledger.by_tensor) == dict(model.by_tensor), name
        assert dict(ledger.by_phase) == dict(model.phases), name
        assert (ledger.reads, ledger.writes) == (model.reads, model.writes), name


@pytest.mark.parametrize("algorithm", MODELS)
def test_steps_come_in_the_order_of_phases(algorithm: str) -> None:
    """Within a program a step is followed by a later one, or by the head of its one loop."""
    trace = traces(PROBLEM, TILE)[algorithm]
    assert trace.algorithm == algorithm
    programs: dict[tuple[str, tuple[int, ...]], list[Step]] = defaultdict(list)
    for event in trace.events:
        programs[event.phase, event.program].append(event.step)
    phases = PHASES[trace.algorithm]
    assert list(dict.fromkeys(phase for phase, _ in programs)) == list(phases)
    for phase, order in phases.items():
        ours = [steps for (name, _), steps in programs.items() if name == phase]
        assert {step for steps in ours for step in steps} == set(order)
        heads = set()
        for steps in ours:
            assert steps[0] == order[0]
            assert steps[-1] == order[-1] == Step.STORE
            for a, b in pairwise(steps):
                if order.index(b) < order.index(a):
                    heads.add(b)
        assert len(heads) <= 1, f"{phase} jumps back to {heads}"


def test_phases_and_tensors_of_claim_s07() -> None:
    bills = {name: trace.ledger for name, trace in traces(PROBLEM, TILE).items()}
    assert bills["standard"].transfers == 6
    assert bills["standard"].tensors_read == ("Q", "K", "S", "P", "V")
    assert bills["standard"].tensors_written == ("S", "P", "O")
    assert bills["flash_forward"].transfers == 2
    assert bills["flash_forward"].tensors_read == ("Q", "K", "V")
    assert bills["flash_forward"].tensors_written == ("O", "lse")


def test_masks_are_worked_on_edge_tiles_only() -> None:
    trace = traces(PROBLEM, TILE)["flash_forward"]
    scores = [event.box for event in trace.events if event.step == Step.SCORES]
    masked = [event.box for event in trace.events if event.step == Step.MASK]
    assert 0 < len(masked) < len(scores)
    assert all(cols[1] - 1 > rows[0] + PROBLEM.diagonal for rows, cols in masked)


def test_values_are_what_was_on_chip() -> None:
    trace = traces(PROBLEM, TILE, keep_values=True)["flash_forward"]
    q, k, _ = make_qkv(PROBLEM)
    o, lse = attention(*make_qkv(PROBLEM), causal=True)
    for event in trace.events:
        batch, head = event.head
        (r0, r1), (c0, c1) = event.box
        if event.step == Step.SCORES:
            want = q[batch, head, r0:r1] @ k[batch, head // 2, c0:c1].mT / 2
            torch.testing.assert_close(event.values["s"], want)
        elif event.step == Step.UPDATE:
            assert set(event.values) == {"alpha", "p", "m", "l", "acc"}
            assert event.values["p"].shape == (r1 - r0, c1 - c0)
            assert bool((event.values["alpha"] <= 1).all() and (event.values["p"] <= 1).all())
        elif event.tensor == "K":
            assert torch.equal(event.values["K"], k[batch, head, r0:r1])
    last = [event for event in trace.events if event.step == Step.UPDATE][-1]
    got = last.values["m"] + last.values["l"].log()  # natural units
    torch.testing.assert_close(got, lse[0, 3, 16:])
    got_o = last.values["acc"] / last.values["l"][:, None]
    torch.testing.assert_close(got_o, o[0, 3, 16:])


def test_values_are_copies_and_only_kept_on_request() -> None:
    kept = traces(PROBLEM, TILE, keep_values=True)["flash_backward"]
    first = next(event for event in kept.events if event.step == Step.GRAD_K).values["dk"]
    last = [event for event in kept.events if event.step == Step.GRAD_K][-1].values["dk"]
    assert first.data_ptr() != last.data_ptr()
    bare = traces(PROBLEM, TILE)["flash_backward"]
    assert not any(event.values for event in bare.events)
    assert bare.ledger == kept.ledger


def test_every_element_of_the_output_is_stored_once() -> None:
    for trace in traces(PROBLEM, TILE).values():
        for name, x in trace.outputs.items():
            seen = torch.zeros(x.shape[:3] + (x.shape[3:] or (1,)), dtype=torch.int)
            for event in trace.events:
                if event.kind == "store" and event.tensor == name:
                    (r0, r1), (c0, c1) = event.box
                    seen[event.head][r0:r1, c0:c1] += 1
            assert bool((seen == 1).all()), name


def test_gradient_of_lse_is_billed_when_it_is_read() -> None:
    q, k, v = make_qkv(PROBLEM)
    o, lse = attention(q, k, v)
    plain = tiled.trace_flash_backward(q, k, v, o, lse, o, tile=TILE).ledger
    shifted = tiled.trace_flash_backward(q, k, v, o, lse, o, lse, tile=TILE).ledger
    assert shifted.reads - plain.reads == 4 * lse.numel()
    assert shifted.by_tensor["dlse"] == (4 * lse.numel(), 0)


def test_ledger_of_nothing() -> None:
    assert Ledger.of([]) == Ledger(0, 0, {}, {})
