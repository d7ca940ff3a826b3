"""What training and serving scripts do around an operator, beyond calling it once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before anything else imports Triton

# isort: split
import pytest
import torch
from oracles import assert_within_budget, budget, make_qkv, truth

from fa_toolkit import attention, flash_attention
from fa_toolkit.errors import DeviceError, DtypeError, ShapeError
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem

PROBLEM = AttentionProblem(2, 4, 2, 20, 33, 16, 24, "float32", True)
IMPLS: list[Any] = [
    "tiled",
    pytest.param(
        "triton",
        marks=pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs kernels on the CPU"),
    ),
]


@pytest.fixture
def leaves() -> list[torch.Tensor]:
    return [x.requires_grad_() for x in make_qkv(PROBLEM)]


@pytest.fixture
def deterministic_algorithms() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("impl", IMPLS)
def test_a_sum_as_the_loss(impl: str, leaves: list[torch.Tensor]) -> None:
    """Its gradient has stride 0 in every axis."""
    o = flash_attention(*leaves, causal=True, impl=impl)  # type: ignore[call-overload]
    o.sum().backward()
    exact = truth(*leaves, causal=True, do=torch.ones_like(o))
    for name, x in zip(("dq", "dk", "dv"), leaves, strict=True):
        assert_within_budget(name, x.grad, exact)  # type: ignore[arg-type]


@pytest.mark.parametrize("impl", IMPLS)
def test_one_tensor_as_q_k_and_v(impl: str) -> None:
    x = torch.randn(1, 2, 20, 16, requires_grad=True)
    o = flash_attention(x, x, x, impl=impl)  # type: ignore[call-overload]
    do = torch.randn(o.shape)
    (found,) = torch.autograd.grad(o, x, do)
    exact = truth(x, x, x, do=do)
    names = ("dq", "dk", "dv")
    error = (found - sum(exact[name] for name in names)).abs()
    assert bool((error <= sum(budget(exact, name) for name in names)).all())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients_add_up_and_a_kept_graph_gives_the_same_again(
    impl: str, leaves: list[torch.Tensor]
) -> None:
    o = flash_attention(*leaves, causal=True, dropout_p=0.3, impl=impl)  # type: ignore[call-overload]
    first = torch.autograd.grad(o.sum(), leaves, retain_graph=True)
    o.sum().backward(retain_graph=True)
    o.sum().backward()
    for one, x in zip(first, leaves, strict=True):
        assert torch.equal(2 * one, x.grad)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.usefixtures("deterministic_algorithms")
def test_deterministic_algorithms_of_torch(impl: str, leaves: list[torch.Tensor]) -> None:
    found = []
    for wanted in (None, True, False):
        o = flash_attention(*leaves, causal=True, deterministic=wanted, impl=impl)  # type: ignore[call-overload]
        found.append((o, *torch.autograd.grad(o.sum(), leaves)))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("impl", IMPLS)
def test_inference_mode_and_no_grad(impl: str, leaves: list[torch.Tensor]) -> None:
    o, lse = flash_attention(*leaves, causal=True, return_lse=True, impl=impl)  # type: ignore[call-overload]
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            plain, plain_lse = flash_attention(*leaves, causal=True, return_lse=True, impl=impl)  # type: ignore[call-overload]
        assert torch.equal(plain, o) and torch.equal(plain_lse, lse)
        assert not plain.requires_grad and not plain_lse.requires_grad


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients_under_autocast(impl: str, leaves: list[torch.Tensor]) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = flash_attention(*leaves, causal=True, impl=impl)  # type: ignore[call-overload]
    do = torch.randn(o.shape).bfloat16()
    grads = torch.autograd.grad(o, leaves, do)
    exact = truth(*(x.bfloat16() for x in leaves), causal=True, do=do)
    for name, got in zip(("dq", "dk", "dv"), grads, strict=True):
        assert got.dtype == torch.float32
        assert_within_budget(name, got, exact)


@pytest.mark.parametrize("impl", IMPLS)
def test_an_input_changed_before_backward_is_noticed(impl: str, leaves: list[torch.Tensor]) -> None:
    o = flash_attention(*leaves, impl=impl)  # type: ignore[call-overload]
    with torch.no_grad():
        leaves[1].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"k": torch.ones(2, 2, 33, 16, device="meta")}, DeviceError, "k: expected the device of"),
        ({"v": torch.ones(2, 2, 33, 24, device="meta")}, DeviceError, "v: expected the device of"),
        ({"sink": torch.ones(4, device="meta")}, DeviceError, "sink"),
        ({"k": torch.ones(2, 2, 33, 16).half()}, DtypeError, "k: expected the dtype of q"),
        ({"v": torch.ones(2, 2, 32, 24)}, ShapeError, "expected"),
    ],
    ids=["device of k", "device of v", "device of sink", "dtype", "shape"],
)
def test_wrong_input_never_reaches_the_operator(
    impl: str,
    change: dict[str, torch.Tensor],
    error: type[Exception],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def launched(*_: Any) -> None:
        raise AssertionError("the operator was called")

    monkeypatch.setattr(attention, "run_attention", launched)
    q, k, v = make_qkv(PROBLEM)
    call: dict[str, Any] = {"q": q, "k": k, "v": v} | change
    with using("en"), pytest.raises(error, match=says):
        flash_attention(**call, impl=impl)  # type: ignore[call-overload]
    with pytest.raises(AssertionError, match="was called"):
        flash_attention(q, k, v, impl=impl)  # type: ignore[call-overload]
