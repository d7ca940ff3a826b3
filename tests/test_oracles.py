"""The oracle itself: it agrees with torch, and its budgets catch what they are there to catch."""

from __future__ import annotations

import budgets
import oracles
import pytest
import torch
from hypothesis import given
from oracles import assert_within_budget, make_grads, make_qkv, truth
from problem_strategies import problems

from fa_toolkit.problem import AttentionProblem

PROBLEM = AttentionProblem(1, 4, 2, 40, 56, 16, 24, "float32", True)


def exact_and_plain(dtype: torch.dtype) -> tuple[oracles.Truth, torch.Tensor]:
    q, k, v = make_qkv(PROBLEM, dtype)
    o, _ = oracles.plain_attention(q, k, v, causal=True)
    return truth(q, k, v, causal=True), o


def test_truth_equals_torch_in_float64() -> None:
    q, k, v = make_qkv(PROBLEM, torch.float64)
    mask = oracles.visibility(PROBLEM)
    wide = [t.repeat_interleave(2, 1) for t in (k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(q, *wide, attn_mask=mask)
    torch.testing.assert_close(truth(q, k, v, causal=True)["o"], want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_budget_accepts_plain_torch_and_refuses_one_wrong_element(dtype: torch.dtype) -> None:
    exact, o = exact_and_plain(dtype)
    assert_within_budget("o", o, exact)
    steps = 64 if dtype == torch.float32 else 8  # scores are rounded to float32 too
    o[0, 2, 17, 5] += steps * torch.finfo(dtype).eps
    with pytest.raises(AssertionError, match=r"o\[0, 2, 17, 5\].*times its budget"):
        assert_within_budget("o", o, exact)


def test_budget_refuses_a_forgotten_key() -> None:
    q, k, v = make_qkv(PROBLEM)
    exact = truth(q, k, v)
    o, lse = oracles.plain_attention(q, k[:, :, :-1], v[:, :, :-1])
    for name, got in (("o", o), ("lse", lse)):
        with pytest.raises(AssertionError, match="times its budget"):
            assert_within_budget(name, got, exact)


def test_budget_refuses_scores_rounded_to_half_in_lse() -> None:
    q, k, v = make_qkv(PROBLEM, torch.float16)
    _, lse = oracles.plain_attention(q, k, v)
    with pytest.raises(AssertionError, match="lse"):
        assert_within_budget("lse", lse, truth(q, k, v))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 0.0, -1e30])
def test_infinities_are_compared_by_place(wrong: float) -> None:
    dead = AttentionProblem(1, 1, 1, 3, 2, 4, 4, "float32", True)
    q, k, v = make_qkv(dead)
    exact = truth(q, k, v, causal=True)
    lse = exact["lse"].clone()
    assert_within_budget("lse", lse, exact)
    lse[0, 0, 0] = wrong
    with pytest.raises(AssertionError, match=r"lse\[0, 0, 0\]"):
        assert_within_budget("lse", lse, exact)


@pytest.mark.parametrize("name", ["dq", "dk", "dv"])
def test_budget_of_gradients_refuses_a_wrong_row(name: str) -> None:
    q, k, v = make_qkv(PROBLEM)
    do, dlse = make_grads(PROBLEM)
    exact = truth(q, k, v, causal=True, do=do, dlse=dlse)
    got = exact[name].clone()
    assert_within_budget(name, got, exact)
    got[0, 1, -1] *= 1 + 1e-3
    with pytest.raises(AssertionError, match=rf"{name}\[0, 1, "):
        assert_within_budget(name, got, exact)


def test_peers_rule_refuses_three_times_the_error() -> None:
    exact, peer = exact_and_plain(torch.float16)
    oracles.assert_no_worse_than_peer("o", peer, peer, exact)
    worse = exact["o"] + 3 * (peer.double() - exact["o"])
    worse[0, 0, 0, 0] += 0.01
    with pytest.raises(AssertionError, match="plain torch"):
        oracles.assert_no_worse_than_peer("o", worse, peer, exact)


def test_peers_rule_knows_what_cancels_before_dk() -> None:
    """In float32 an eps of the terms is let through, three of them are not; of dv nothing more."""
    q, k, v = (x.float() for x in make_qkv(PROBLEM))
    do, _ = make_grads(PROBLEM)
    exact = truth(q, k, v, causal=True, do=do.float())
    for name, parts, passes in (("dk", 1.0, True), ("dk", 3.0, False), ("dv", 1.0, False)):
        moved = exact[name].clone()
        moved.flatten()[0] += (
            parts * torch.finfo(torch.float32).eps * float(exact.terms[name].max())
        )
        if passes:
            oracles.assert_no_worse_than_peer(name, moved, exact[name], exact)
            continue
        with pytest.raises(AssertionError, match="plain torch"):
            oracles.assert_no_worse_than_peer(name, moved, exact[name], exact)


@pytest.mark.parametrize("layout", oracles.LAYOUTS)
def test_layouts_hold_the_same_values(layout: str) -> None:
    plain = make_qkv(PROBLEM)
    for x, y in zip(plain, make_qkv(PROBLEM, layout=layout), strict=True):
        assert torch.equal(x, y)
        assert y.is_contiguous() == (layout in ("contiguous", "expanded"))


def test_poisoned_memory_is_nan(poisoned_empty: None) -> None:
    x = torch.zeros(2)
    for fresh in (torch.empty(2), torch.empty_like(x), x.new_empty(2)):
        assert bool(fresh.isnan().all())


@given(problems(longest=9))
def test_visibility_asks_the_problem_about_every_pair(problem: AttentionProblem) -> None:
    p = problem
    pairs = [[p.sees(i, j) for j in range(p.len_k)] for i in range(p.len_q)]
    assert oracles.visibility(p).tolist() == pairs


def test_watchers_hear_of_every_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[object, ...]] = []
    monkeypatch.setattr(budgets, "WATCHERS", [lambda *what: heard.append(what)])
    exact, o = exact_and_plain(torch.float16)
    assert_within_budget("o", o, exact, label="here")
    oracles.assert_no_worse_than_peer("o", o, o, exact)
    with pytest.raises(AssertionError):
        assert_within_budget("o", o + 1, exact)
    kinds, names, dtypes, ratios, sizes, labels = zip(*heard, strict=True)
    assert kinds == ("budget", "peer", "budget") and set(names) == {"o"}
    assert set(dtypes) == {torch.float16} and set(sizes) == {o.numel()} and labels[0] == "here"
    assert 0 < ratios[0] <= 1 and 0 < ratios[1] <= 0.5 and ratios[2] > 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_what_a_gpu_flushes_to_zero_is_within_budget(dtype: torch.dtype) -> None:
    """Probabilities below the smallest normal float32, as a large sink leaves them: 0 will do."""
    problem = AttentionProblem(1, 1, 1, 5, 7, 8)
    q, k, v = make_qkv(problem, dtype)
    do, _ = make_grads(problem, dtype)
    sink = torch.tensor([89.0])
    exact = truth(0 * q, k, v, sink=sink, do=do)
    p = torch.exp(-exact["lse"])
    assert 1e-41 < float(p.max()) < torch.finfo(torch.float32).tiny
    assert bool((exact["dv"] != 0).all())
    for name in ("o", "dv", "dq", "dk"):
        assert_within_budget(name, torch.zeros_like(exact[name]), exact)


def test_roundings_that_all_point_one_way_are_within_budget_and_a_forgotten_key_is_not() -> None:
    """Keys that are all the same: a running float32 sum of 1,500 equal terms errs by 100 units."""
    n = 1500
    q = make_qkv(AttentionProblem(1, 1, 1, 4, n, 2, 2), torch.float32)[0]
    k, v = (torch.full((1, 1, n, 2), 0.7) for _ in range(2))
    dlse = torch.ones(1, 1, 4)
    exact = truth(q, k, v, dlse=dlse)
    term = (exact["dq"] / n).float()

    def running_sum(terms: int) -> torch.Tensor:
        total = torch.zeros_like(term)
        for _ in range(terms):
            total += term
        return total

    with pytest.raises(AssertionError, match="times its budget"):
        assert_within_budget("dq", running_sum(n), exact)
    assert_within_budget("dq", running_sum(n), exact, alike=n)
    with pytest.raises(AssertionError, match="times its budget"):
        assert_within_budget("dq", running_sum(n - 1), exact, alike=n)
