"""Exercises of chapter 07, the rows: the gradient of a softmax, and Delta."""

from __future__ import annotations

from typing import Any

import torch

from ...language import Text
from ..spec import Case, Exercise, Output, Passage, Rule, Variant, randn

_EPS = torch.finfo(torch.float32).eps
Pair = tuple[torch.Tensor, torch.Tensor]


def softmax_backward(p: torch.Tensor, dp: torch.Tensor) -> torch.Tensor:
    """The dull reference: each row's Jacobian, written out."""
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]  # [M, N, N]
    return (jacobian @ dp[..., None])[..., 0]  # [M, N]


def _rows(m: int, n: int, size: float = 1.0) -> Pair:
    return torch.softmax(size * randn(m, n, seed=21), -1), randn(m, n, seed=22)


def _transposed() -> Pair:
    p, dp = _rows(5, 9)
    return p.T.contiguous().T, dp.T.contiguous().T


def _rows_budget(p: torch.Tensor, dp: torch.Tensor) -> list[torch.Tensor]:
    p, dp = p.double(), dp.double().abs()
    return [16 * _EPS * p * (dp + (p * dp).sum(-1, keepdim=True)) + _EPS * 1e-3]


JACOBIAN = Exercise(
    id="07.jacobian",
    title=Text("Back through a softmax", "softmax 的反向"),
    spec=Text(
        "p [M, N] holds M rows, each a softmax of its scores; dp [M, N] is the gradient that reached "
        "p. Return ds [M, N], the gradient of the scores. The Jacobian of a row has N × N entries; "
        "do not make it.",
        "p [M, N] 有 M 行，每行是自己那行分数的 softmax；dp [M, N] 是传到 p 的梯度。"
        "返回分数的梯度 ds [M, N]。一行的雅可比矩阵有 N × N 个元素，不要把它造出来。",
    ),
    formula="∂p_j / ∂s_k = p_j (δ_jk − p_k)   ds_k = Σ_j dp_j p_j (δ_jk − p_k)",
    entry="softmax_backward",
    call="softmax_backward(p, dp) -> ds",
    reference=softmax_backward,
    outputs=(Output("ds", "gradients"),),
    allowed=_rows_budget,
    cases=[
        Case("value", "M=1, N=2", lambda: _rows(1, 2)),
        Case("value", "M=3, N=7", lambda: _rows(3, 7)),
        Case("value", "M=4, N=4", lambda: _rows(4, 4)),
        Case("extreme-logits", Text("scores × 100", "分数 × 100"), lambda: _rows(4, 6, 100.0)),
        Case("strides", Text("transposed", "转置"), _transposed),
    ],
    rules=(
        Rule("no-n-by-n", lambda: _rows(4, 256), limit=256 * 256),
        Rule("own-work", lambda: _rows(2, 3), forbidden=frozenset(
            ["_softmax_backward_data", "grad", "backward", "vjp", "jacobian"])),
    ),
    variants=(
        Variant(
            "jacobian-diagonal",
            Text(
                "You took the diagonal alone, p (1 − p). Every score moves every probability of its "
                "row.",
                "你只取了对角线 p (1 − p)。一行里每个分数都会影响这一行的每个概率。",
            ),
            lambda p, dp: p * (1 - p) * dp,
        ),
        Variant(
            "no-delta",
            Text("The term with p_k is missing: subtract the row's Σ p · dp.",
                 "漏了含 p_k 的那一项：要减去这一行的 Σ p · dp。"),
            lambda p, dp: p * dp,
        ),
        Variant(
            "delta-sign",
            Text("The row's Σ p · dp is added; it is subtracted.", "这一行的 Σ p · dp 应当减去，你加上了。"),
            lambda p, dp: p * (dp + (p * dp).sum(-1, keepdim=True)),
        ),
        Variant(
            "ds-without-p",
            Text("The factor p in front is missing.", "前面漏了因子 p。"),
            lambda p, dp: dp - (p * dp).sum(-1, keepdim=True),
        ),
        Variant(
            "sum-without-p",
            Text("You subtract Σ dp. Each dp is weighted with its p first.",
                 "你减的是 Σ dp，应先用各自的 p 加权。"),
            lambda p, dp: p * (dp - dp.sum(-1, keepdim=True)),
        ),
        Variant(
            "all-rows",
            Text("You sum over all rows; each row has a sum of its own.",
                 "你对所有行求了和；每一行有自己的和。"),
            lambda p, dp: p * (dp - (p * dp).sum()),
        ),
        Variant(
            "columns",
            Text("You sum down the columns; softmax was taken along the rows.",
                 "你沿列求了和，而 softmax 是沿行做的。"),
            lambda p, dp: p * (dp - (p * dp).sum(0, keepdim=True)),
        ),
    ),
    hints=(
        Text("Take M = 1, N = 2 and p = [½, ½]. Which ds follows from dp = [1, 0]? And from [1, 1]?",
             "取 M = 1，N = 2，p = [½, ½]。dp = [1, 0] 时 ds 是多少？[1, 1] 时呢？"),
        Text("Adding the same number to all scores of a row changes nothing, so every row of ds sums "
             "to 0.", "一行分数同时加上一个数，p 不变，所以 ds 的每一行加起来是 0。"),
        Text("ds = p * (dp - (p * dp).sum(-1, keepdim=True))",
             "ds = p * (dp - (p * dp).sum(-1, keepdim=True))"),
    ),
    passage=Passage(7, Text("Back through a softmax", "穿过 softmax")),
)  # fmt: skip


def row_delta(o: torch.Tensor, do: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    return (o * do).sum(-1)  # [..., Nq]


def _o_do(*shape: int, dtype: torch.dtype = torch.float32) -> Pair:
    return randn(*shape, seed=23).to(dtype), randn(*shape, seed=24).to(dtype)


def _of_sum() -> Pair:
    o, _ = _o_do(2, 6, 8)
    return o, torch.ones(()).expand(o.shape)


def _swapped() -> Pair:
    return tuple(x.transpose(0, 1) for x in _o_do(6, 2, 8))  # type: ignore[return-value]


def _delta_budget(o: torch.Tensor, do: torch.Tensor) -> list[torch.Tensor]:
    return [16 * _EPS * (o.double() * do.double()).abs().sum(-1) + _EPS * 1e-3]


DELTA = Exercise(
    id="07.delta",
    title=Text("Delta, one number a row", "Delta，每行一个数"),
    spec=Text(
        "o and do [..., Nq, Dv]: the output and the gradient that reached it. Return Delta "
        "[..., Nq] in float32, summed in float32, with any strides. It equals Σ_j p_j dp_j of the "
        "row, without p and without dp.",
        "o 和 do [..., Nq, Dv]：输出和传到输出的梯度。返回 Delta [..., Nq]，float32，用 float32 求和，"
        "步长任意。它等于这一行的 Σ_j p_j dp_j，却用不到 p 和 dp。",
    ),
    formula="Σ_j p_j dp_j = Σ_j p_j (do · v_j) = do · Σ_j p_j v_j = do · o",
    entry="row_delta",
    call="row_delta(o, do) -> delta",
    reference=row_delta,
    outputs=(Output("delta", dtype="float32"),),
    allowed=_delta_budget,
    cases=[
        Case("value", "Nq=5, Dv=4", lambda: _o_do(5, 4)),
        Case("leading", "2 × 3 × 6 × 8", lambda: _o_do(2, 3, 6, 8)),
        Case("sum-gradient", Text("dO of ones, stride 0", "dO 全 1，步长 0"), _of_sum),
        Case("strides", Text("axes swapped", "交换了轴"), _swapped),
        Case("dtype", "float16, Dv=256", lambda: _o_do(5, 256, dtype=torch.float16)),
        Case("dtype", "bfloat16, Dv=64", lambda: _o_do(5, 64, dtype=torch.bfloat16)),
    ],
    variants=(
        Variant("delta-mean", Text("You take the mean of a row. Delta is the sum.",
                                   "你取了一行的平均，Delta 是和。"),
                lambda o, do: (o.double() * do.double()).mean(-1)),
        Variant("delta-of-o", Text("You multiply o with itself. One factor is do.",
                                   "你让 o 与自己相乘，其中一个应是 do。"),
                lambda o, do: (o.double() ** 2).sum(-1)),
        Variant("delta-of-do", Text("You multiply do with itself. One factor is o.",
                                    "你让 do 与自己相乘，其中一个应是 o。"),
                lambda o, do: (do.double() ** 2).sum(-1)),
        Variant("half-products", Text(
            "Products of half precision are rounded before they are summed. Convert first.",
            "半精度的乘积在求和之前就被舍入了，应先转成 float32。"),
            lambda o, do: (o * do).float().sum(-1)),
        Variant("half-sum", Text("The sum is rounded to half precision. Convert first.",
                                 "和被舍入成了半精度，应先转成 float32。"),
                lambda o, do: (o * do).sum(-1).float()),
    ),
    hints=(
        Text("One multiplication, one sum. Which axis goes away?", "一次乘法，一次求和。消失的是哪个轴？"),
        Text("Delta is subtracted from dp, which is summed in float32; so must Delta be.",
             "Delta 要从 float32 的 dp 里减去，所以它也要用 float32。"),
        Text("delta = (o.float() * do.float()).sum(-1)", "delta = (o.float() * do.float()).sum(-1)"),
    ),
    passage=Passage(7, Text("Delta", "Delta")),
)  # fmt: skip

EXERCISES: tuple[Any, ...] = (JACOBIAN, DELTA)
