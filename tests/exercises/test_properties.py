"""Wrong answers of other kinds than the planted ones, and right answers written differently."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, kernels

Fn = Callable[..., Any]


def failed(exercise_id: str, fn: Fn) -> set[str]:
    report = exercises.check(exercise_id, fn)
    assert report.outcome == "not yet", str(report)
    return set(report.failed)


# right, and not written like the solution: none of these may be refused


def sdpa_free(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    s = torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1])
    if causal:
        s = s + torch.full_like(s, -math.inf).triu(k.shape[-2] - q.shape[-2] + 1)
    return torch.nan_to_num(s.softmax(-1)) @ v


def whole_row_first(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x - torch.amax(x, -1, keepdim=True))
    return e.div(e.sum())


def merge_by_where(a: Any, b: Any) -> Any:
    m = torch.where(a[0] > b[0], a[0], b[0])

    def share(x: Any) -> torch.Tensor:
        return torch.where(x[0] == -math.inf, torch.zeros_like(m), torch.exp(x[0] - m))

    alpha, beta = share(a), share(b)
    acc = torch.einsum("r,rd->rd", alpha, a[2]) + torch.einsum("r,rd->rd", beta, b[2])
    return [m, alpha.mul(a[1]) + beta.mul(b[1]), acc]


def one_row_at_a_time(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_m: int, block_n: int
) -> Any:
    o, lse = torch.zeros(len(q), v.shape[1], dtype=q.dtype), torch.full([len(q)], -math.inf)
    for i in range(len(q)):
        m, l, acc = -math.inf, 0.0, torch.zeros(v.shape[1], dtype=torch.float64)
        for j in range(0, len(k), block_n):
            s = k[j : j + block_n].double() @ q[i].double() / math.sqrt(q.shape[1])
            new = max(m, float(s.max()))
            p = (s - new).exp()
            l = l * math.exp(m - new) + float(p.sum())
            acc = acc * math.exp(m - new) + p @ v[j : j + block_n].double()
            m = new
        if l:
            o[i], lse[i] = (acc / l).to(q.dtype), m + math.log(l)
    return o, lse


def halves_of_floats(x: torch.Tensor, block: int) -> Any:
    m, l = -math.inf, 0.0
    for part in x.split(block):
        for value in part.tolist():
            if value == -math.inf:
                continue
            new = max(m, value)
            l, m = l * math.exp(m - new) + math.exp(value - new), new
    return m, l


def cost_by_hand(m: int, n: int, k: int, itemsize: int) -> tuple[float, float, float]:
    flops, moved = 2.0 * m * n * k, itemsize * (m * k + n * (k + m))
    return flops, moved, flops / moved


def count_keys(start_m: int, stop_m: int, len_q: int, len_k: int) -> int:
    rows = range(start_m, min(stop_m, len_q))
    return sum(any(i + len_k - len_q >= j for i in rows) for j in range(len_k))


@pytest.mark.parametrize(
    ("exercise_id", "fn"),
    [
        ("02.attention", sdpa_free),
        ("03.three_pass", whole_row_first),
        ("03.merge", merge_by_where),
        ("04.forward", one_row_at_a_time),
        ("03.online", halves_of_floats),
        ("01.intensity", cost_by_hand),
        ("04.ranges", count_keys),
    ],
)
def test_a_right_answer_written_differently_passes(exercise_id: str, fn: Fn) -> None:
    report = exercises.check(exercise_id, fn)
    assert report.outcome == "passed", str(report)


# wrong in how it was made


def test_an_n_by_n_tensor_is_seen() -> None:
    def whole(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bm: int, bn: int) -> Any:
        if not len(k):
            return q.new_zeros(len(q), v.shape[1]), torch.full([len(q)], -math.inf)
        s = q.float() @ k.float().T / math.sqrt(q.shape[1])
        m = s.amax(1)
        p = (s - m[:, None]).exp()
        o = (p @ v.float() / p.sum(1, keepdim=True)).to(q.dtype)
        return o, m + p.sum(1).log()

    assert failed("04.forward", whole) == {"no-n-by-n"}


def test_a_ready_made_function_is_seen() -> None:
    def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
        rows = torch.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
        seen = (rows >= torch.arange(k.shape[-2])) | torch.tensor(not causal)
        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(q, k, v, attn_mask=seen).nan_to_num(0.0)

    assert failed("02.attention", sdpa) == {"own-work"}
    assert failed("03.three_pass", lambda x: torch.softmax(x, 0)) == {"own-work"}
    assert failed("03.three_pass", lambda x: x.softmax(0)) == {"own-work"}


def test_the_package_itself_is_seen() -> None:
    from fa_toolkit import reference

    def ours(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
        o = reference.attention(q[:, None], k[:, None], v[:, None], causal=causal)[0]
        return o[:, 0]

    report = exercises.check("02.attention", ours)
    assert "own-work" in report.failed and "fa_toolkit: attention" in str(report)


def test_reading_the_whole_row_is_seen() -> None:
    def at_once(x: torch.Tensor, block: int) -> Any:
        m = x.max()
        return m, (x - torch.where(m == -math.inf, 0.0, m)).exp().sum()

    assert failed("03.online", at_once) == {"one-block"}


def test_a_launcher_that_lets_torch_do_it_is_seen() -> None:
    if kernels.mode() == "none":
        pytest.skip("Triton cannot run here")
    assert failed("05.vector_add", lambda x, y: x + y) == {"own-work"}
    assert failed("05.matmul", lambda a, b: a.float() @ b.float()) == {"own-work"}
    assert failed("05.vector_add", kernels.vector_add) == {"own-work"}


def test_changed_inputs_are_seen() -> None:
    def in_place(x: torch.Tensor) -> torch.Tensor:
        x -= x.max()
        return x.exp() / x.exp().sum()

    # float64 truth is taken before, so only the change itself is wrong
    assert "inputs-unchanged" in failed("03.three_pass", in_place)


# wrong in type, shape, dtype


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda q, k, v, bm, bn: None, "returned None"),
        (lambda q, k, v, bm, bn: q, "2 things, o, lse"),
        (lambda q, k, v, bm, bn: (q[:, :1], q[:, 0]), "has shape"),
        (lambda q, k, v, bm, bn: (1.0, 2.0), "should be a tensor"),
    ],
)
def test_the_form_of_a_result_is_named(wrong: Fn, says: str) -> None:
    report = exercises.check("04.forward", wrong)
    assert report.outcome == "not yet" and says in str(report)


def test_dtype_is_named() -> None:
    solution = exercises.solution("04.forward")

    def float32(*args: Any) -> Any:
        o, lse = solution(*args)
        return o.float(), lse

    report = exercises.check("04.forward", float32)
    assert report.failed == ("dtype",) and "torch.float16" in str(report)


# wrong in ways nobody planted: caught, and the symptom named


def test_symptoms_of_unplanned_mistakes() -> None:
    solution = exercises.solution("03.three_pass")
    halved = exercises.check("03.three_pass", lambda x: solution(x) / 3)
    assert halved.diagnosis[0].id == "factor" and "0.3333 times" in str(halved)
    broken = exercises.check("03.three_pass", lambda x: solution(x) * math.nan)
    assert broken.diagnosis[0].id == "nan"
    ranges = exercises.check("04.ranges", lambda a, b, lq, lk: 99)
    assert ranges.outcome == "not yet"


def test_a_known_mistake_beside_another_is_still_named() -> None:
    """acc is not rescaled, and rows without keys are NaN as well."""

    def two_bugs(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bm: int, bn: int) -> Any:
        from fa_toolkit.exercises.catalog.tiles import tiled

        o, lse = tiled(q, k, v, bm, bn, bug="acc-not-rescaled")
        return o.to(q.dtype) + (0.0 if len(k) else 7.0), lse.float()

    report = exercises.check("04.forward", two_bugs)
    assert report.diagnosis[0].id == "acc-not-rescaled"
