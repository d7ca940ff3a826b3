"""Attention and its gradients against hand-worked numbers, the oracle, and numerical gradients."""

from __future__ import annotations

import math
from typing import Any

import oracles
import pytest
import torch
from oracles import assert_within_budget, make_grads, make_qkv, truth
from torch import Tensor

from fa_toolkit import errors
from fa_toolkit.problem import AttentionProblem
from fa_toolkit.reference import attention, attention_backward, visible_pairs

INF = float("inf")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": (2, 1)},
    "left-window": {"window": (3, -1)},
    "causal-window": {"causal": True, "window": (2, 5)},
    "softcap": {"softcap": 1.5},
    "scale": {"scale": -0.3},
}
SMALL = (
    AttentionProblem(1, 2, 1, 3, 5, 4, 3),
    AttentionProblem(1, 2, 2, 5, 3, 2, 4),
)


def hand() -> tuple[Tensor, Tensor, Tensor]:
    q = [[math.log(3), 0.0], [0.0, 0.0]]
    k = [[1.0, 0.0], [0.0, 1.0]]
    v = [[4.0, 0.0], [0.0, 8.0]]
    a, b, c = (torch.tensor(x, dtype=torch.float64)[None, None] for x in (q, k, v))
    return a, b, c


def close(got: Tensor, want: list[Any]) -> None:
    wanted = torch.tensor(want, dtype=torch.float64)
    torch.testing.assert_close(got[0, 0], wanted, rtol=1e-14, atol=1e-14)


def test_two_by_two_by_hand() -> None:
    o, lse = attention(*hand(), scale=1.0)  # P = [[3/4, 1/4], [1/2, 1/2]]
    close(o, [[3, 2], [2, 4]])
    close(lse, [math.log(4), math.log(2)])


def test_two_by_two_gradients_by_hand() -> None:
    q, k, v = hand()
    o, lse = attention(q, k, v, scale=1.0)
    do = torch.zeros_like(o)
    do[0, 0, 0, 0] = 1  # only o[0, 0] counts: Delta = 3, dP = [4, 0], dS = [3/4, -3/4]
    dq, dk, dv, dsink = attention_backward(q, k, v, o, lse, do, scale=1.0)
    close(dv, [[0.75, 0], [0.25, 0]])
    close(dq, [[0.75, -0.75], [0, 0]])
    close(dk, [[0.75 * math.log(3), 0], [-0.75 * math.log(3), 0]])
    assert dsink is None


def test_causal_two_by_two_by_hand() -> None:
    o, lse = attention(*hand(), scale=1.0, causal=True)
    close(o, [[4, 0], [2, 4]])
    close(lse, [math.log(3), math.log(2)])


def test_sink_by_hand() -> None:
    sink = torch.tensor([math.log(4)], dtype=torch.float64)
    o, lse = attention(*hand(), scale=1.0, sink=sink)  # row 0: (3, 1, 4) / 8
    close(o, [[1.5, 1], [4 / 6, 8 / 6]])
    close(lse, [math.log(8), math.log(6)])


@pytest.mark.parametrize(
    ("sizes", "mask", "want"),
    [
        ((2, 3), {"causal": True}, ["110", "111"]),
        ((3, 2), {"causal": True}, ["00", "10", "11"]),
        ((3, 3), {"window": (1, 0)}, ["100", "110", "011"]),
        ((2, 4), {"window": (0, 1)}, ["0011", "0001"]),
        ((2, 3), {"window": (-1, 0)}, ["110", "111"]),
        ((2, 3), {"causal": True, "window": (0, 2)}, ["010", "001"]),
        ((2, 3), {"window": (-1, -1)}, ["111", "111"]),
    ],
)
def test_masks_drawn_by_hand(sizes: tuple[int, int], mask: dict[str, Any], want: list[str]) -> None:
    problem = AttentionProblem(len_q=sizes[0], len_k=sizes[1], **mask)
    drawn = [[cell == "1" for cell in row] for row in want]
    assert visible_pairs(problem, (0, sizes[0]), (0, sizes[1])).tolist() == drawn
    assert oracles.visibility(problem).tolist() == drawn


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("problem", oracles.SHAPES_THAT_HURT, ids=oracles.case_id)
def test_forward_and_backward_within_budget(problem: AttentionProblem, dtype: str) -> None:
    kind = oracles.DTYPES[dtype]
    options: dict[str, Any] = {"causal": problem.causal, "sink": torch.randn(problem.heads_q)}
    q, k, v = make_qkv(problem, kind, layout="bnhd")
    do, dlse = make_grads(problem, kind)
    exact = truth(q, k, v, do=do, dlse=dlse, **options)
    o, lse = attention(q, k, v, **options)
    assert (o.dtype, lse.dtype == torch.float64) == (kind, kind == torch.float64)
    grads = attention_backward(q, k, v, o, lse, do, dlse, **options)
    for name, got in {"o": o, "lse": lse, **grads._asdict()}.items():
        if name == "dsink" and kind == torch.float64:  # comes back in the float32 of the sink
            assert_within_budget(name, got, exact, torch.float32)
        else:
            assert_within_budget(name, got, exact)


class Explicit(torch.autograd.Function):
    """attention with attention_backward as its derivative, so that gradcheck can look at it."""

    @staticmethod
    def forward(ctx: Any, options: dict[str, Any], *inputs: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v, sink = (x.detach() for x in inputs)
        o, lse = attention(q, k, v, sink=sink, **options)
        ctx.save_for_backward(q, k, v, sink, o, lse)
        ctx.options = options
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Tensor, dlse: Tensor) -> tuple[Any, ...]:
        q, k, v, sink, o, lse = ctx.saved_tensors
        grads = attention_backward(q, k, v, o, lse, do, dlse, sink=sink, **ctx.options)
        return (None, *grads)


def leaves(problem: AttentionProblem) -> list[Tensor]:
    sink = torch.randn(problem.heads_q, dtype=torch.float64)
    return [x.requires_grad_() for x in (*make_qkv(problem, torch.float64), sink)]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("problem", SMALL, ids=oracles.case_id)
def test_gradcheck(problem: AttentionProblem, options: dict[str, Any]) -> None:
    assert torch.autograd.gradcheck(lambda *x: Explicit.apply(options, *x), leaves(problem))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("problem", SMALL, ids=oracles.case_id)
def test_autograd_through_the_reference(problem: AttentionProblem, options: dict[str, Any]) -> None:
    inputs = leaves(problem)[:3]  # without a sink rows may be dead
    do, dlse = make_grads(problem, torch.float64)
    o, lse = attention(*inputs, **options)
    alive = lse > -INF
    loss = (o * do).sum() + (lse[alive] * dlse[alive]).sum()
    want = torch.autograd.grad(loss, inputs)
    args = [x.detach() for x in (*inputs, o, lse)]
    got = attention_backward(*args, do, dlse, **options)
    for a, b in zip(got, want, strict=False):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_rows_without_keys() -> None:
    problem = AttentionProblem(1, 2, 2, 5, 3, 4, 4)
    q, k, v = make_qkv(problem, torch.float64)
    o, lse = attention(q, k, v, causal=True)
    assert torch.equal(o[:, :, :2], torch.zeros(1, 2, 2, 4, dtype=torch.float64))
    assert bool((lse[:, :, :2] == -INF).all() and lse[:, :, 2:].isfinite().all())
    dlse = torch.full_like(lse, INF)
    dlse[:, :, 2:] = 0
    grads = attention_backward(q, k, v, o, lse, torch.ones_like(o), dlse, causal=True)
    assert bool((grads.dq[:, :, :2] == 0).all())
    assert all(bool(x.isfinite().all()) for x in grads[:3])
    sink = torch.tensor([0.5, -1.0], dtype=torch.float64)
    o, lse = attention(q, k, v, causal=True, sink=sink)
    assert torch.equal(lse[0, :, :2], sink[:, None].expand(2, 2))
    assert bool((o[:, :, :2] == 0).all())


@pytest.mark.parametrize(
    "sizes",
    [(0, 2, 2, 3, 3), (1, 0, 0, 3, 3), (1, 0, 2, 3, 3), (1, 2, 2, 0, 3), (1, 4, 2, 3, 0)],
)
def test_empty(sizes: tuple[int, ...]) -> None:
    problem = AttentionProblem(*sizes, head_dim=4)
    q, k, v = make_qkv(problem, torch.float32)
    o, lse = attention(q, k, v)
    assert (o.shape, lse.shape) == (q.shape, q.shape[:3])
    assert bool((o == 0).all() and (lse == -INF).all())
    grads = attention_backward(q, k, v, o, lse, o, lse)
    for x, grad in zip((q, k, v), grads, strict=False):
        assert grad is not None and grad.shape == x.shape and bool((grad == 0).all())


def test_nan_goes_no_further_than_its_key_can_be_seen() -> None:
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, 4, 4, 8))
    k[0, 0, 2] = float("nan")
    o, lse = attention(q, k, v, causal=True)
    assert o.isnan().any(-1)[0, 0].tolist() == [False, False, True, True]
    assert lse.isnan()[0, 0].tolist() == [False, False, True, True]


def test_soft_cap_zero_is_none() -> None:
    q, k, v = make_qkv(SMALL[0], torch.float64)
    assert torch.equal(attention(q, k, v, softcap=0)[0], attention(q, k, v)[0])


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"k": torch.ones(1, 2, 5, 3)}, errors.ShapeError, "k"),
        ({"k": torch.ones(1, 1, 5, 4)}, errors.ShapeError, "k"),
        ({"v": torch.ones(2, 2, 5, 4)}, errors.ShapeError, "v"),
        ({"q": torch.ones(2, 3, 4)}, errors.ShapeError, "q"),
        ({"v": torch.ones(1, 2, 5, 4).half()}, errors.DtypeError, "v"),
        ({"q": torch.ones(1, 2, 3, 4).int()}, errors.DtypeError, "q"),
        ({"v": torch.ones(1, 2, 5, 0)}, errors.ShapeError, "v"),
        ({"q": torch.ones(1, 3, 3, 4)}, errors.ArgumentError, "heads_q"),
        ({"sink": torch.ones(3)}, errors.ShapeError, "sink"),
        ({"softcap": -1.0}, errors.ArgumentError, "softcap"),
        ({"scale": INF}, errors.ArgumentError, "scale"),
        ({"window": (-2, 0)}, errors.ArgumentError, "window left"),
    ],
)
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 2, 3, 5, 4), torch.float32)
    with pytest.raises(error, match=f"^{name}: "):
        attention(**{"q": q, "k": k, "v": v, **change})
