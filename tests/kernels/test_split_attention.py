"""Attention of few queries over many keys: when it takes the path of decoding, and what it gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from oracles import assert_within_budget, make_grads, make_qkv, truth

import fa_toolkit.kernels as kernels
from fa_toolkit import flash_attention, io_model, tiled
from fa_toolkit.kernels import decode_configuration
from fa_toolkit.kernels.configuration import INTERPRETER, Device
from fa_toolkit.kernels.decode_configuration import (
    FEW_QUERIES,
    LONG_KEYS,
    choose_split,
    split_plan,
)
from fa_toolkit.operator import Options, attention_op
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = pytest.mark.usefixtures("poisoned_empty")
interpreted = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="the pretended device is the interpreter's"
)
H200 = (Device((9, 0), 232448), 132)
STEP = AttentionProblem(1, 32, 8, 1, 8192, 128)


@pytest.mark.parametrize(
    ("change", "splits"),
    [
        ({}, 33),
        ({"batch": 64}, 1),  # fills the device, but a group of heads still shares its loads
        ({"batch": 64, "heads_kv": 32}, None),  # neither
        ({"heads_kv": 32}, 8),
        ({"len_q": FEW_QUERIES, "heads_q": 8}, 16),
        ({"len_q": FEW_QUERIES + 1, "heads_q": 8}, None),
        ({"len_q": 8192}, None),
        ({"len_q": 8}, 33),
        ({"len_q": 100}, 4),  # 400 packed rows: seven tiles of them for each key head
        ({"len_k": LONG_KEYS}, 8),
        ({"len_k": LONG_KEYS - 1}, None),
        ({"len_k": 2**20, "window": (LONG_KEYS - 1, 0)}, 8),
        ({"len_k": 2**20, "window": (LONG_KEYS - 2, 0)}, None),
        ({"len_q": 0}, None),
        ({"batch": 0}, None),
        ({"heads_q": 0, "heads_kv": 0}, None),
    ],
    ids=str,
)
def test_what_takes_the_path(change: dict[str, Any], splits: int | None) -> None:
    plan = split_plan(replace(STEP, **change), *H200)
    assert (plan.splits if plan else None) == splits
    assert split_plan(replace(STEP, **change), *H200, dropout=True) is None


def test_the_plan_fits_every_device() -> None:
    for device, sms in ((Device((7, 5), 65536), 40), (Device((8, 9), 101376), 128), H200):
        for width in (16, 128, 256):
            problem = AttentionProblem(1, 8, 2, 9, 5000, width, dtype="float32")
            plan = split_plan(problem, device, sms)
            assert plan and plan.launch.shared(4, device) <= device.shared


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few keys count as many, so that the interpreter soon has done them."""
    monkeypatch.setattr(decode_configuration, "LONG_KEYS", 16)
    monkeypatch.setattr(decode_configuration, "SHORTEST_SPLIT", 16)


def _problem(*sizes: int, **mask: Any) -> AttentionProblem:
    return AttentionProblem(*sizes, **{"dtype": "float32", **mask})  # type: ignore[arg-type]


CASES: dict[str, tuple[AttentionProblem, dict[str, Any]]] = {
    "one query": (_problem(1, 6, 2, 1, 70, 16, 24), {}),
    "causal, one head": (_problem(1, 1, 1, 40, 70, 8, 8, causal=True), {}),
    "window": (_problem(2, 4, 2, 5, 90, 8, 12, window=(30, 2)), {"softcap": 2.0, "scale": -0.4}),
    "sink": (_problem(1, 4, 1, 7, 50, 12, 8, causal=True, dtype="bfloat16"), {"sink": True}),
    "rows without keys": (_problem(1, 2, 1, 30, 20, 16, 16, causal=True), {}),
    "several row tiles": (_problem(1, 1, 1, 70, 80, 8, 8, window=(50, 1)), {"sink": True}),
}


def _options(problem: AttentionProblem, more: dict[str, Any]) -> dict[str, Any]:
    sink = {"sink": torch.linspace(-2, 3, problem.heads_q)} if "sink" in more else {}
    return {"causal": problem.causal, "window": problem.window, **more, **sink}


@interpreted
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("layout", ["contiguous", "bnhd", "gaps"])
@pytest.mark.parametrize("name", CASES)
def test_within_budget_and_laid_out_as_q(
    name: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, more = CASES[name]
    if name == "several row tiles":
        monkeypatch.setattr(decode_configuration, "INTERPRETER_SMS", 4)
    assert choose_split(problem, torch.device("cpu"))
    q, k, v = make_qkv(problem, layout=layout)
    options = _options(problem, more)
    o, lse = kernels.flash_forward(q, k, v, **options)
    exact = truth(q, k, v, **options)
    assert_within_budget("o", o, exact, label=name)
    assert_within_budget("lse", lse, exact, label=name)
    plain_o, plain_lse = kernels.flash_forward(q, k, v, tile=TileShape(16, 16), **options)
    assert o.stride() == plain_o.stride() and lse.stride() == plain_lse.stride()
    assert lse.is_contiguous()


@interpreted
def test_long_keys_take_the_path_by_themselves() -> None:
    problem = _problem(1, 2, 1, 2, LONG_KEYS, 8, causal=True, dtype="float16")
    q, k, v = make_qkv(problem)
    recording = kernels.record(kernels.flash_forward, q, k, v, causal=True)
    ran = {access.kernel for access in recording.accesses}
    assert ran == {"flash_decode_kernel", "merge_parts_kernel"}
    given = kernels.record(kernels.flash_forward, q, k, v, causal=True, tile=TileShape(16, 256))
    assert {access.kernel for access in given.accesses} == {"flash_forward_kernel"}
    torch.testing.assert_close(recording.result[0], given.result[0], rtol=1e-2, atol=1e-3)


@interpreted
@pytest.mark.usefixtures("short")
def test_it_is_the_decode_kernel_on_a_full_cache() -> None:
    problem, _ = CASES["window"]
    plan = choose_split(problem, torch.device("cpu"))
    assert plan
    q, k, v = make_qkv(problem)
    o, lse = kernels.flash_forward(q, k, v, window=problem.window)
    lens = torch.full((2,), problem.len_k, dtype=torch.int32)
    decoded = kernels.flash_decode(
        q.transpose(1, 2), k, v, seq_lens=lens, causal=False, window=problem.window,
        num_splits=plan.splits,
    )  # fmt: skip
    assert torch.equal(o, decoded[0].transpose(1, 2)) and torch.equal(lse, decoded[1])


@interpreted
@pytest.mark.usefixtures("short")
def test_gradients_go_through_and_the_operator_is_what_it_says() -> None:
    problem, more = CASES["sink"]
    q, k, v = (x.requires_grad_() for x in make_qkv(problem))
    options = _options(problem, more)
    sink = options.pop("sink").requires_grad_()
    o, lse = flash_attention(q, k, v, sink=sink, return_lse=True, impl="triton", **options)
    do, dlse = make_grads(problem, torch.bfloat16)
    grads = torch.autograd.grad((o, lse), (q, k, v, sink), (do, dlse))
    exact = truth(q, k, v, sink=sink, do=do, dlse=dlse, **options)
    for name, got in zip(("o", "lse", "dq", "dk", "dv", "dsink"), (o, lse, *grads), strict=True):
        assert_within_budget(name, got, exact)
    plain = [x.detach() for x in (q, k, v, sink)]
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(
        attention_op, (*plain, *[None] * 3, *Options(causal=True, impl="triton")), test_utils=checks
    )


@interpreted
@pytest.mark.usefixtures("short")
def test_under_dropout_and_in_a_trace_it_is_the_plain_kernel() -> None:
    problem, _ = CASES["one query"]
    q, k, v = make_qkv(problem)
    seed = {"dropout_p": 0.5, "seed": torch.tensor([3])}
    recording = kernels.record(kernels.flash_forward, q, k, v, **seed)
    assert {access.kernel for access in recording.accesses} == {"flash_forward_kernel"}
    trace = kernels.trace_flash_forward(q, k, v)
    model = io_model.flash_forward_traffic(problem, trace.tile)
    assert tiled.Ledger.of(trace.events).by_tensor == dict(model.by_tensor)


def test_the_interpreter_is_a_device_of_two_multiprocessors() -> None:
    assert decode_configuration.INTERPRETER_SMS == 2
    problem = _problem(1, 1, 1, 1, LONG_KEYS, 8)
    plan = split_plan(problem, INTERPRETER, 2)
    assert plan and plan.splits == 4
