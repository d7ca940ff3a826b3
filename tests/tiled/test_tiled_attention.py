"""The tiled algorithms against the oracle: forward, backward and standard, traced and fast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import oracles
import pytest
import torch
from oracles import assert_within_budget, make_grads, make_qkv, truth
from torch import Tensor

from fa_toolkit import errors, tiled
from fa_toolkit.problem import AttentionProblem, TileShape

INF = float("inf")
TALL, WIDE = TileShape(32, 16), TileShape(16, 48)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": (9, 4)},
    "far-window": {"causal": True, "window": (20, 0)},
    "softcap": {"softcap": 2.0, "causal": True},
    "scale": {"scale": 0.5},
}
pytestmark = pytest.mark.usefixtures("poisoned_empty")


def problem(**changes: Any) -> AttentionProblem:
    return replace(AttentionProblem(2, 4, 2, 50, 70, 12, 20, "float32"), **changes)


def check_all(p: AttentionProblem, dtype: torch.dtype, tile: TileShape, **options: Any) -> None:
    """Forward, backward and their traces, each within the budget of every element."""
    layout = options.pop("layout", "contiguous")
    q, k, v = make_qkv(p, dtype, layout=layout)
    do, dlse = make_grads(p, dtype)
    exact = truth(q, k, v, do=do, dlse=dlse, **options)
    o, lse = tiled.flash_forward(q, k, v, tile=tile, **options)
    assert (o.dtype, o.shape) == (dtype, (*q.shape[:3], v.shape[3]))
    grads = tiled.flash_backward(q, k, v, o, lse, do, dlse, tile=tile, **options)
    for name, got in {"o": o, "lse": lse, **grads._asdict()}.items():
        if got is not None:
            narrow = got.dtype if name == "dsink" else None
            assert_within_budget(name, got, exact, narrow, label=f"{dtype} {tile}")
    traced = tiled.trace_flash_forward(q, k, v, tile=tile, **options).outputs
    again = tiled.trace_flash_backward(q, k, v, o, lse, do, dlse, tile=tile, **options).outputs
    for name, got in {"o": traced["O"], "lse": traced["lse"], **again}.items():
        if name != "Delta":
            narrow = got.dtype if name == "dsink" else None
            assert_within_budget(name.lower(), got, exact, narrow, label="traced")


@pytest.mark.parametrize("tile", [TALL, WIDE], ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options(options: dict[str, Any], tile: TileShape) -> None:
    check_all(problem(), torch.float32, tile, sink=torch.randn(4), **options)


@pytest.mark.parametrize("tile", [TALL, WIDE], ids=str)
@pytest.mark.parametrize("case", oracles.SHAPES_THAT_HURT, ids=oracles.case_id)
def test_shapes_that_hurt(case: AttentionProblem, tile: TileShape) -> None:
    check_all(case, torch.float32, tile, causal=case.causal)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    check_all(problem(), dtype, TALL, causal=True)


@pytest.mark.parametrize("layout", oracles.LAYOUTS)
def test_any_strides(layout: str) -> None:
    check_all(problem(), torch.float32, TALL, causal=True, layout=layout)


@pytest.mark.parametrize("group", [1, 2, 5])
def test_heads_in_lots_equal_heads_one_by_one(group: int) -> None:
    """Many heads force the fast path into several lots; none may be lost or mixed up."""
    p = AttentionProblem(5, 3 * group, 3, 20, 12, 4, 4, "float32")
    check_all(p, torch.float32, TileShape(8, 4), causal=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_standard(options: dict[str, Any], dtype: torch.dtype) -> None:
    q, k, v = make_qkv(problem(), dtype)
    exact = truth(q, k, v, **options)
    o = tiled.standard_forward(q, k, v, tile=WIDE, **options)
    trace = tiled.trace_standard_forward(q, k, v, tile=WIDE, **options)
    peer, _ = oracles.plain_attention(q, k, v, **options)
    for got in (o, trace.outputs["O"]):
        if dtype == torch.float16:  # S and P pass through HBM in half: no better than eager code
            oracles.assert_no_worse_than_peer("o", got, peer, exact)
        else:
            assert_within_budget("o", got, exact)


def test_standard_with_sink() -> None:
    q, k, v = make_qkv(problem(len_q=80), torch.float64)
    sink = torch.tensor([0.3, -INF, 2.0, -1.0], dtype=torch.float64)
    o = tiled.standard_forward(q, k, v, causal=True, sink=sink)
    assert_within_budget("o", o, truth(q, k, v, causal=True, sink=sink))


def test_half_is_within_the_peers_rule() -> None:
    q, k, v = make_qkv(problem(), torch.bfloat16)
    o, _ = tiled.flash_forward(q, k, v, tile=TALL)
    peer, _ = oracles.plain_attention(q, k, v)
    oracles.assert_no_worse_than_peer("o", o, peer, truth(q, k, v))


@pytest.mark.parametrize(
    "sizes",
    [(0, 2, 2, 3, 3), (1, 0, 0, 3, 3), (1, 0, 2, 3, 3), (1, 2, 2, 0, 3), (1, 4, 2, 3, 0)],
)
def test_empty(sizes: tuple[int, ...]) -> None:
    q, k, v = make_qkv(AttentionProblem(*sizes, head_dim=4, head_dim_v=6), torch.float32)
    o, lse = tiled.flash_forward(q, k, v)
    assert bool((o == 0).all() and (lse == -INF).all())
    assert torch.equal(tiled.standard_forward(q, k, v), o)
    grads = tiled.flash_backward(q, k, v, o, lse, torch.ones_like(o), torch.ones_like(lse))
    for x, grad in zip((q, k, v), grads, strict=False):
        assert grad is not None and grad.shape == x.shape and bool((grad == 0).all())


def test_dead_rows_give_zero_gradients_whatever_comes_back() -> None:
    q, k, v = make_qkv(problem(len_q=90), torch.float32)
    o, lse = tiled.flash_forward(q, k, v, tile=TALL, causal=True)
    dead = lse == -INF
    assert int(dead.sum()) == 2 * 4 * 20
    dlse = torch.where(dead, INF, 0.0)
    do = torch.ones_like(o)
    dq, dk, dv, _ = tiled.flash_backward(q, k, v, o, lse, do, dlse, tile=TALL, causal=True)
    assert bool((dq[dead] == 0).all())
    assert all(bool(x.isfinite().all()) for x in (dq, dk, dv))


def test_nan_goes_no_further_than_in_the_reference() -> None:
    q, k, v = make_qkv(problem(), torch.float32)
    k[1, 0, 40], v[0, 1, 68, 3] = float("nan"), float("nan")
    mine, _ = tiled.flash_forward(q, k, v, tile=TALL, causal=True)
    plain, _ = oracles.plain_attention(q, k, v, causal=True)
    assert bool(mine.isnan().any()) and not bool((mine.isnan() & ~plain.isnan()).any())
    assert bool(mine[0, 3, 49, 3].isnan())
    skipped = mine[0, 2:, :32]  # keys from 64 on: hidden from this tile of rows, so never read
    assert bool(skipped.isfinite().all())


def test_inputs_that_need_gradients_leave_no_graph() -> None:
    q, k, v = (x.requires_grad_() for x in make_qkv(problem(), torch.float32))
    o, lse = tiled.flash_forward(q, k, v)
    assert not (o.requires_grad or lse.requires_grad)


def saved() -> dict[str, Tensor]:
    q, k, v = make_qkv(problem(), torch.float32)
    o, lse = tiled.flash_forward(q, k, v)
    return {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": torch.ones_like(o)}


@pytest.mark.parametrize(
    ("name", "error"),
    [("o", errors.ShapeError), ("do", errors.ShapeError), ("lse", errors.ShapeError)],
)
def test_backward_refuses_other_shapes(name: str, error: type[Exception]) -> None:
    tensors = saved()
    tensors[name] = tensors[name][:, :, 1:]
    with pytest.raises(error, match=f"^{name}: "):
        tiled.flash_backward(**tensors)


def test_backward_refuses_a_rounded_lse() -> None:
    tensors = saved()
    tensors["lse"] = tensors["lse"].half()
    with pytest.raises(errors.DtypeError, match=r"^lse: "):
        tiled.flash_backward(**tensors)
