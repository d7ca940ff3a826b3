"""The decode kernels' loads and stores are the tiled algorithm's, and the I/O model's bytes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from decode_cases import CASES, Case, make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fa_toolkit.kernels as kernels
from fa_toolkit import io_model, tiled
from fa_toolkit.kernels.recording_child import record_in_child
from fa_toolkit.problem import MERGED_PARTS, TileShape

pytestmark = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="only the interpreter can be watched"
)
SMALL = TileShape(16, 16)


def compare(case: Case, splits: int, tile: TileShape = SMALL) -> kernels.KernelTrace:
    """Trace the case both ways; events, bytes by tensor and bytes by phase must be the same."""
    x = make(case)
    keywords: dict[str, Any] = {"seq_lens": x.seq_lens, "block_table": x.block_table}
    keywords |= {"sink": x.sink, "num_splits": splits, "tile": tile, **case.keywords}
    trace = kernels.trace_flash_decode(x.q, x.k_cache, x.v_cache, **keywords)
    expected = tiled.trace_flash_decode(x.q, x.k_cache, x.v_cache, **keywords)
    assert trace.events == [event for event in expected.events if event.kind != "work"]
    assert (trace.problem, trace.tile, trace.algorithm) == (expected.problem, tile, "decode")
    model = io_model.decode_traffic(trace.problem, splits=splits, tile=tile, seq_lens=case.lens)
    ledger = tiled.Ledger.of(trace.events)
    assert ledger.by_tensor == dict(model.by_tensor)
    assert ledger.by_phase == dict(model.phases)
    for name in ("O", "lse"):
        mine, theirs = trace.outputs[name].float(), expected.outputs[name].float()
        torch.testing.assert_close(mine, theirs, rtol=2e-2, atol=2e-2)
    return trace


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("case", CASES[:8], ids=lambda case: case.name)
def test_kernels_move_what_the_tiled_algorithm_and_the_model_say(case: Case, splits: int) -> None:
    compare(case, splits)


cases = st.builds(
    Case,
    lens=st.lists(st.integers(0, 50), min_size=1, max_size=3).map(tuple),
    heads=st.sampled_from([(1, 1), (2, 1), (4, 2), (20, 1)]),
    dims=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    page=st.sampled_from([0, 1, 7, 16]),
    len_q=st.integers(0, 3),
    dtype=st.sampled_from(["float16", "bfloat16", "float32"]),
    causal=st.booleans(),
    window=st.none() | st.tuples(st.integers(-1, 30), st.integers(-1, 3)),
    sink=st.booleans(),
    layout=st.sampled_from(["plain", "gaps"]),
)


@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(case=cases, splits=st.integers(1, 4), tile=st.sampled_from([SMALL, TileShape(32, 16)]))
def test_any_call_moves_what_the_model_says(case: Case, splits: int, tile: TileShape) -> None:
    compare(case, splits, tile)


def test_the_merge_takes_many_parts_in_several_steps() -> None:
    trace = compare(Case((20,), (1, 1), (4, 4)), MERGED_PARTS + 3)
    steps = [e.box[1] for e in trace.events if e.phase == "merge" and e.tensor == "lse_parts"]
    assert steps == [(0, MERGED_PARTS), (MERGED_PARTS, MERGED_PARTS + 3)]


def test_lengths_page_ids_and_sinks_are_no_events() -> None:
    trace = compare(Case((20, 7), (2, 1), (4, 4), page=4, sink=True), 2)
    moved = {"Q", "K", "V", "O", "lse", "O_parts", "lse_parts"}
    assert {event.tensor for event in trace.events} == moved


def test_where_kernels_are_compiled_a_child_traces() -> None:
    x = make(Case((20, 7), (2, 1), (4, 4)))
    keywords = {"seq_lens": x.seq_lens, "num_splits": 2, "tile": SMALL}
    here = kernels.trace_flash_decode(x.q, x.k_cache, x.v_cache, **keywords)
    there = record_in_child(kernels.trace_flash_decode, (x.q, x.k_cache, x.v_cache), keywords)
    assert there.result.events == here.events
    assert torch.equal(there.result.outputs["O"], here.outputs["O"])
