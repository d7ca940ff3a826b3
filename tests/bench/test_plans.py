"""Which cases a run has: as published tables cut them, fewer where asked for less."""

from __future__ import annotations

import pytest

from fa_toolkit.bench import cpu
from fa_toolkit.bench.plans import SUITES, plan_of, training_problem
from fa_toolkit.errors import ArgumentError


def test_training_cases_have_the_tokens_and_width_of_published_tables() -> None:
    for plan in (plan_of(extent) for extent in ("quick", "default", "full")):
        for p in plan.speed:
            assert p.batch * p.len_q == 16_384 and p.heads_q * p.head_dim == 2_048
            assert p.len_q == p.len_k and p.dtype == "bfloat16"


def test_extents_grow() -> None:
    quick, default, full = (plan_of(e) for e in ("quick", "default", "full"))
    assert set(quick.speed) < set(default.speed) < set(full.speed)
    assert quick.budget_s < default.budget_s < full.budget_s
    assert {p.head_dim for p in full.speed} == {64, 128, 256}
    assert any(p.group == 8 for p in full.speed)
    # flex compiles for a minute: not by default, but if it is asked for
    assert "flex" in default.without and not full.without
    assert not plan_of(providers=["flex"]).without


def test_what_is_given_narrows_the_plan() -> None:
    plan = plan_of(head_dims=[64], lengths=[300, 100], causal=False, dtype="float16", tokens=600)
    assert [(p.head_dim, p.len_q, p.batch) for p in plan.speed] == [(64, 300, 2), (64, 100, 6)]
    assert not any(p.causal for p in plan.speed)
    assert {p.dtype for p in (*plan.speed, *plan.memory, *plan.decode, plan.host)} == {"float16"}
    assert [p.len_q for p in plan.memory] == [100, 300]


def test_suites() -> None:
    plan = plan_of(suites=["backward", "host"])
    assert plan.suites == ("backward", "host") and plan.passes == ("backward",)
    assert plan_of().passes == ("forward", "backward")
    with pytest.raises(ArgumentError, match="forwards"):
        plan_of(suites=["forwards"])
    assert set(SUITES) == {
        "forward",
        "backward",
        "decode",
        "memory",
        "host",
        "ablations",
        "timeline",
    }


def test_a_sequence_longer_than_all_tokens_is_one_sequence() -> None:
    assert training_problem(128, 32_768, True).batch == 1


def test_a_shape_of_ones_own_takes_the_place_of_all_others() -> None:
    plan = plan_of(shapes=[(4, 32, 8, 4096, 128)], dtype="float16")
    assert [(p.batch, p.heads_q, p.heads_kv, p.len_q, p.len_k, p.head_dim) for p in plan.speed] == [
        (4, 32, 8, 4096, 4096, 128)
    ] * 2
    assert {p.causal for p in plan.speed} == {True, False}
    assert [(p.len_q, p.len_k, p.group) for p in plan.decode] == [(1, 4096, 4)]
    assert plan.asked and not plan_of().asked
    assert cpu.problems("quick", plan.speed)[0].heads_kv == 8
    assert plan.host in plan.speed and set(plan.memory) == set(plan.speed)
    assert plan_of(shapes=[(1, 2, 2, 64, 64)], causal=True).speed[0].causal


def test_what_a_timeline_is_checked_against_is_the_shipped_kernel() -> None:
    plan = plan_of(suites=["timeline"])
    assert plan.method.reference == "hopper_forward"
    assert plan_of(suites=["timeline", "forward"]).method.reference == "float32"
    assert {(p.head_dim, p.len_k, p.causal) for p in plan.timeline} == {
        (128, 4096, True), (128, 4096, False)
    }  # fmt: skip
