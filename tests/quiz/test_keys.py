"""Keys are computed by the package through a whitelist, and nothing else can be called."""

from __future__ import annotations

import math

import pytest

from fa_toolkit.errors import BankError
from fa_toolkit.io_model import flash_forward_traffic
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.quiz.keys import CALLABLE, check_call, key_value
from fa_toolkit.quiz.models import Call
from fa_toolkit.quiz.states import merged_parts, row_gradients, running_states


def test_a_key_is_what_the_package_computes() -> None:
    args = {
        "problem": {"len_q": 1024, "len_k": 1024, "head_dim": 64},
        "tile": {"block_m": 128, "block_n": 64},
    }
    key = Call(call="io_model.flash_forward_traffic", args=args, take="reads")
    problem = AttentionProblem(len_q=1024, len_k=1024, head_dim=64)
    assert key_value(key, "B") == flash_forward_traffic(problem, TileShape(128, 64)).reads
    by_tensor = Call(call=key.call, args=args, take="by_tensor.K.0")
    assert key_value(by_tensor) == 8 * 1024 * 64 * 2


def test_a_key_may_combine_calls() -> None:
    gpu = {"call": "hardware.gpu", "args": {"name": "A100-80GB"}, "take": "hbm_bandwidth"}
    key = Call(call="arithmetic", args={"expression": "19.5e12 / bandwidth", "bandwidth": gpu})
    assert key_value(key, "x") == pytest.approx(19.5e12 / key_value(Call(**gpu)))


def test_units_of_an_expression_are_checked() -> None:
    assert key_value(Call(call="arithmetic", args={"expression": "13.5%"}), "%") == 0.135
    with pytest.raises(BankError):
        key_value(Call(call="arithmetic", args={"expression": "3 MiB"}), "ms")
    with pytest.raises(BankError):
        key_value(Call(call="arithmetic", args={"expression": "3 +"}))


def test_iterators_can_be_counted() -> None:
    args = {"problem": {"len_q": 100}, "tile": {"block_m": 32, "block_n": 16}}
    assert key_value(Call(call="problem.row_tiles", args=args, take="count")) == 4
    assert key_value(Call(call="problem.row_tiles", args=args, take="-1.1")) == 100


@pytest.mark.parametrize(
    "call",
    ["os.system", "builtins.eval", "io_model", "io_model.__class__", "hardware.gpu.__init__", ""],
)
def test_nothing_else_can_be_called(call: str) -> None:
    with pytest.raises(BankError):
        check_call(call, {}, "here")
    with pytest.raises(BankError):
        key_value(Call(call=call or "x", args={}))


@pytest.mark.parametrize(
    ("call", "args", "take"),
    [
        ("hardware.gpu", {"name": "A100-80GB"}, None),  # not a number
        ("hardware.gpu", {"name": "A100-80GB"}, "__class__"),
        ("hardware.gpu", {"name": "A100-80GB"}, "name"),
        ("hardware.gpu", {"name": "no such thing"}, "l2"),
        ("hardware.gpu", {"nome": "A100-80GB"}, "l2"),
        ("problem.AttentionProblem", {"len_q": -1}, "len_q"),
        ("reference.online_softmax_states", {"x": [1, 2], "blocks": 2}, "7.m"),
        ("reference.online_softmax_states", {"x": [1, 2], "blocks": object()}, "0.m"),
    ],
)
def test_a_key_that_cannot_be_computed_says_so(call: str, args: dict, take: str | None) -> None:
    with pytest.raises(BankError):
        key_value(Call(call=call, args=args, take=take))


def test_every_name_of_the_whitelist_exists() -> None:
    import importlib

    for module, name in CALLABLE.values():
        assert callable(getattr(importlib.import_module(f"fa_toolkit.{module}"), name))


def test_running_states_by_hand() -> None:
    first, second = running_states([1, 2, 3, 4], [1, 0, 0, 1], 2)
    e = math.e
    assert (first.m, second.m) == (2, 4)
    assert (first.l, first.acc) == (pytest.approx(1 + 1 / e), pytest.approx(1 / e))
    assert second.factor == pytest.approx(e**-2)
    assert second.l == pytest.approx((1 + 1 / e) * (1 + e**-2))
    assert second.acc == pytest.approx(e**-3 + 1)


def test_row_gradients_are_those_of_autograd() -> None:
    import torch

    s, v = [0.5, -1.0, 2.0], [1.0, 3.0, -2.0]
    scores = torch.tensor(s, dtype=torch.float64, requires_grad=True)
    values = torch.tensor(v, dtype=torch.float64, requires_grad=True)
    out = torch.softmax(scores, 0) @ values
    out.backward(torch.tensor(4.0, dtype=torch.float64))
    found = row_gradients(s, v, 4.0)
    assert [g.ds for g in found] == pytest.approx(scores.grad.tolist())  # type: ignore[union-attr]
    assert [g.dv for g in found] == pytest.approx(values.grad.tolist())  # type: ignore[union-attr]
    assert {round(g.delta, 9) for g in found} == {round(4.0 * out.item(), 9)}
    assert sum(g.ds for g in found) == pytest.approx(0, abs=1e-12)


def test_merged_parts_are_the_whole_row() -> None:
    import torch

    s, v = torch.tensor([1.0, 5.0, 2.0]).double(), torch.tensor([3.0, -1.0, 7.0]).double()
    halves = [(s[:1], v[:1]), (s[1:], v[1:])]
    outs = [(torch.softmax(a, 0) @ b).item() for a, b in halves]
    lses = [torch.logsumexp(a, 0).item() for a, _ in halves]
    merged = merged_parts(outs, lses)
    assert merged.o == pytest.approx((torch.softmax(s, 0) @ v).item())
    assert merged.lse == pytest.approx(torch.logsumexp(s, 0).item())
    assert merged_parts([9.0, 2.0], [-math.inf, 0.5]) == pytest.approx((2.0, 0.5))
