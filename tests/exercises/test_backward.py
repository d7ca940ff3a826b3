"""Chapter 07: the truth is autograd's, and every planted bug of the capstone is caught and named."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import torch

from fa_toolkit import exercises
from fa_toolkit.exercises.catalog import backward_rows, backward_steps, backward_truth
from fa_toolkit.exercises.catalog.backward_bugs import Wrong
from fa_toolkit.exercises.compare import budgets, mismatch, truth_of
from fa_toolkit.exercises.diagnose import Attempt, diagnose

FULL = exercises.get("07.full")


@pytest.mark.parametrize(("len_q", "len_k", "causal"), [(5, 7, False), (6, 9, True), (9, 6, True)])
def test_the_truth_is_that_of_autograd(len_q: int, len_k: int, causal: bool) -> None:
    q, k, v, do = backward_truth.inputs(len_q, len_k, 2, d=4, d_v=3, dtype=torch.float64)
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    s = q @ k.mT / 2
    seen = torch.ones(len_q, len_k, dtype=torch.bool).tril(len_k - len_q) if causal else s == s
    dead = ~seen.any(-1, keepdim=True).expand_as(s)
    o = torch.softmax(s.masked_fill(~seen, -torch.inf).masked_fill(dead, 0.0), -1)
    o = o.masked_fill(dead, 0.0) @ v
    wanted = (o, *torch.autograd.grad(o, (q, k, v), do))
    o, lse, *grads = backward_truth.gradients(q.detach(), k.detach(), v.detach(), do, causal)
    for got, want in zip((o, *grads), wanted, strict=True):
        torch.testing.assert_close(got, want.detach(), rtol=1e-12, atol=1e-13)
    rows = dead[..., 0].broadcast_to(lse.shape)
    assert torch.equal(lse == -torch.inf, rows)


def test_the_truth_of_a_row_is_that_of_autograd() -> None:
    s = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    dp = torch.randn(3, 5, dtype=torch.float64)
    p = torch.softmax(s, -1)
    [want] = torch.autograd.grad(p, s, dp)
    torch.testing.assert_close(backward_rows.softmax_backward(p.detach(), dp), want)


def test_the_truth_of_a_step_is_that_of_the_whole() -> None:
    saved = tuple(x.double() for x in backward_steps.left(9, 7))
    q, k, v, do = saved[:4]
    steps = backward_steps.dull(saved, q.shape[1] ** -0.5)  # type: ignore[arg-type]
    for got, want in zip(steps, backward_truth.gradients(q, k, v, do)[2:], strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)  # lse and delta are float32


@pytest.mark.parametrize("case", FULL.cases, ids=lambda case: f"{case.property}-{case.label[:12]}")
def test_the_model_of_the_bugs_is_right_without_a_bug(case: Any) -> None:
    args = case.make()
    truth = truth_of(FULL, args)
    for output, got, want, allowed in zip(
        FULL.outputs, Wrong("")(*args), truth, budgets(FULL, args, truth), strict=True
    ):
        assert mismatch(output.name, got, want, allowed) is None


#: The bugs that are no slips in a draft; test_slips has those.
OWN = [variant for variant in FULL.variants if isinstance(variant.fn, Wrong)]


def test_there_are_enough_bugs_in_both_passes() -> None:
    ids = [variant.id for variant in FULL.variants]
    assert len(set(ids)) == len(ids) >= 31
    args = FULL.cases[3].make()
    whole = Wrong("")(*args)
    ids = [variant.id for variant in OWN]
    forward = {x for x in ids if not torch.allclose(Wrong(x)(*args)[0], whole[0])}
    backward = {
        x for x in set(ids) - forward
        if not all(map(torch.allclose, Wrong(x)(*args)[2:], whole[2:]))
    }  # fmt: skip
    assert len(forward) >= 12 and len(backward) >= 15


def attempts(fn: Any) -> list[Attempt]:
    """What a check of the capstone has in hand when it looks for the mistake."""
    found = []
    for index, case in enumerate(FULL.cases):
        with suppress(ValueError):  # a bug that torch refuses at this size
            value = fn(*case.make())
            found.append(Attempt(index, case.property, case.make, value))
    return found


@pytest.mark.parametrize("variant", OWN, ids=lambda variant: variant.id)
def test_a_bug_is_caught_in_every_form(variant: Any) -> None:
    for fn in (variant.fn, *variant.also):
        caught = set()
        for case in FULL.cases:
            args = case.make()
            truth = truth_of(FULL, args)
            try:
                results = fn(*args)
            except ValueError:  # refused by torch; other sizes must show it in numbers
                continue
            for output, got, want, allowed in zip(
                FULL.outputs, results, truth, budgets(FULL, args, truth), strict=True
            ):
                if mismatch(output.name, got, want, allowed) is not None:
                    caught.add(case.property)
            if caught:
                break
        assert caught, (fn.block, fn.form)


@pytest.mark.parametrize("variant", OWN[::20], ids=lambda variant: variant.id)
def test_a_bug_is_named_in_another_form(variant: Any) -> None:
    """With other tiles than the first form, or done in another way."""
    fn = (variant.fn, *variant.also)[-1]  # the first form is tested with every other exercise's
    found = [diagnosis.id for diagnosis in diagnose(FULL, attempts(fn))]
    assert variant.id in found[:2], found
