"""Tapes hold what a trace holds, within the sizes that are promised; columns survive the wire."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit.errors import ArgumentError
from fa_toolkit.io_model import flash_backward_traffic, flash_forward_traffic
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled import (
    Trace,
    flash_forward,
    trace_flash_backward,
    trace_flash_forward,
    trace_standard_forward,
)
from fa_toolkit.viz import tape as tape_module
from fa_toolkit.viz.player.columns import pack, unpack
from fa_toolkit.viz.tape import MOST_VALUES, tape


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def _forward(
    n: int = 16, d: int = 8, block: int = 4, *, heads: int = 1, keep: bool = True
) -> Trace:
    q, k, v = (_random(1, heads, n, d) for _ in range(3))
    return trace_flash_forward(q, k, v, tile=TileShape(block, block), causal=True, keep_values=keep)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text("abc", min_size=1),
        st.tuples(
            st.sampled_from(["u1", "i4", "u4", "f4", "f8"]), st.integers(0, 9), st.integers(1, 3)
        ),
        max_size=6,
    )
)
def test_columns_survive_the_wire(plan: dict[str, tuple[str, int, int]]) -> None:
    made = {
        name: (np.arange(rows * cols) % 200).astype(kind).reshape(rows, cols)
        for name, (kind, rows, cols) in plan.items()
    }
    back = unpack(*pack(made))
    assert back.keys() == made.keys()
    for name, column in made.items():
        assert back[name].dtype.kind == column.dtype.kind
        assert np.array_equal(back[name], column) and back[name].shape == column.shape


def test_a_column_no_browser_can_read_is_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        pack({"x": np.arange(3)})


@pytest.mark.parametrize("algorithm", ["flash_forward", "standard", "flash_backward"])
def test_a_tape_says_what_its_trace_says(algorithm: str) -> None:
    q, k, v, do = (_random(1, 1, 12, 4) for _ in range(4))
    tile = TileShape(4, 8)
    if algorithm == "flash_backward":
        o, lse = flash_forward(q, k, v, tile=tile, causal=True)
        trace = trace_flash_backward(q, k, v, o, lse, do, tile=tile, causal=True, keep_values=True)
    else:
        record = trace_flash_forward if algorithm == "flash_forward" else trace_standard_forward
        trace = record(q, k, v, tile=tile, causal=True, keep_values=True)
    made = tape(trace)
    assert len(made) == len(trace.events) and made.has_values
    assert tuple(made.moved()[-1]) == (trace.ledger.reads, trace.ledger.writes)
    for i, event in enumerate(trace.events):
        c = made.columns
        assert made.steps[c["step"][i]] == event.step and made.phases[c["phase"][i]] == event.phase
        assert c["box"][i].tolist() == [*event.box[0], *event.box[1]]
        assert c["bytes"][i] == event.bytes and c["program"][i] == event.program[-1]
        values = made.values(i)
        assert values.keys() == {name.lower() for name in event.values}
        for name, x in event.values.items():
            assert np.array_equal(values[name.lower()].ravel(), x.float().numpy().ravel())


def test_one_head_is_chosen_and_a_missing_one_refused() -> None:
    trace = _forward(heads=2)
    parts = [tape(trace, head=(0, h)) for h in (0, 1)]
    assert sum(map(len, parts)) == len(tape(trace, head=None)) == len(trace.events)
    assert not np.array_equal(parts[0].columns["pool"], parts[1].columns["pool"])
    with pytest.raises(ArgumentError, match="head"):
        tape(trace, head=(0, 2))


def test_four_thousand_steps_are_under_two_megabytes() -> None:
    made = tape(_forward(256, 1, 4, keep=False))  # 64 x 64 tiles; causal: 2080 of them
    full = trace_flash_forward(*(_random(1, 1, 256, 1) for _ in range(3)), tile=TileShape(4, 4))
    wide = tape(full)
    assert len(wide) == 64 * (1 + 64 * 4 + 2)  # 4096 tile steps
    _, blob = pack(wide.columns)
    assert len(pack(made.columns)[1]) < len(blob) < 2_000_000
    problem = AttentionProblem(len_q=256, len_k=256, head_dim=1, dtype="float32")
    assert wide.moved()[-1].sum() == flash_forward_traffic(problem, TileShape(4, 4)).total


def test_numbers_travel_up_to_the_limit_and_then_not_at_all() -> None:
    trace = _forward(keep=True)
    held = sum(x.numel() for e in trace.events for x in e.values.values())
    assert tape(trace).columns["pool"].size == held < MOST_VALUES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tape_module, "MOST_VALUES", held - 1)
        made = tape(trace)
        assert not made.has_values and made.wanted == held and made.values(0) == {}
        patch.setattr(tape_module, "MOST_EVENTS", 5)
        with pytest.raises(ArgumentError, match="events"):
            tape(trace)


def test_grouped_heads_share_their_key_heads_programs() -> None:
    q, do = _random(1, 4, 8, 4), _random(1, 4, 8, 4)
    k, v = _random(1, 2, 8, 4), _random(1, 2, 8, 4)
    o, lse = flash_forward(q, k, v)
    trace = trace_flash_backward(q, k, v, o, lse, do, tile=TileShape(4, 4))
    made = tape(trace, head=(0, 3))
    dkdv = made.columns["phase"] == made.phases.index("dkdv")
    whole = flash_backward_traffic(trace.problem, TileShape(4, 4)).phases["dkdv"]
    assert made.columns["bytes"][dkdv].sum() == sum(whole) // 2 // 1


def test_a_recorded_kernel_fits_on_a_tape() -> None:
    kernels = pytest.importorskip("fa_toolkit.kernels")
    if kernels.mode().name != "interpreter":
        pytest.skip("kernels are not interpreted here")
    q, k, v = (_random(1, 1, 32, 16) for _ in range(3))
    recorded = kernels.trace_flash_forward(q, k, v, causal=True, tile=TileShape(16, 16))
    own = trace_flash_forward(q, k, v, causal=True, tile=TileShape(16, 16))
    made, wanted = tape(recorded), tape(own)
    kept = wanted.columns["kind"] != 2
    assert np.array_equal(made.columns["box"], wanted.columns["box"][kept])
    assert made.moved()[-1].tolist() == wanted.moved()[-1].tolist()
