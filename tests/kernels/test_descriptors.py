"""The kernels' way through the copy engine, in the interpreter, and which tensors may go it.

On a Hopper GPU the launchers take it wherever the tensors allow, so there all GPU tests try it.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest
import torch
from attention_cases import Case, check, check_backward

import fa_toolkit.kernels as kernels
from fa_toolkit.kernels.configuration import LaunchPlan, choose_launch, readable
from fa_toolkit.kernels.descriptors import rows_of
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = pytest.mark.usefixtures("poisoned_empty")


def _case(
    *sizes: int, tile: tuple[int, int] = (32, 16), layout: str = "contiguous", **more: Any
) -> Case:
    own = ("causal", "window", "dtype")
    problem = AttentionProblem(*sizes, **{name: more.pop(name) for name in own if name in more})
    return Case(problem, TileShape(*tile), layout, **more)


#: lengths that are no multiples of a tile, on both sides of the diagonal; lse needs multiples of 4
CASES = (
    _case(2, 2, 1, 44, 60, 16, 16, causal=True),
    _case(1, 2, 2, 60, 44, 16, 16, causal=True, tile=(16, 32)),
    _case(1, 4, 2, 40, 40, 24, 40, tile=(16, 16)),
    _case(1, 2, 1, 52, 72, 16, 32, window=(20, 3)),
    _case(1, 2, 1, 52, 72, 16, 16, window=(-1, 9), sink=True, softcap=3.0),
    _case(1, 1, 1, 36, 36, 32, 32, causal=True, scale=-0.5, dtype="bfloat16"),
    _case(1, 2, 2, 48, 48, 16, 16, causal=True, dropout_p=0.25),
    _case(2, 2, 2, 20, 36, 16, 16, layout="bnhd"),
    _case(1, 4, 2, 44, 64, 24, 40, tile=(16, 16)),  # no tile of keys is cut
    _case(1, 2, 1, 44, 64, 16, 16, window=(20, -1), layout="bnhd"),
)


@pytest.fixture(params=[False, True], ids=["together", "apart"])
def copied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Plans with descriptors wherever the tensors allow; the kernels that got one."""
    taken: list[str] = []

    def chosen(*arguments: Any, aligned: bool = False) -> LaunchPlan:
        plan = choose_launch(*arguments)
        if not aligned:
            return plan
        taken.append(plan.kernel)
        return replace(plan, descriptors=True, last_first=True, apart=request.param)

    for name in ("flash_forward", "flash_backward"):
        module = importlib.import_module(f"fa_toolkit.kernels.{name}")
        monkeypatch.setattr(module, "choose_launch", chosen)
    return taken


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="a GPU chooses it by itself")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_through_descriptors(case: Case, copied: list[str]) -> None:
    check(kernels.flash_forward, case, "cpu")
    check_backward(kernels.flash_backward, case, "cpu")
    assert {"forward", "dkdv", "dq"} == {*copied}


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="a GPU chooses it by itself")
@pytest.mark.parametrize(
    ("causal", "width_v", "stored"),
    [
        (False, 16, True),
        (True, 16, False),  # pointers are faster there
        (False, 12, False),  # o has rows of 24 bytes, though those of v lie 32 apart
    ],
)
def test_who_stores_o(
    causal: bool, width_v: int, stored: bool, copied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[torch.Size] = []

    def noted(x: torch.Tensor, *tile: int) -> Any:
        described.append(x.shape)
        return rows_of(x, *tile)

    module = importlib.import_module("fa_toolkit.kernels.flash_forward")
    monkeypatch.setattr(module, "rows_of", noted)
    q, k, v = (torch.randn(1, 1, 36, 16).half() for _ in range(3))
    v = v[..., :width_v]
    o, _ = kernels.flash_forward(q, k, v, causal=causal, tile=TileShape(16, 32))
    assert copied and described == [q.shape, k.shape, v.shape, *[o.shape][:stored]]
    oracle = torch.nn.functional.scaled_dot_product_attention(
        *(x.double() for x in (q, k, v)), is_causal=causal
    )
    assert (o - oracle).abs().max() < 2e-3


def test_what_the_copy_engine_reads() -> None:
    x = torch.randn(2, 3, 8, 16).bfloat16()
    assert readable(x, x.transpose(1, 2), x[:, :, ::2])
    assert not readable(x[..., 1:])  # begins 2 bytes late
    assert not readable(x[..., ::2])  # gaps along the last axis
    assert not readable(x.mT)
    assert not readable(torch.randn(2, 3, 8, 15).bfloat16())  # rows of 30 bytes
    assert not readable(x[:1].expand(2, 3, 8, 16))  # a step of 0
    assert not readable(x[:, :, :0])
    assert not readable(x, x.mT)
