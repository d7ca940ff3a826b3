"""Offsets past 2^31 elements by strides alone, in every axis of every input, in a sparse file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

import pytest
import torch
from oracles import assert_within_budget, make_qkv, truth

import fa_toolkit.kernels as kernels
from fa_toolkit import flash_attention, flash_attention_varlen
from fa_toolkit.problem import AttentionProblem

pytestmark = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="a file on the CPU; see test_gpu_habits.py"
)
PROBLEM = AttentionProblem(2, 2, 2, 3, 3, 16, dtype="float16")
Far = Callable[[torch.Tensor, int], torch.Tensor]


@pytest.fixture
def far() -> Iterator[Far]:
    """Copies a tensor to where its last index along one axis begins past 2^31 elements."""
    with tempfile.NamedTemporaryFile() as sparse:

        def put(x: torch.Tensor, axis: int) -> torch.Tensor:
            stride = 2**31 // (x.shape[axis] - 1) + 8
            size = x.shape[axis] * stride + x.numel()
            sparse.truncate(2 * size)
            big = torch.from_file(sparse.name, shared=True, size=size, dtype=torch.float16)
            strides = list(x.contiguous().stride())
            strides[axis] = stride
            assert (x.shape[axis] - 1) * stride > 2**31
            return big.as_strided(x.shape, strides).copy_(x)

        yield put


@pytest.mark.parametrize("axis", range(4), ids=list("bhnd"))
@pytest.mark.parametrize("name", ["q", "k", "v", "do"])
def test_dense(name: str, axis: int, far: Far) -> None:
    q, k, v = make_qkv(PROBLEM)
    tensors = {"q": q, "k": k, "v": v, "do": torch.randn(q.shape).half()}
    exact = truth(q, k, v, do=tensors["do"])
    tensors[name] = far(tensors[name], axis)
    do = tensors.pop("do")
    leaves = [x.requires_grad_() for x in tensors.values()]
    o = flash_attention(*leaves, impl="triton")
    assert_within_budget("o", o, exact)
    for label, got in zip(("dq", "dk", "dv"), torch.autograd.grad(o, leaves, do), strict=True):
        assert_within_budget(label, got, exact)


@pytest.mark.parametrize("axis", range(3), ids=list("nhd"))
@pytest.mark.parametrize("name", ["q", "k", "v", "do"])
def test_packed(name: str, axis: int, far: Far) -> None:
    """The second of two sequences lies where offsets need 64 bits."""
    tensors = {x: torch.randn(4, 2, 16).half() for x in ("q", "k", "v", "do")}
    plain = [x[2:].transpose(0, 1)[None] for x in tensors.values()]
    exact = truth(*plain[:3], do=plain[3])
    tensors[name] = far(tensors[name], axis)
    do = tensors.pop("do")
    leaves = [x.requires_grad_() for x in tensors.values()]
    cu = torch.tensor([0, 2, 4], dtype=torch.int32)
    o = flash_attention_varlen(*leaves, cu_seqlens_q=cu, cu_seqlens_k=cu, impl="triton")
    grads = torch.autograd.grad(o, leaves, do)
    for label, got in zip(("o", "dq", "dk", "dv"), (o, *grads), strict=True):
        assert_within_budget(label, got[2:].transpose(0, 1)[None], exact)
