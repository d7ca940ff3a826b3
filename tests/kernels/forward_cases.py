"""The small cases of the forward kernel, shared by its tests and by the mutants."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from oracles import (
    DTYPES,
    LAYOUTS,
    SHAPES_THAT_HURT,
    assert_within_budget,
    case_id,
    make_qkv,
    truth,
)

from fa_toolkit.problem import AttentionProblem, TileShape

Forward = Callable[..., tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Case:
    """One call: sizes, tile, layout of the inputs, scale."""

    problem: AttentionProblem
    tile: TileShape | None
    layout: str = "contiguous"
    scale: float | None = None
    spread: float = 1.0

    @property
    def name(self) -> str:
        """A readable test id, e.g. `B2-H3-N100-D24-causal-t32x64-bfloat16-gaps`."""
        tile = f"-t{self.tile.block_m}x{self.tile.block_n}" if self.tile else ""
        scale = "" if self.scale is None else f"-scale{self.scale}"
        spread = "" if self.spread == 1 else f"-spread{self.spread:g}"
        return f"{case_id(self.problem)}{tile}-{self.problem.dtype}-{self.layout}{scale}{spread}"


TALL, WIDE = TileShape(64, 16), TileShape(32, 64)


def _grid() -> list[Case]:
    """Every shape with both tile forms; dtypes and layouts take turns, so that all pairs occur."""
    dtypes, layouts = itertools.cycle(("float32", "bfloat16", "float16")), itertools.cycle(LAYOUTS)
    return [
        Case(replace(problem, dtype=next(dtypes)), tile, next(layouts))
        for problem, tile in itertools.product(SHAPES_THAT_HURT, (TALL, WIDE))
    ]


def _problem(*sizes: int, dtype: str = "float32", causal: bool = False) -> AttentionProblem:
    return AttentionProblem(*sizes, dtype=dtype, causal=causal)  # type: ignore[arg-type]


EXTRA = (
    Case(_problem(1, 2, 2, 40, 70, 1, 1, causal=True), TALL),
    Case(_problem(1, 1, 1, 33, 65, 3, 129), WIDE),
    Case(_problem(1, 1, 1, 20, 40, 256, 200, dtype="float16", causal=True), WIDE),
    Case(_problem(1, 4, 1, 17, 50, 20, 72, dtype="bfloat16", causal=True), TALL, "gaps"),
    Case(_problem(1, 8, 2, 16, 16, 16, 16, causal=True), TileShape(16, 16), "bnhd"),
    Case(_problem(1, 1, 1, 100, 100, 32, 32), TALL, scale=0.0),
    Case(_problem(1, 1, 1, 70, 50, 32, 32, causal=True), WIDE, scale=-0.5),
    Case(_problem(1, 2, 1, 64, 64, 16, 16, causal=True), None),
    Case(_problem(1, 1, 1, 64, 128, 32, 32), None, spread=20.0),
    Case(_problem(1, 1, 1, 100, 100, 32, 32, dtype="float16", causal=True), TALL, spread=8.0),
    Case(_problem(1, 1, 1, 80, 100, 16, 16, dtype="bfloat16"), WIDE, spread=8.0),
    Case(_problem(3, 2, 1, 5, 7, 16, 16, causal=True), TileShape(16, 32), "padded"),
)
CASES = [*_grid(), *EXTRA]


def check(forward: Forward, case: Case, device: str = "cpu", **keywords: Any) -> None:
    """Run `forward` on the case and hold o and lse to their budgets."""
    q, k, v = make_qkv(
        case.problem,
        DTYPES[case.problem.dtype],
        layout=case.layout,
        device=device,
        spread=case.spread,
    )
    causal = case.problem.causal
    o, lse = forward(q, k, v, causal=causal, scale=case.scale, tile=case.tile, **keywords)
    assert o.dtype == q.dtype and lse.dtype == torch.float32
    exact = truth(q, k, v, causal=causal, scale=case.scale)
    assert_within_budget("o", o, exact, label=case.name)
    assert_within_budget("lse", lse, exact, label=case.name)
