"""Calls of the kernels for Hopper, shared by their tests on a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracles import assert_within_budget, case_id, make_grads, make_qkv, truth
from torch import Tensor

from fa_toolkit import flash_attention, repeated
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.hopper import availability
from fa_toolkit.problem import AttentionProblem, Dtype

HALF: tuple[Dtype, ...] = ("bfloat16", "float16")


@pytest.fixture
def hopper_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips where the kernels do not apply, with their own words."""
    found = availability.of_place(routing.place_of(torch.device("cuda", 0)))
    if found is not None:
        pytest.skip(f"no kernels for Hopper here: {found}")
    monkeypatch.setattr(repeated, "_READY", {})


@pytest.fixture
def always_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "auto" takes the Hopper kernels wherever they apply."""
    table = {
        (kind, width, causal): 1
        for kind, widths in availability.WIDTHS.items()
        for width in widths
        for causal in (False, True)
    }
    monkeypatch.setattr(availability, "MEASURED_BETTER", table)


def problem_of(
    lengths: tuple[int, int],
    width: int = 128,
    *,
    heads: tuple[int, int] = (2, 2),
    batch: int = 1,
    dtype: Dtype = "bfloat16",
    causal: bool = False,
) -> AttentionProblem:
    return AttentionProblem(batch, *heads, *lengths, width, width, dtype, causal)


def run(
    q: Tensor, k: Tensor, v: Tensor, *grads: Tensor | None, **options: Any
) -> dict[str, Tensor]:
    """o, lse and, given (dO, dlse), all gradients; by name."""
    options = {"impl": "hopper"} | options
    if not grads:
        o, lse = flash_attention(q, k, v, return_lse=True, **options)
        return {"o": o, "lse": lse}
    q, k, v = leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o, lse = flash_attention(q, k, v, return_lse=True, **options)
    wanted = [(out, grad) for out, grad in zip((o, lse), grads, strict=True) if grad is not None]
    found = torch.autograd.grad([out for out, _ in wanted], leaves, [grad for _, grad in wanted])
    return {
        "o": o.detach(),
        "lse": lse.detach(),
        **dict(zip(("dq", "dk", "dv"), found, strict=True)),
    }


def grads_of(problem: AttentionProblem) -> tuple[Tensor, Tensor]:
    """dO and dlse on the device."""
    do, dlse = make_grads(problem)
    return do.cuda(), dlse.cuda()


def check(problem: AttentionProblem, *, spread: float = 1.0, scale: float | None = None) -> None:
    """Forward and, where there is one, backward of the problem, each element within its budget."""
    q, k, v = make_qkv(problem, device="cuda", spread=spread)
    both = problem.head_dim in availability.WIDTHS["backward"]
    grads = grads_of(problem) if both else ()
    got = run(q, k, v, *grads, causal=problem.causal, scale=scale)
    do, dlse = grads or (None, None)
    exact = truth(q, k, v, causal=problem.causal, scale=scale, do=do, dlse=dlse, device="cuda")
    assert got["o"].dtype == q.dtype and got["lse"].dtype == torch.float32
    for name, x in got.items():
        assert_within_budget(name, x, exact, label=case_id(problem))


def differing(found: dict[str, Tensor], first: dict[str, Tensor]) -> Tensor:
    """Elements that differ, without waiting for the device; dQ is summed in an order of chance."""
    return torch.stack([(found[name] != first[name]).sum() for name in first if name != "dq"]).sum()
