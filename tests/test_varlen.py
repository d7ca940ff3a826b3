"""The door of packed sequences against float64, forward and gradients."""

from __future__ import annotations

from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before torch.compile imports Triton

# isort: split
import pytest
import torch
import torch._dynamo
import varlen_cases
from varlen_cases import CASES, Case, offsets

from fa_toolkit import flash_attention_varlen
from fa_toolkit.errors import ArgumentError, DtypeError, ShapeError
from fa_toolkit.operator import Options, attention_backward_op, attention_op

IMPLS: tuple[Any, ...] = (
    "tiled",
    "reference",
    pytest.param(
        "triton",
        marks=pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs kernels on the CPU"),
    ),
)


def _skip_float64_kernels(case: Case, impl: str) -> None:
    if impl == "triton" and case.dtype == "float64":
        pytest.skip("kernels have no float64")


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_within_budget(case: Case, impl: str) -> None:
    _skip_float64_kernels(case, impl)
    varlen_cases.check(flash_attention_varlen, case, impl=impl, return_lse=True, validate=True)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradients(case: Case, impl: str) -> None:
    _skip_float64_kernels(case, impl)
    varlen_cases.check_gradients(flash_attention_varlen, case, impl=impl, return_lse=True)


@pytest.mark.parametrize("impl", IMPLS)
def test_operator_checks(impl: str) -> None:
    """PyTorch's own checks of schema, fake and autograd registration, on a packed call."""
    q, k, v = (torch.randn(7, h, 8, requires_grad=True) for h in (2, 1, 1))
    cu_q, cu_k = offsets((3, 4)), offsets((2, 4))
    options = Options(causal=True, left=3, dropout_p=0.2, impl=impl)
    sink, seed = torch.zeros(2, requires_grad=True), torch.tensor([3])
    arguments = (q, k, v, sink, seed, cu_q, cu_k, *options)
    torch.library.opcheck(attention_op, arguments)
    o, lse = (x.detach() for x in attention_op(*arguments))
    saved = [x.detach() for x in (q, k, v)]
    rest = (o, lse, sink.detach(), seed, cu_q, cu_k, True, True, *options)
    do, dlse = torch.randn_like(o), torch.randn_like(lse)
    torch.library.opcheck(attention_backward_op, (*saved, *rest[:2], do, dlse, *rest[2:]))


@torch._dynamo.config.patch(error_on_recompile=True)
def test_compiles_once_for_all_lengths() -> None:
    torch._dynamo.reset()

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu: torch.Tensor) -> torch.Tensor:
        return flash_attention_varlen(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=True)
    for lens in ((3, 4), (9, 2), (5, 8)):
        q, k, v = (torch.randn(sum(lens), h, 8, requires_grad=True) for h in (2, 1, 1))
        cu = offsets(lens)
        o, plain = compiled(q, k, v, cu), call(q, k, v, cu)
        assert torch.equal(o, plain)
        mine = torch.autograd.grad(o.square().sum(), (q, k, v))
        for a, b in zip(mine, torch.autograd.grad(plain.square().sum(), (q, k, v)), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs kernels on the CPU")
@pytest.mark.parametrize("given", [[0, 3, 2, 9], [2, 5, 5, 5], [-4, 1, 99, 2], [7, 0, 0, 0]])
def test_wrong_offsets_never_reach_outside_the_tensors(given: list[int]) -> None:
    """The interpreter refuses any access outside: what counts is that it has nothing to refuse."""
    q, k, v = (torch.randn(5, 1, 8, requires_grad=True) for _ in "qkv")
    cu = torch.tensor(given, dtype=torch.int32)
    o = flash_attention_varlen(
        q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu.flip(0), causal=True, impl="triton",
        validate=False,
    )  # fmt: skip
    torch.autograd.grad(o, (q, k, v), torch.ones_like(o))


def test_autocast() -> None:
    x, cu = torch.ones(5, 1, 4), offsets((2, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = flash_attention_varlen(x, x, x, cu_seqlens_q=cu, cu_seqlens_k=cu)
    assert o.dtype == torch.bfloat16 and o[:, 0, 0].tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"max_seqlen_q": -1}, ArgumentError, "max_seqlen_q"),
        ({"max_seqlen_k": 2.5}, ArgumentError, "max_seqlen_k"),
        ({"dropout_p": 1.0}, ArgumentError, "dropout_p"),
        ({"impl": "cuda"}, ArgumentError, "impl"),
        ({"cu_seqlens_k": offsets((2, 3))}, ShapeError, "cu_seqlens_k"),
        ({"cu_seqlens_q": offsets((5,)).float()}, DtypeError, "cu_seqlens_q"),
        ({"cu_seqlens_q": offsets((6,)), "validate": True}, ArgumentError, "cu_seqlens_q"),
        ({"cu_seqlens_k": offsets((6,))}, ArgumentError, "cu_seqlens_k"),  # on a CPU it is seen
        ({"cu_seqlens_q": [0, 5]}, DtypeError, "cu_seqlens_q"),
        ({"dropout_p": 0.5, "seed": 42.0}, ArgumentError, "seed"),
        ({"deterministic": "no"}, ArgumentError, "deterministic"),
        ({"validate": "no"}, ArgumentError, "validate"),
        ({"k": torch.ones(5, 1, 3), "v": torch.ones(5, 1, 3)}, ShapeError, "k"),
    ],
)
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    x, cu = torch.ones(5, 1, 4), offsets((5,))
    call = {"q": x, "k": x, "v": x, "cu_seqlens_q": cu, "cu_seqlens_k": cu} | change
    with pytest.raises(error, match=f"^{name}: "):
        flash_attention_varlen(**call)
