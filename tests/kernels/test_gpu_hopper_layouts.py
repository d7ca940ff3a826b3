"""The kernels for Hopper and where tensors lie: strides, NaN around them, far rows, memory used."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from hopper_calls import grads_of, problem_of, run
from hopper_calls import hopper_here as hopper_here
from oracles import assert_within_budget, lay_out, make_qkv, truth
from torch import Tensor

from fa_toolkit import flash_attention
from fa_toolkit.kernels.call import output_like

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty", "hopper_here")]


def among_nan(x: Tensor) -> Tensor:
    """The same values in rows that are longer than D, all around them NaN; aligned."""
    b, h, n, d = x.shape
    view = x.new_full((b + 1, h + 1, n + 3, d + 16), float("nan"))[1:, 1:, 2 : n + 2, 8 : d + 8]
    return view.copy_(x)


def beside(q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    """q, k and v of each token side by side, as one projection leaves them: [B, N, 3, H, D]."""
    return list(torch.stack([x.transpose(1, 2) for x in (q, k, v)], 2).transpose(1, 3).unbind(2))


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("layout", ["bnhd", "nan", "one projection"])
def test_layouts_give_the_same_bits(layout: str, width: int) -> None:
    problem = problem_of((333, 333), width, heads=(4, 4), batch=2, causal=True)
    tensors = make_qkv(problem, device="cuda")
    grads = grads_of(problem)
    plain = run(*tensors, *grads, causal=True)
    if layout == "one projection":
        moved: Any = beside(*tensors)
    else:
        moved = [among_nan(x) if layout == "nan" else lay_out(x, layout) for x in tensors]
    assert not any(x.is_contiguous() for x in moved)
    assert all(torch.equal(a, b) for a, b in zip(moved, tensors, strict=True))
    got = run(*moved, among_nan(grads[0]), grads[1], causal=True)
    for name in ("o", "lse", "dk", "dv"):
        assert torch.equal(got[name], plain[name]), name
    exact = truth(*tensors, causal=True, do=grads[0], dlse=grads[1])
    assert_within_budget("dq", got["dq"], exact)
    for name, like in (("o", moved[0]), ("dq", moved[0]), ("dk", moved[1]), ("dv", moved[2])):
        assert got[name].stride() == output_like(like).stride()


def test_a_sum_as_the_loss() -> None:
    """dO with strides of 0 is copied, not refused."""
    problem = problem_of((300, 300), 128)
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, device="cuda"))
    o = flash_attention(q, k, v, impl="hopper")
    grads = torch.autograd.grad(o.sum(), (q, k, v))
    exact = truth(q, k, v, do=torch.ones_like(o))
    for name, got in zip(("dq", "dk", "dv"), grads, strict=True):
        assert_within_budget(name, got, exact)


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_offsets_past_32_bits(name: str) -> None:
    rows, stride, width = 3, 2**30 + 8, 64
    problem = problem_of((rows, rows), width, heads=(1, 1), dtype="float16")
    tensors = dict(zip("qkv", make_qkv(problem, device="cuda"), strict=True))
    exact = truth(*tensors.values())
    big = torch.empty(2 * stride + width, dtype=torch.float16, device="cuda")
    far = big.as_strided((1, 1, rows, width), (width, width, stride, 1))
    tensors[name] = far.copy_(tensors[name])
    got = run(*tensors.values())
    for output in ("o", "lse"):
        assert_within_budget(output, got[output], exact)


def test_memory_is_gradients_and_the_sums_of_dq() -> None:
    problem = problem_of((8192, 8192), 128, heads=(4, 4))
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, device="cuda"))
    o = flash_attention(q, k, v, impl="hopper")
    do = torch.randn_like(o)
    torch.autograd.grad(o, (q, k, v), do, retain_graph=True)

    def peak() -> int:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        torch.autograd.grad(o, (q, k, v), do, retain_graph=True)
        torch.cuda.synchronize()
        return torch.cuda.memory_stats()["requested_bytes.all.peak"] - before

    rows = q.shape[1] * q.shape[2]
    floor = sum(x.numel() * x.element_size() for x in (q, k, v)) + 4 * rows * q.shape[3]
    assert floor <= peak() <= floor + 8 * rows + 2**20
