"""Exercise of chapter 05: a matrix product in tiles, in Triton."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    return a @ b  # [M, N]


def _matrices(
    m: int, n: int, k: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, ...]:
    return here(randn(m, k, seed=7).to(dtype), randn(k, n, seed=8).to(dtype))


def _strided_matrices() -> tuple[torch.Tensor, ...]:
    return here(randn(20, 16, seed=9).T, randn(20, 48, seed=10)[:, ::2])


def _last_block(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    start = (a.shape[1] - 1) // 16 * 16
    return a[:, start:].float() @ b[start:].float()


def _start_twice(a: torch.Tensor, b: torch.Tensor, block: int) -> torch.Tensor:
    """Lanes are on where start + lane < K − start."""
    k = torch.arange(a.shape[1], device=a.device)
    on = k < a.shape[1] - k // block * block
    return a[:, on].float() @ b[on].float()


def _matmul_budget(a: torch.Tensor, b: torch.Tensor) -> list[Any]:
    eps = torch.finfo(torch.float32).eps
    return [eps * (a.shape[1] + 8) * (a.double().abs() @ b.double().abs()) + eps]


MATMUL = Exercise(
    id="05.matmul",
    title=Text("A matrix product in tiles", "分块矩阵乘"),
    spec=Text(
        "One program owns a BLOCK × BLOCK tile of C and walks along K, adding tl.dot of a tile of "
        "A and a tile of B. A and B may have any strides, no size need be a multiple of BLOCK. C "
        "is float32.",
        "一个程序实例负责 C 的一个 BLOCK × BLOCK 块，沿 K 走，把 A、B 的块用 tl.dot 相乘后累加。"
        "A、B 的步长任意，各边都不必是 BLOCK 的整数倍。C 为 float32。",
    ),
    formula="C[i, j] = Σₖ A[i, k] · B[k, j]",
    passage=Passage(5, Text("Matrix products", "矩阵乘")),
    entry="my_matmul",
    call="my_matmul(a, b) -> c",
    reference=matmul,
    outputs=(Output("c", dtype="float32"),),
    allowed=_matmul_budget,
    cases=[
        Case("value", "M=16, N=32, K=48", lambda: _matrices(16, 32, 48)),
        Case("ragged", "M=10, N=20, K=23", lambda: _matrices(10, 20, 23)),
        Case(
            "strides",
            Text("A transposed, B every second column", "A 转置，B 隔列取"),
            _strided_matrices,
        ),
        Case("dtype", "float16", lambda: _matrices(16, 16, 32, torch.float16)),
    ],
    rules=(Rule("own-work", lambda: _matrices(16, 16, 16), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "last-block",
            Text(
                "Only the last block along K counts: add to acc, do not replace it.",
                "只剩 K 方向最后一块：要累加到 acc，而不是覆盖它。",
            ),
            _last_block,
        ),
        Variant(
            "first-block",
            Text(
                "Only the first block along K counts: the offsets do not move.",
                "只算了 K 方向第一块：偏移没有前进。",
            ),
            lambda a, b: a[:, :16].float() @ b[:16].float(),
        ),
        Variant(
            "first-block-again",
            Text(
                "Every step reads the first block of K again: the offsets do not move.",
                "每一步都重读 K 的第一块：偏移没有前进。",
            ),
            lambda a, b: -(-a.shape[1] // 16) * (a[:, :16].float() @ b[:16].float()),
        ),
        Variant(
            "start-counted-twice",
            Text(
                "The mask along K counts start twice: lanes that hold start + i are compared with "
                "K − start. Compare start + i with K, or i with K − start.",
                "K 方向的掩码把 start 算了两次：已含 start 的位置又去和 K − start 比。"
                "应当拿 start + i 和 K 比，或者拿 i 和 K − start 比。",
            ),
            partial(_start_twice, block=16),
            (partial(_start_twice, block=32),),
        ),
        Variant(
            "tail-dropped",
            Text("The last, shorter block along K is left out.", "K 方向最后那个较短的块漏掉了。"),
            lambda a, b: a[:, : a.shape[1] // 16 * 16].float() @ b[: a.shape[1] // 16 * 16].float(),
        ),
    ),
    hints=(
        Text(
            "Which of the four sides fails: M, N, K, or the strides?",
            "出错的是哪一个：M、N、K，还是步长？",
        ),
        Text(
            "Lanes past K must load as 0 in both tiles, or the sum picks them up.",
            "超出 K 的位置在两个块里都要读成 0，否则会混进总和。",
        ),
        Text(
            "a: mask=(offs_m < M) & (offs_k[None, :] < K), other=0.0",
            "a：mask=(offs_m < M) & (offs_k[None, :] < K), other=0.0",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (MATMUL,)
