"""Recording where kernels are compiled: the same bytes, from a process that interprets."""

from __future__ import annotations

import pytest
import torch

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import ArgumentError, ShapeError
from fa_toolkit.kernels.recording_child import on_cpu, record_in_child


def test_a_child_records_what_this_process_records() -> None:
    a, b = torch.randn(40, 24).T, torch.randn(40, 16)
    here = kernels.record(kernels.matmul, a, b, blocks=(16, 16, 16))
    there = record_in_child(kernels.matmul, (a, b), {"blocks": (16, 16, 16)})
    assert there.by_argument == here.by_argument
    assert torch.equal(there.result, here.result)


def test_an_error_of_the_launcher_comes_back_as_itself() -> None:
    with pytest.raises(ShapeError, match="expected"):
        record_in_child(kernels.matmul, (torch.ones(2, 3), torch.ones(4, 5)), {})


def test_a_function_of_a_notebook_is_refused_with_the_way_out() -> None:
    with pytest.raises(ArgumentError, match="TRITON_INTERPRET=1"):
        record_in_child(lambda: None, (), {})


def test_strides_survive_the_way_to_the_cpu() -> None:
    x = torch.arange(12.0).reshape(3, 4).T
    moved = on_cpu((x, {"y": x}, 3))
    assert moved[0].stride() == moved[1]["y"].stride() == x.stride()
    assert moved[2] == 3
