"""The check before any timing: its own reference, and what it refuses."""

from __future__ import annotations

import math

import pytest
import torch

from fa_toolkit import reference as exact
from fa_toolkit.bench import checking
from fa_toolkit.bench.failures import WrongOutput
from fa_toolkit.problem import AttentionProblem


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 4, 2, 70, 70, 16), (1, 3, 3, 33, 50, 8)])
def test_the_reference_by_rows_is_the_package_s_reference(
    sizes: tuple[int, ...], causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "_ROWS", 16)  # several blocks, the last one cut
    problem = AttentionProblem(*sizes, dtype="float32", causal=causal)  # type: ignore[misc]
    made = checking.make_inputs(problem, "cpu", 3)
    got = checking.reference(problem, made)
    q, k, v, do = (x.double() for x in made)
    o, lse = exact.attention(q, k, v, causal=causal)
    dq, dk, dv, *_ = exact.attention_backward(q, k, v, o, lse, do, causal=causal)
    for name, whole in {"o": o, "dq": dq, "dk": dk, "dv": dv}.items():
        part = checking.the_head(problem, whole, name, "bhnd")
        assert torch.allclose(got[name].double(), part, rtol=1e-4, atol=1e-5), name
    assert set(checking.reference(problem, made, gradients=False)) == {"o"}


def test_inputs_are_fresh_normal_and_repeatable() -> None:
    problem = AttentionProblem(1, 2, 1, 64, 64, 16, dtype="float16")
    one, same, other = (checking.make_inputs(problem, "cpu", seed) for seed in (1, 1, 2))
    assert all(bool((a == b).all()) for a, b in zip(one, same, strict=True))
    assert not bool((one.q == other.q).any(-1).all()) and one.q.dtype == torch.float16
    assert 0.8 < float(one.k.float().std()) < 1.2 and one.k.shape == (1, 1, 64, 16)


def test_layouts_hold_the_same_values() -> None:
    problem = AttentionProblem(2, 4, 2, 8, 8, 16, dtype="float32")
    made = checking.make_inputs(problem, "cpu", 1)
    turned = checking.in_layout(made, "bnhd")
    assert turned.q.shape == (2, 8, 4, 16) and turned.q.is_contiguous()
    for name, a, b in (("o", made.q, turned.q), ("dk", made.k, turned.k)):
        head = checking.the_head(problem, a, name, "bhnd")
        assert bool((head == checking.the_head(problem, b, name, "bnhd")).all())


@pytest.mark.parametrize("spoil", ["last row", "nan", "scale"])
def test_a_wrong_output_is_refused(spoil: str) -> None:
    problem = AttentionProblem(1, 2, 2, 64, 64, 16, dtype="bfloat16", causal=True)
    made = checking.make_inputs(problem, "cpu", 1)
    truth = checking.reference(problem, made, gradients=False)
    o, _ = exact.attention(*(x.float() for x in made[:3]), causal=True)
    right = checking.errors(problem, {"o": o.bfloat16()}, truth)
    checking.refuse_wrong(problem, right)
    assert 0 < right["o"] < checking.allowed("bfloat16")
    wrong = o.clone()
    if spoil == "last row":
        wrong[-1, -1, -1] = 9.0
    elif spoil == "nan":
        wrong[-1, -1, 5, 3] = math.nan
    else:
        wrong *= 1.05
    with pytest.raises(WrongOutput, match="o "):
        checking.refuse_wrong(problem, checking.errors(problem, {"o": wrong}, truth))


def test_what_is_allowed_follows_the_dtype() -> None:
    kinds = [checking.allowed(kind) for kind in ("bfloat16", "float16", "float32")]
    assert kinds[0] == 8 * kinds[1] and kinds[2] == kinds[1]  # TF32 keeps as many bits as float16
