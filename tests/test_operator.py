"""The operator under PyTorch's own tools: opcheck, compile, export, checkpoint, transforms."""

from __future__ import annotations

from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before torch.compile imports Triton

# isort: split
import pytest
import torch
import torch._dynamo
from oracles import assert_within_budget, make_grads, make_qkv, truth
from torch.utils.checkpoint import checkpoint

from fa_toolkit import flash_attention
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.language import using
from fa_toolkit.operator import Options, attention_backward_op, attention_op
from fa_toolkit.problem import AttentionProblem

SMALL = AttentionProblem(2, 4, 2, 9, 14, 8, 12, dtype="float32", causal=True)
IMPLS = [
    "tiled",
    pytest.param(
        "triton",
        marks=pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs kernels on the CPU"),
    ),
]


def _leaves(problem: AttentionProblem = SMALL, **keywords: Any) -> list[torch.Tensor]:
    return [x.requires_grad_() for x in make_qkv(problem, **keywords)]


@pytest.mark.parametrize("impl", IMPLS)
def test_opcheck(impl: str) -> None:
    q, k, v = _leaves()
    sink, seed = torch.zeros(4, requires_grad=True), torch.tensor([3])
    options = Options(causal=True, left=5, softcap=3.0, dropout_p=0.2, impl=impl)
    torch.library.opcheck(attention_op, (q, k, v, sink, seed, None, None, *options))
    plain = (None, None, None, None, *Options(impl=impl))
    torch.library.opcheck(attention_op, (q, k, v, *plain))
    o, lse = (x.detach() for x in attention_op(q, k, v, sink, seed, None, None, *options))
    saved = [x.detach() for x in (q, k, v)] + [o, lse, torch.ones_like(o)]
    more = (torch.ones_like(lse), sink.detach(), seed, None, None, True, True, *options)
    torch.library.opcheck(attention_backward_op, (*saved, *more))
    rest = (None, None, None, None, None, False, True, *Options(impl=impl))
    torch.library.opcheck(attention_backward_op, (*saved, *rest))


def test_triton_forward_and_every_gradient() -> None:
    if kernels.mode() != "interpreter":
        pytest.skip("runs kernels on the CPU")
    problem = AttentionProblem(1, 4, 2, 20, 31, 16, 8, causal=True, window=(9, -1))
    q, k, v = _leaves(problem, dtype=torch.bfloat16, layout="bnhd")
    sink = torch.randn(4, requires_grad=True)
    options: dict[str, Any] = {"causal": True, "window": (9, -1), "softcap": 3.0, "scale": 0.3}
    o, lse = flash_attention(q, k, v, sink=sink, return_lse=True, impl="triton", **options)
    do, dlse = make_grads(problem, torch.bfloat16)
    grads = torch.autograd.grad((o, lse), (q, k, v, sink), (do, dlse))
    exact = truth(q, k, v, sink=sink, do=do, dlse=dlse, **options)
    for name, got in zip(("o", "lse", "dq", "dk", "dv", "dsink"), (o, lse, *grads), strict=True):
        assert_within_budget(name, got, exact)


@pytest.mark.parametrize("impl", IMPLS)
@torch._dynamo.config.patch(error_on_recompile=True)
def test_compile_sees_one_graph_and_no_recompile_for_a_new_length(impl: str) -> None:
    torch._dynamo.reset()

    def call(*tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return flash_attention(*tensors, causal=True, return_lse=True, impl=impl)  # type: ignore[call-overload,no-any-return]

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=True)
    for len_q, len_k in ((19, 23), (29, 31), (37, 53)):
        problem = AttentionProblem(2, 4, 2, len_q, len_k, 8, 12, dtype="float32")
        q, k, v = _leaves(problem)
        o, lse = compiled(q, k, v)
        plain_o, plain_lse = call(q, k, v)
        assert torch.equal(o, plain_o) and torch.equal(lse, plain_lse)
        mine = torch.autograd.grad(o.sum() + lse.cos().sum(), (q, k, v))
        plain = torch.autograd.grad(plain_o.sum() + plain_lse.cos().sum(), (q, k, v))
        for a, b in zip(mine, plain, strict=True):
            torch.testing.assert_close(a, b)


def test_compiled_dropout_draws_anew_each_time_and_follows_the_seed_of_torch() -> None:
    torch._dynamo.reset()
    call = torch.compile(
        lambda q, k, v: flash_attention(q, k, v, dropout_p=0.5), backend="aot_eager", fullgraph=True
    )
    q, k, v = make_qkv(SMALL)
    torch.manual_seed(1)
    first, second = call(q, k, v), call(q, k, v)
    torch.manual_seed(1)
    assert torch.equal(call(q, k, v), first) and not torch.equal(first, second)


def test_export() -> None:
    class Layer(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return flash_attention(q, k, v, causal=True)

    q, k, v = make_qkv(SMALL)
    exported = torch.export.export(Layer(), (q, k, v))
    assert "fa_toolkit.attention" in exported.graph_module.code
    assert torch.equal(exported.module()(q, k, v), Layer()(q, k, v))


@pytest.mark.parametrize("impl", IMPLS)
def test_only_gradients_that_are_asked_for(impl: str) -> None:
    for wanted in ("q", "k", "v", "sink"):
        q, k, v = make_qkv(SMALL)
        tensors = {"q": q, "k": k, "v": v, "sink": torch.zeros(4)}
        tensors[wanted].requires_grad_()
        sink = tensors["sink"]
        o = flash_attention(q, k, v, sink=sink, causal=True, impl=impl)  # type: ignore[call-overload]
        o.square().sum().backward()
        assert [n for n, x in tensors.items() if x.grad is not None] == [wanted]


@pytest.mark.parametrize("impl", IMPLS)
def test_a_missing_gradient_of_o_or_lse_counts_as_zero(impl: str) -> None:
    q, k, v = _leaves()
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True, impl=impl)  # type: ignore[call-overload]
    for output in (o, lse):
        other = lse if output is o else o
        alone = torch.autograd.grad(output.sum(), (q, k), retain_graph=True)
        both = torch.autograd.grad(output.sum() + 0 * other.sum(), (q, k), retain_graph=True)
        for a, b in zip(alone, both, strict=True):
            torch.testing.assert_close(a, b)


def test_a_checkpoint_replays_the_dropout() -> None:
    q, k, v = _leaves()

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        return flash_attention(*tensors, dropout_p=0.5)

    torch.manual_seed(7)
    plain = torch.autograd.grad(call(q, k, v).sum(), (q, k, v))
    torch.manual_seed(7)
    again = torch.autograd.grad(checkpoint(call, q, k, v, use_reentrant=False).sum(), (q, k, v))
    for a, b in zip(plain, again, strict=True):
        assert torch.equal(a, b)


def test_the_seed_decides_and_any_whole_number_is_one() -> None:
    q, k, v = make_qkv(SMALL)

    def call(seed: Any) -> torch.Tensor:
        return flash_attention(q, k, v, dropout_p=0.5, seed=seed)

    assert torch.equal(call(3), call(torch.tensor(3)))
    assert torch.equal(call(2**64 - 1), call(-1))
    assert not torch.equal(call(3), call(4)) and not torch.equal(call(3), call(3 + 2**32))
    torch.manual_seed(0)
    first = call(None)
    torch.manual_seed(0)
    assert torch.equal(call(None), first) and not torch.equal(call(None), first)


def test_double_backward_and_transforms_are_refused_with_the_way_out() -> None:
    q, k, v = _leaves()
    (dq,) = torch.autograd.grad(flash_attention(q, k, v).sum(), q, create_graph=True)
    with using("en"), pytest.raises(BackendUnavailable, match="first order"):
        dq.square().sum().backward()
    with using("en"), pytest.raises(BackendUnavailable, match="vmap"):
        torch.vmap(lambda x: flash_attention(x, k, v))(q[None])
    with using("en"), pytest.raises(BackendUnavailable, match=r"torch\.func"):
        torch.func.grad(lambda x: flash_attention(x, k, v).sum())(q)


def test_backward_under_autocast_computes_in_the_type_of_the_inputs() -> None:
    q, k, v = _leaves()
    do = torch.ones(2, 4, 9, 12)
    exact = truth(q, k, v, do=do)
    o = flash_attention(q, k, v, impl="reference")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        grads = torch.autograd.grad(o, (q, k, v), do)
    for name, got in zip(("dq", "dk", "dv"), grads, strict=True):
        assert_within_budget(name, got, exact)
