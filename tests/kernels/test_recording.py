"""What the recorder writes down is what the tiled algorithm does and what the I/O model says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from oracles import SHAPES_THAT_HURT, case_id, make_qkv

import fa_toolkit.kernels as kernels
from fa_toolkit import io_model, tiled
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="only the interpreter can be watched"
)
SMALL = [problem for problem in SHAPES_THAT_HURT if problem.batch == 1]


@pytest.mark.parametrize("tile", [TileShape(64, 32), TileShape(32, 64)], ids=["t64x32", "t32x64"])
@pytest.mark.parametrize("problem", SMALL, ids=case_id)
def test_the_kernel_moves_what_the_tiled_algorithm_moves(
    problem: AttentionProblem, tile: TileShape
) -> None:
    q, k, v = make_qkv(problem, torch.float16, layout="padded")
    trace = kernels.trace_flash_forward(q, k, v, causal=problem.causal, tile=tile)
    expected = tiled.trace_flash_forward(q, k, v, causal=problem.causal, tile=tile)
    assert trace.events == [e for e in expected.events if e.kind != "work"]
    assert torch.allclose(trace.outputs["O"], expected.outputs["O"], atol=1e-2)


@pytest.mark.parametrize("problem", SMALL, ids=case_id)
def test_bytes_equal_the_io_model(problem: AttentionProblem) -> None:
    problem = replace(problem, dtype="bfloat16")
    tile = TileShape(32, 16)
    q, k, v = make_qkv(problem)
    trace = kernels.trace_flash_forward(q, k, v, causal=problem.causal, tile=tile)
    model, ledger = io_model.flash_forward_traffic(problem, tile), tiled.Ledger.of(trace.events)
    assert trace.problem == problem and trace.tile == tile
    assert ledger.by_tensor == dict(model.by_tensor)
    assert (ledger.reads, ledger.writes) == (model.reads, model.writes)
    assert ledger.by_phase == dict(model.phases)


BACKWARD = [
    AttentionProblem(1, 4, 2, 33, 50, 16, 24, causal=True),
    AttentionProblem(2, 2, 1, 40, 30, 16),
    AttentionProblem(1, 1, 1, 60, 70, 16, window=(20, 5)),
    AttentionProblem(1, 2, 2, 50, 20, 16, causal=True),
]


@pytest.mark.parametrize("problem", BACKWARD, ids=case_id)
def test_the_backward_kernels_move_what_the_tiled_algorithm_and_the_model_say(
    problem: AttentionProblem,
) -> None:
    tile = TileShape(16, 32)
    q, k, v = make_qkv(problem, torch.float16, layout="padded")
    mask: dict[str, Any] = {"causal": problem.causal, "window": problem.window, "tile": tile}
    o, lse = tiled.flash_forward(q, k, v, **mask)
    trace = kernels.trace_flash_backward(q, k, v, o, lse, o, **mask)
    expected = tiled.trace_flash_backward(q, k, v, o, lse, o, **mask)
    assert trace.events == [e for e in expected.events if e.kind != "work"]
    model, ledger = io_model.flash_backward_traffic(problem, tile), tiled.Ledger.of(trace.events)
    assert ledger.by_tensor == dict(model.by_tensor)
    assert ledger.by_phase == dict(model.phases)


def test_a_window_moves_less_and_the_sink_and_the_seed_are_no_events() -> None:
    problem = AttentionProblem(1, 2, 1, 40, 70, 16, window=(9, 3))
    tile = TileShape(16, 16)
    q, k, v = make_qkv(problem, torch.float16)
    extra = {"sink": torch.zeros(2), "dropout_p": 0.1, "seed": torch.tensor([3])}
    trace = kernels.trace_flash_forward(q, k, v, window=(9, 3), tile=tile, **extra)
    model = io_model.flash_forward_traffic(problem, tile)
    assert tiled.Ledger.of(trace.events).by_tensor == dict(model.by_tensor)
    assert model.reads < io_model.flash_forward_traffic(replace(problem, window=None), tile).reads


def test_a_plain_kernel_is_recorded_with_lines_and_boxes() -> None:
    x = torch.arange(10.0)
    recording = kernels.record(kernels.vector_add, x, x.flip(0), block=8)
    assert torch.equal(recording.result, torch.full((10,), 9.0))
    assert (recording.bytes_read, recording.bytes_written) == (80, 40)
    first, *_, last = recording.accesses
    assert (first.kind, first.argument, first.program, first.box) == (
        "load",
        "x_ptr",
        (0, 0, 0),
        ((0, 8),),
    )
    assert (last.kind, last.argument, last.box, last.bytes) == ("store", "out_ptr", ((8, 10),), 8)
    assert first.step == "" and first.line > 0


def test_nothing_is_recorded_afterwards_or_after_an_error() -> None:
    def fails() -> None:
        kernels.vector_add(torch.ones(4), torch.ones(4))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        kernels.record(fails)
    recording = kernels.record(kernels.vector_add, torch.ones(4), torch.ones(4))
    kernels.vector_add(torch.ones(4), torch.ones(4))
    assert len(recording.accesses) == 3


def test_row_softmax_reads_a_short_row_once_and_a_long_one_twice() -> None:
    x = torch.randn(3, 40)
    size = x.numel() * x.element_size()
    short = kernels.record(kernels.row_softmax, x)
    long = kernels.record(kernels.row_softmax, x, block=16)
    assert (short.bytes_read, short.bytes_written) == (size, size)
    assert (long.bytes_read, long.bytes_written) == (2 * size, size)
    assert torch.allclose(short.result, long.result)


def test_matmul_rereads_by_tiles() -> None:
    a, b = torch.randn(32, 48), torch.randn(48, 64)
    recording = kernels.record(kernels.matmul, a, b, blocks=(16, 32, 16))
    assert recording.bytes_read == 4 * (a.numel() * 64 // 32 + b.numel() * 32 // 16)
    assert recording.bytes_written == 4 * 32 * 64


def test_lanes_say_where_each_stands_and_which_are_off() -> None:
    x = torch.arange(10.0)
    first, *_, last = kernels.record(kernels.vector_add, x, x, block=8).accesses
    assert first.lanes is not None and last.lanes is not None
    assert (first.lanes.shape, first.lanes.axes, first.lanes.start) == ((8,), (0,), (0,))
    assert first.lanes.off == 0 and last.lanes.off == 6
    assert last.lanes.start == (8,) and last.lanes.on.tolist() == [True, True, *[False] * 6]


@pytest.mark.parametrize("layout", ["plain", "padded"])
def test_lanes_of_a_tile_follow_the_tensors_axes_and_its_transpose(layout: str) -> None:
    problem = AttentionProblem(1, 2, 1, 14, 14, 10, 12, causal=True)
    q, k, v = make_qkv(problem, torch.float32, layout=layout)
    tile = TileShape(4, 8)
    recording = kernels.record(kernels.flash_forward, q, k, v, causal=True, tile=tile)
    shapes = {access.argument: access.shape for access in recording.accesses}
    assert shapes["q_ptr"] == (1, 2, 14, 10) and shapes["lse_ptr"] == (1, 2, 14)
    for access in recording.accesses:
        lanes = access.lanes
        assert lanes is not None and access.bytes == 4 * int(lanes.on.sum())
        assert lanes.off == lanes.on.size - lanes.on.sum()
        where = np.argwhere(lanes.on)
        for axis, (low, high) in enumerate(access.box):
            if axis in lanes.axes:  # the lanes that are on are exactly the box
                along = lanes.start[axis] + where[:, lanes.axes.index(axis)]
                assert (along.min(), along.max() + 1) == (low, high)
    k_lanes = next(a.lanes for a in recording.accesses if a.argument == "k_ptr")
    assert k_lanes is not None and k_lanes.shape == (16, 8) and k_lanes.axes == (3, 2)
    last_q = [a.lanes for a in recording.accesses if a.argument == "q_ptr"][-1]
    assert last_q is not None and last_q.shape == (4, 16) and last_q.axes == (2, 3)
    assert last_q.off == 4 * 16 - 2 * 10


def test_lines_are_those_of_the_source_in_the_order_they_ran() -> None:
    import inspect
    import linecache
    import sys

    before = sys.gettrace()
    x = torch.arange(10.0)
    recording = kernels.record_lines(kernels.vector_add, x, x, block=8)
    assert sys.gettrace() is before
    plain = kernels.record(kernels.vector_add, x, x, block=8)
    assert recording.accesses == plain.accesses and plain.visits == []
    file = recording.files["vector_add_kernel"]
    assert file == inspect.getsourcefile(kernels.vector_add)
    code = {visit.line: linecache.getline(file, visit.line) for visit in recording.visits}
    assert "tl.program_id(0)" in code[min(code)] and "tl.store" in code[max(code)]
    for program in ((0, 0, 0), (1, 0, 0)):
        mine = [visit for visit in recording.visits if visit.program == program]
        assert [v.line for v in mine] == sorted({v.line for v in mine})  # no loop in this kernel
    for number, access in enumerate(recording.accesses):
        before_it = [v for v in recording.visits if v.accesses <= number]
        assert (before_it[-1].line, before_it[-1].program) == (access.line, access.program)


def test_lines_of_a_labelled_kernel_carry_its_steps() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, 8, 8, 16, causal=True), torch.float32)
    recording = kernels.record_lines(
        kernels.flash_forward, q, k, v, causal=True, tile=TileShape(4, 4)
    )
    first = [visit.step for visit in recording.visits if visit.program[0] == 0]
    assert list(dict.fromkeys(first)) == [
        "",
        "load_q",
        "load_kv",
        "scores",
        "mask",
        "update",
        "store",
    ]
    update = {visit.line for visit in recording.visits if visit.step == "update"}
    stored = {visit.line for visit in recording.visits if visit.step == "store"}
    assert min(update) < min(
        v.line for v in recording.visits if not v.step
    )  # the fold stands above
    assert max(stored) == max(visit.line for visit in recording.visits)


def test_what_stops_a_recording_gives_pythons_tracing_back() -> None:
    import sys

    before = sys.gettrace()
    with pytest.raises(KeyError):
        kernels.record_lines(lambda: {}["nothing"])
    assert sys.gettrace() is before
