"""The door of packed sequences against float64, forward and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import varlen_cases
from oracles import assert_within_budget, truth
from varlen_cases import CASES, Case, offsets, sequences

import fa_toolkit as fa
from fa_toolkit import flash_attention_varlen
from fa_toolkit.errors import ArgumentError, BackendUnavailable, DtypeError, ShapeError

IMPLS: tuple[Any, ...] = ("tiled", "reference")


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_within_budget(case: Case, impl: str) -> None:
    varlen_cases.check(flash_attention_varlen, case, impl=impl, return_lse=True, validate=True)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradients(case: Case, impl: Any) -> None:
    q, k, v, sink = varlen_cases.make(case)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    cu = {"cu_seqlens_q": offsets(case.lens_q), "cu_seqlens_k": offsets(case.lens_k)}
    flags: dict[str, Any] = {"impl": impl, "return_lse": True, "sink": sink, **case.flags}
    o, lse = flash_attention_varlen(q, k, v, **cu, **flags)
    if not case.lens_q:
        assert not o.requires_grad
        return
    do, dlse = torch.randn_like(o), torch.randn_like(lse)
    loss = [o, lse.masked_fill(lse == -float("inf"), 0.0)]
    found = torch.autograd.grad(loss, leaves, [do, dlse])
    start, ends = 0, [sum(case.lens_q), sum(case.lens_k), sum(case.lens_k)]
    for grad, end in zip(found, ends, strict=True):
        assert bool((grad[end:] == 0).all())  # of NaN tokens that belong to nobody
    grads = sequences(case, *found)
    for inputs, mine in zip(sequences(case, *(x.detach() for x in leaves)), grads, strict=True):
        own = slice(start, start + inputs[0].shape[2])
        one_do, one_dlse = do[own].transpose(0, 1)[None], dlse[None, :, own]
        exact = truth(*inputs, sink=sink, do=one_do, dlse=one_dlse, **case.flags)
        for name, grad in zip(("dq", "dk", "dv"), mine, strict=True):
            assert_within_budget(name, grad, exact, label=case.name)
        start = own.stop


def test_triton_runs_the_dense_kernel_for_each_sequence() -> None:
    if fa.kernels.mode() != "interpreter":
        pytest.skip(f"CPU tensors need the interpreter: {fa.kernels.mode().reason.en}")
    case = Case((3, 0, 5), (4, 2, 5), flags={"causal": True}, spare=(1, 1))
    with torch.no_grad():
        varlen_cases.check(flash_attention_varlen, case, impl="triton", return_lse=True)


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
        ({"dropout_p": 0.1}, BackendUnavailable, "dropout_p"),
        ({"impl": "cuda"}, ArgumentError, "impl"),
        ({"cu_seqlens_k": offsets((2, 3))}, ShapeError, "cu_seqlens_k"),
        ({"cu_seqlens_q": offsets((5,)).float()}, DtypeError, "cu_seqlens_q"),
        ({"cu_seqlens_q": offsets((6,)), "validate": True}, ArgumentError, "cu_seqlens_q"),
        ({"cu_seqlens_k": offsets((6,)), "validate": True}, ArgumentError, "cu_seqlens_k"),
        ({"k": torch.ones(5, 1, 3), "v": torch.ones(5, 1, 3)}, ShapeError, "k"),
    ],
)
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    x, cu = torch.ones(5, 1, 4), offsets((5,))
    call = {"q": x, "k": x, "v": x, "cu_seqlens_q": cu, "cu_seqlens_k": cu} | change
    with pytest.raises(error, match=f"^{name}: "):
        flash_attention_varlen(**call)
