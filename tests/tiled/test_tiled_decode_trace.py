"""Traces of decoding: the bill equals the I/O model, steps come in order, outputs are whole."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import torch
from decode_cases import Case, make
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit import io_model, tiled
from fa_toolkit.problem import MERGED_PARTS, TileShape, split_of
from fa_toolkit.tiled import PHASES, Step, Trace

CASE = Case((40, 0, 23), (6, 2), (4, 6), len_q=3, sink=True, window=(30, 0), page=8)


def trace_of(case: Case, splits: int, tile: TileShape | None, **more: Any) -> Trace:
    x = make(case)
    return tiled.trace_flash_decode(
        x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table, sink=x.sink,
        num_splits=splits, tile=tile, **case.keywords, **more,
    )  # fmt: skip


cases = st.builds(
    Case,
    lens=st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple),
    heads=st.sampled_from([(1, 1), (3, 1), (4, 2)]),
    dims=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    page=st.sampled_from([0, 5]),
    len_q=st.integers(0, 6),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    causal=st.booleans(),
    window=st.none() | st.tuples(st.integers(-1, 30), st.integers(-1, 7)),
)
tiles = st.builds(TileShape, block_m=st.integers(1, 9), block_n=st.integers(1, 9))


@settings(deadline=None, max_examples=60)
@given(case=cases, splits=st.integers(1, 5), tile=tiles)
def test_the_bill_equals_the_io_model(case: Case, splits: int, tile: TileShape) -> None:
    trace = trace_of(case, splits, tile)
    model = io_model.decode_traffic(trace.problem, splits=splits, tile=tile, seq_lens=case.lens)
    assert dict(trace.ledger.by_tensor) == dict(model.by_tensor)
    assert dict(trace.ledger.by_phase) == dict(model.phases)


def test_the_trace_computes_what_the_fast_way_computes() -> None:
    x = make(CASE)
    o, lse = tiled.flash_decode(
        x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table, sink=x.sink,
        **CASE.keywords,
    )  # fmt: skip
    for splits in (1, 4, MERGED_PARTS + 1):
        trace = trace_of(CASE, splits, TileShape(4, 8))
        torch.testing.assert_close(trace.outputs["O"], o)
        torch.testing.assert_close(trace.outputs["lse"], lse)
    assert trace_of(CASE, 2, None).tile == TileShape()


def test_steps_come_in_the_order_of_phases() -> None:
    trace = trace_of(CASE, 3, TileShape(4, 8))
    programs: dict[tuple[str, tuple[int, ...]], list[Step]] = defaultdict(list)
    for event in trace.events:
        programs[event.phase, event.program].append(event.step)
    assert list(dict.fromkeys(phase for phase, _ in programs)) == list(PHASES["decode"])
    for phase, order in PHASES["decode"].items():
        ours = [steps for (name, _), steps in programs.items() if name == phase]
        assert {step for steps in ours for step in steps} == set(order)
        for steps in ours:
            assert (steps[0], steps[-1]) == (order[0], order[-1])
            back = {b for a, b in pairwise(steps) if order.index(b) < order.index(a)}
            assert back <= {Step.LOAD_KV, Step.LOAD_O}


def test_every_row_is_stored_once_and_every_part_once() -> None:
    trace = trace_of(CASE, 3, TileShape(4, 8))
    rows, parts = 9, 3  # 3 queries of 3 heads to a key head
    for name, columns in (("O", 6), ("lse", 1), ("O_parts", parts), ("lse_parts", parts)):
        seen = torch.zeros(3, 2, rows, columns, dtype=torch.int)
        for event in trace.events:
            if event.kind == "store" and event.tensor == name:
                (r0, r1), (c0, c1) = event.box
                seen[event.head][r0:r1, c0:c1] += 1
        assert bool((seen == 1).all()), name


def test_splits_meet_every_visible_key_once_in_whole_tiles() -> None:
    for keys, block, splits in (((5, 40), 16, 2), ((0, 0), 4, 3), ((3, 100), 8, 30)):
        spans = [split_of(keys, block, splits, i) for i in range(splits)]
        assert [k for span in spans for k in range(*span)] == list(range(*keys))
        assert all((stop - start) % block == 0 or stop == keys[1] for start, stop in spans)


def test_values_of_the_merge_are_in_natural_units() -> None:
    trace = trace_of(CASE, 3, TileShape(16, 8), keep_values=True)
    last = [event for event in trace.events if event.step == Step.MERGE][-1]
    b, head, row = last.program
    assert (b, head, row) == (2, 1, 8) and last.head == (2, 1)
    got = last.values["m"] + last.values["l"].log()
    torch.testing.assert_close(got.flatten()[0], trace.outputs["lse"][2, 5, 2])
    got_o = last.values["acc"] / last.values["l"][..., None]
    torch.testing.assert_close(got_o.flatten(), trace.outputs["O"][2, 2, 5])
