"""The backward kernels against float64, and what their launcher promises."""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from attention_cases import CASES, TALL, Case, check_backward
from oracles import (
    assert_no_worse_than_peer,
    assert_within_budget,
    make_qkv,
    plain_attention,
    truth,
)

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import DeviceError, DtypeError, ShapeError
from fa_toolkit.kernels.configuration import Device, plan_launch
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled.trace import PHASES

pytestmark = pytest.mark.usefixtures("poisoned_empty")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradients_within_budget(case: Case, device: str) -> None:
    check_backward(kernels.flash_backward, case, device)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_no_worse_than_plain_torch(dtype: str, device: str) -> None:
    problem = AttentionProblem(1, 2, 1, 70, 60, 32, dtype=dtype, causal=True)  # type: ignore[arg-type]
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, device=device))
    o, lse = plain_attention(q, k, v, causal=True)
    do = torch.randn_like(o)
    peers = torch.autograd.grad(o, (q, k, v), do)
    grads = kernels.flash_backward(q, k, v, o, lse, do, causal=True)
    exact = truth(q, k, v, causal=True, do=do)
    for name, got, peer in zip(("dq", "dk", "dv"), grads, peers, strict=False):
        assert_no_worse_than_peer(name, got, peer, exact)


@pytest.mark.parametrize(
    "sizes",
    [(0, 2, 2, 5, 5), (1, 0, 0, 5, 5), (1, 0, 2, 5, 5), (1, 2, 2, 0, 5), (1, 2, 2, 5, 0)],
    ids=lambda s: "B{}-H{}:{}-N{}x{}".format(*s),
)
def test_empty(sizes: tuple[int, ...], device: str) -> None:
    q, k, v = make_qkv(AttentionProblem(*sizes, 16), device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=True)
    dq, dk, dv, dsink = kernels.flash_backward(q, k, v, o, lse, torch.ones_like(o), causal=True)
    for grad, x in ((dq, q), (dk, k), (dv, v)):
        assert grad.shape == x.shape and bool((grad == 0).all())
    assert dsink is None


def test_rows_that_see_no_key(device: str) -> None:
    problem = AttentionProblem(1, 1, 1, 90, 30, 16, dtype="float32", causal=True)
    q, k, v = make_qkv(problem, device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=True, tile=TALL)
    dlse = torch.ones_like(lse)
    dq, dk, dv, _ = kernels.flash_backward(
        q, k, v, o, lse, torch.ones_like(o), dlse, causal=True, tile=TALL
    )
    assert bool((dq[:, :, :60] == 0).all())
    assert all(bool(torch.isfinite(x).all()) for x in (dq, dk, dv))


def test_do_with_stride_zero(device: str) -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 1, 20, 30, 16, dtype="float32"), device=device)
    o, lse = kernels.flash_forward(q, k, v)
    one = torch.ones((), device=device)
    got = kernels.flash_backward(q, k, v, o, lse, one.expand_as(o), one.expand_as(lse))
    plain = kernels.flash_backward(q, k, v, o, lse, torch.ones_like(o), torch.ones_like(lse))
    for a, b in zip(got[:3], plain[:3], strict=True):
        assert torch.equal(a, b)


def test_only_what_is_needed_is_computed(device: str) -> None:
    q, k, v = make_qkv(AttentionProblem(1, 2, 1, 20, 30, 16, dtype="float32"), device=device)
    o, lse = kernels.flash_forward(q, k, v)
    whole = kernels.flash_backward(q, k, v, o, lse, o)
    no_dq = kernels.flash_backward(q, k, v, o, lse, o, needs_dq=False)
    no_dkdv = kernels.flash_backward(q, k, v, o, lse, o, needs_dkdv=False)
    assert no_dq.dq is None and no_dkdv.dk is None and no_dkdv.dv is None
    assert torch.equal(no_dq.dk, whole.dk) and torch.equal(no_dq.dv, whole.dv)
    assert torch.equal(no_dkdv.dq, whole.dq)


def test_gradients_lie_as_their_tensors(device: str) -> None:
    q, k, v = make_qkv(AttentionProblem(2, 4, 2, 6, 7, 16), layout="bnhd", device=device)
    o, lse = kernels.flash_forward(q, k, v)
    assert o.stride() == q.stride()
    grads = kernels.flash_backward(q, k, v, o, lse, o)
    for grad, x in zip(grads, (q, k, v), strict=False):
        assert grad.stride() == x.stride()


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="a file on the CPU; see test_gpu.py")
@pytest.mark.parametrize("name", ["q", "k", "v", "do"])
def test_offsets_past_32_bits(name: str) -> None:
    """A row stride so large that row times stride passes 2^31, in a sparse file."""
    rows, stride = 3, 2**30 + 8
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, rows, rows, 16), torch.float16)
    do = torch.randn(1, 1, rows, 16).half()
    o, lse = kernels.flash_forward(q, k, v)
    exact = truth(q, k, v, do=do)
    tensors = {"q": q, "k": k, "v": v, "do": do}
    with tempfile.NamedTemporaryFile() as sparse:
        sparse.truncate(2 * rows * stride)
        big = torch.from_file(sparse.name, shared=True, size=rows * stride, dtype=torch.float16)
        far = big.as_strided((1, 1, rows, 16), (0, 0, stride, 1))
        tensors[name] = far.copy_(tensors[name])
        q, k, v, do = tensors.values()
        grads = kernels.flash_backward(q, k, v, o, lse, do, tile=TileShape(16, 16))
        for label, got in zip(("dq", "dk", "dv"), grads, strict=False):
            assert_within_budget(label, got, exact)


@pytest.mark.parametrize("phase", PHASES["flash_backward"])
def test_step_labels_are_the_steps_of_the_trace(phase: str) -> None:
    name = "delta_kernel" if phase == "delta" else f"flash_backward_{phase}_kernel"
    labels = re.findall(r"# step: (\w+)", inspect.getsource(getattr(kernels, name).fn))
    assert labels == [step.value for step in PHASES["flash_backward"][phase]]


def test_two_runs_agree_to_the_last_bit(device: str) -> None:
    problem = AttentionProblem(2, 4, 1, 40, 50, 16, dtype="bfloat16", causal=True)
    q, k, v = make_qkv(problem, device=device)
    o, lse = kernels.flash_forward(q, k, v, causal=True)
    first = kernels.flash_backward(q, k, v, o, lse, o, causal=True)
    again = kernels.flash_backward(q, k, v, o, lse, o, causal=True)
    alone = kernels.flash_backward(*(x[1:] for x in (q, k, v, o, lse, o)), causal=True)
    for a, b, c in zip(first[:3], again[:3], alone[:3], strict=True):
        assert torch.equal(a, b) and torch.equal(a[1:], c)


DEVICES = {
    "T4": Device((7, 5), 65536),
    "A100": Device((8, 0), 166912),
    "4090": Device((8, 9), 101376),
    "H200": Device((9, 0), 232448),
    "B200": Device((10, 0), 232448),
}


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("kernel", ["dkdv", "dq"])
def test_every_head_dimension_gets_a_tile_that_fits(name: str, kernel: str) -> None:
    device, problem = DEVICES[name], AttentionProblem(1, 1, 1, 9, 9)
    for dtype in ("float16", "float32"):
        for d in (1, 16, 64, 65, 128, 129, 256):
            for dv in (1, 64, 256):
                sized = replace(problem, head_dim=d, head_dim_v=dv, dtype=dtype)  # type: ignore[arg-type]
                plan = plan_launch(sized, device, None, kernel)  # type: ignore[arg-type]
                assert plan.shared(sized.itemsize, device) <= device.shared
                assert plan.block_d >= d and plan.block_dv >= dv


@pytest.mark.parametrize("packed", [False, True], ids=["batch", "packed"])
@pytest.mark.parametrize("name", ["o", "lse", "do", "dlse"])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        # addresses come from q's sizes, so a shorter tensor would be read past its end
        (lambda x: x.narrow(x.ndim - 1, 0, 5), ShapeError),
        (lambda x: x.double(), DtypeError),
        (lambda x: x.bfloat16(), DtypeError),
        (lambda x: x.to("meta"), DeviceError),
        (lambda x: x.to_sparse(), DtypeError),
        (lambda x: x.tolist(), DtypeError),
    ],
    ids=["shorter", "double", "bfloat16", "meta", "sparse", "list"],
)
def test_what_was_saved_must_fit(
    change: Callable[..., Any], error: type[Exception], name: str, packed: bool
) -> None:
    q, k, v = (torch.randn(20, 2, 16) if packed else torch.randn(1, 2, 20, 16) for _ in range(3))
    offsets = [torch.tensor([0, 12, 20], dtype=torch.int32)] * 2 if packed else []
    forward = kernels.flash_forward_varlen if packed else kernels.flash_forward
    backward = kernels.flash_backward_varlen if packed else kernels.flash_backward
    o, lse = forward(q, k, v, *offsets)
    saved = {"o": o, "lse": lse, "do": torch.ones_like(o), "dlse": torch.zeros_like(lse)}
    saved[name] = change(saved[name])
    with pytest.raises(error, match=rf"^({name}|argument \d+|tensors): "):
        backward(q, k, v, *saved.values(), *offsets)


def test_a_sink_has_one_number_a_head() -> None:
    q, k, v = (torch.randn(1, 2, 20, 16) for _ in range(3))
    with pytest.raises(ShapeError, match="sink"):
        kernels.flash_forward(q, k, v, sink=torch.zeros(1))
