"""(m, l, acc) and its merge: any split, any order, parts that saw nothing."""

from __future__ import annotations

import itertools
import math
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fa_toolkit import errors
from fa_toolkit.reference import attention
from fa_toolkit.tiled import SoftmaxState, merge_partials

INF = float("inf")
sizes = st.lists(st.integers(0, 5), min_size=1, max_size=6)


def scores_and_values(keys: int, seed: int, spread: float = 8.0) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    s = spread * torch.randn(3, keys, generator=rng, dtype=torch.float64)
    s[torch.rand(3, keys, generator=rng) < 0.3] = -INF
    s[0] = -INF  # one row sees nothing at all
    return s, torch.randn(keys, 2, generator=rng, dtype=torch.float64)


def empty() -> SoftmaxState:
    return SoftmaxState.empty([3], 2, dtype=torch.float64)


def states(s: Tensor, v: Tensor, cuts: list[int]) -> list[SoftmaxState]:
    parts = zip(s.split(cuts, -1), v.split(cuts), strict=True)
    return [empty().update(a, b) for a, b in parts]


def whole(s: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    lse = torch.logsumexp(s, -1)
    return torch.softmax(s, -1).nan_to_num(0.0) @ v, lse


def same(got: tuple[Tensor, Tensor], want: tuple[Tensor, Tensor]) -> None:
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_one_two_three_four_in_two_blocks() -> None:
    state = SoftmaxState.empty([1], 1, dtype=torch.float64)
    v = torch.tensor([[1.0], [1.0]], dtype=torch.float64)
    state, alpha, p = state.fold(torch.tensor([[1.0, 2.0]], dtype=torch.float64), v)
    assert (state.m.item(), alpha.item()) == (2.0, 0.0)
    assert state.l.item() == p.sum().item() == pytest.approx(math.exp(-1) + 1, rel=1e-15)
    state, alpha, p = state.fold(torch.tensor([[3.0, 4.0]], dtype=torch.float64), v)
    assert (state.m.item(), alpha.item()) == (4.0, pytest.approx(math.exp(-2), rel=1e-15))
    assert p.sum().item() == pytest.approx(math.exp(-1) + 1, rel=1e-15)
    assert state.acc.item() == pytest.approx(state.l.item()), "values of 1 make acc another l"


def test_the_output_needs_the_factor_too() -> None:
    """Claim S11 speaks of the sum alone; leaving acc as it was gives a wrong output."""
    s, v = torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[8.0], [4.0], [2.0], [1.0]])
    first = SoftmaxState.empty([1], 1).update(s[:, :2], v[:2])
    second, _, p = first.fold(s[:, 2:], v[2:])
    forgot = second._replace(acc=first.acc + p @ v[2:])
    want = torch.softmax(s, -1) @ v
    torch.testing.assert_close(second.finish()[0], want)
    assert (forgot.finish()[0] - want).abs().item() > 1


@given(sizes, st.integers(0, 99))
def test_any_split_gives_the_whole(cuts: list[int], seed: int) -> None:
    s, v = scores_and_values(sum(cuts), seed)
    one_by_one = empty()
    for a, b in zip(s.split(cuts, -1), v.split(cuts), strict=True):
        one_by_one = one_by_one.update(a, b)
    merged = reduce(SoftmaxState.merge, states(s, v, cuts))
    for state in (one_by_one, merged):
        same(state.finish(), whole(s, v))


@given(st.integers(0, 99), st.permutations(range(4)))
def test_merge_knows_no_order_and_no_grouping(seed: int, order: list[int]) -> None:
    s, v = scores_and_values(12, seed)
    parts = states(s, v, [3, 1, 0, 8])
    want = whole(s, v)
    a, b, c, d = (parts[i] for i in order)
    same(a.merge(b).merge(c).merge(d).finish(), want)
    same(a.merge(b).merge(c.merge(d)).finish(), want)
    same(a.merge(b.merge(c.merge(d))).finish(), want)


def test_empty_is_neutral_on_both_sides() -> None:
    state = states(*scores_and_values(5, 0), [5])[0]
    for merged in (state.merge(empty()), empty().merge(state)):
        assert all(torch.equal(a, b) for a, b in zip(merged, state, strict=True))
    o, lse = empty().merge(empty()).finish()
    assert bool((o == 0).all() and (lse == -INF).all())


def test_large_scores_do_not_overflow() -> None:
    s = torch.tensor([[1e4, -1e4, 3e38]])
    state = SoftmaxState.empty([1], 1)
    for j in range(3):
        state = state.update(s[:, j : j + 1], torch.tensor([[float(j)]]))
    o, lse = state.finish()
    assert (o.item(), lse.item()) == (2.0, s[0, 2].item())


def parts_of_attention(n: int = 4) -> tuple[list[Tensor], list[Tensor], tuple[Tensor, Tensor]]:
    q, k, v = (torch.randn(2, 3, 8, 5, dtype=torch.float64) for _ in range(3))
    cuts = zip(k.tensor_split(n, 2), v.tensor_split(n, 2), strict=True)
    outs, lses = zip(*(attention(q, a, b) for a, b in cuts), strict=True)
    return list(outs), list(lses), attention(q, k, v)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_merge_partials(n: int) -> None:
    outs, lses, want = parts_of_attention(n)
    same(merge_partials(outs, lses), want)
    same(merge_partials(torch.stack(outs), torch.stack(lses)), want)
    for order in itertools.islice(itertools.permutations(range(n)), 6):
        same(merge_partials([outs[i] for i in order], [lses[i] for i in order]), want)


def test_merge_partials_of_merged_parts() -> None:
    outs, lses, want = parts_of_attention(4)
    left, right = merge_partials(outs[:2], lses[:2]), merge_partials(outs[2:], lses[2:])
    same(merge_partials([left[0], right[0]], [left[1], right[1]]), want)


def test_dead_parts_count_nothing_even_if_nan() -> None:
    outs, lses, want = parts_of_attention(2)
    nothing = torch.full_like(outs[0], float("nan")), torch.full_like(lses[0], -INF)
    for place in range(3):
        o, lse = list(outs), list(lses)
        o.insert(place, nothing[0])
        lse.insert(place, nothing[1])
        same(merge_partials(o, lse), want)
    o, lse = merge_partials([nothing[0]] * 2, [nothing[1]] * 2)
    assert bool((o == 0).all() and (lse == -INF).all())


def test_live_nan_is_not_hidden() -> None:
    outs, lses, _ = parts_of_attention(2)
    outs[0][0, 0, 0] = float("nan")
    o, _ = merge_partials(outs, lses)
    assert bool(o[0, 0, 0].isnan().all()) and int(o.isnan().sum()) == 5


def test_sink_belongs_to_one_part() -> None:
    q, k, v = (torch.randn(1, 2, 6, 4, dtype=torch.float64) for _ in range(3))
    sink = torch.tensor([1.0, -INF], dtype=torch.float64)
    want = attention(q, k, v, sink=sink)
    one = attention(q, k[:, :, :3], v[:, :, :3], sink=sink)
    two = attention(q, k[:, :, 3:], v[:, :, 3:])
    same(merge_partials([one[0], two[0]], [one[1], two[1]]), want)


def test_merge_partials_dtypes() -> None:
    outs, lses = torch.ones(2, 3, 4).half(), torch.zeros(2, 3)
    o, lse = merge_partials(outs, lses)
    assert (o.dtype, lse.dtype) == (torch.float16, torch.float32)
    assert merge_partials(outs, lses, out_dtype=torch.float32)[0].dtype == torch.float32


def test_merge_partials_gradients() -> None:
    outs, lses, _ = parts_of_attention(3)
    small = [x[:1, :1, :2].clone().requires_grad_() for x in (*outs, *lses)]
    assert torch.autograd.gradcheck(lambda *x: merge_partials(x[:3], x[3:]), small)


def test_merge_partials_gradients_with_dead_parts() -> None:
    o = torch.ones(2, 2, 1, requires_grad=True)
    lse = torch.tensor([[-INF, 0.0], [-INF, -INF]], requires_grad=True)
    total, total_lse = merge_partials(o, lse)
    (total.sum() + total_lse[1]).backward()
    assert o.grad is not None and o.grad[..., 0].tolist() == [[0, 1], [0, 0]]
    assert lse.grad is not None and lse.grad.tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("outs", "lses", "error"),
    [
        ([], [], errors.ArgumentError),
        ([torch.ones(2, 1)], [torch.ones(2), torch.ones(2)], errors.ArgumentError),
        ([torch.ones(2, 1)], [torch.ones(3)], errors.ShapeError),
        ([torch.ones(2, 1), torch.ones(2, 2)], [torch.ones(2)] * 2, errors.ShapeError),
    ],
)
def test_merge_partials_refuses(
    outs: list[Tensor], lses: list[Tensor], error: type[Exception]
) -> None:
    with pytest.raises(error, match="outs"):
        merge_partials(outs, lses)


@pytest.mark.parametrize(
    "outs, lses",
    [
        (np.ones((2, 3, 4), "float32"), torch.zeros(2, 3)),
        ([None], [torch.zeros(3)]),
        (torch.ones(2, 3, 4, dtype=torch.complex64), torch.zeros(2, 3)),
        (torch.ones(2, 3, 4, dtype=torch.int32), torch.zeros(2, 3)),
        (torch.ones(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64)),
        ([torch.ones(3, 4), [1.0]], torch.zeros(2, 3)),
        (torch.tensor(1.0), torch.zeros(2, 3)),
        (None, None),
        (torch.ones(1, 3, 4, device="meta"), torch.zeros(1, 3)),
    ],
)
def test_parts_of_other_kinds_are_refused(outs: Any, lses: Any) -> None:
    with pytest.raises(errors.FaError, match=r"outs|lses"):
        merge_partials(outs, lses)


@pytest.mark.parametrize("wanted", ["float32", np.float32, float, torch.int32, torch.bool, "meta"])
def test_a_result_of_no_floating_type_is_refused(wanted: Any) -> None:
    with pytest.raises(errors.DtypeError, match="out_dtype"):
        merge_partials([torch.ones(3, 4)], [torch.zeros(3)], out_dtype=wanted)
