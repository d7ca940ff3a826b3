"""The small cases of the attention kernels, shared by their tests and by the mutants."""

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
    lay_out,
    make_grads,
    make_qkv,
    truth,
)

from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.reference import kept

Forward = Callable[..., tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Case:
    """One call: sizes, tile, layout of the inputs, options."""

    problem: AttentionProblem
    tile: TileShape | None
    layout: str = "contiguous"
    scale: float | None = None
    spread: float = 1.0
    softcap: float | None = None
    sink: bool = False
    dropout_p: float = 0.0

    @property
    def name(self) -> str:
        """A readable test id, e.g. `B2-H3-N100-D24-causal-t32x64-bfloat16-gaps`."""
        tile = f"-t{self.tile.block_m}x{self.tile.block_n}" if self.tile else ""
        scale = "" if self.scale is None else f"-scale{self.scale}"
        spread = "" if self.spread == 1 else f"-spread{self.spread:g}"
        options = f"-cap{self.softcap:g}" if self.softcap else ""
        options += ("-sink" if self.sink else "") + (
            f"-p{self.dropout_p}" if self.dropout_p else ""
        )
        tail = f"{scale}{spread}{options}"
        return f"{case_id(self.problem)}{tile}-{self.problem.dtype}-{self.layout}{tail}"

    def inputs(self, device: str = "cpu") -> tuple[torch.Tensor, ...]:
        """q, k, v."""
        kind = DTYPES[self.problem.dtype]
        return make_qkv(self.problem, kind, layout=self.layout, device=device, spread=self.spread)

    def options(self, device: str = "cpu") -> dict[str, Any]:
        """The keywords of the call, as launchers and oracle take them."""
        p = self.problem
        options: dict[str, Any] = {"causal": p.causal, "window": p.window, "scale": self.scale}
        options["softcap"] = self.softcap
        if self.sink:
            options["sink"] = torch.linspace(-2, 3, p.heads_q, device=device)
        return options

    def dropout(self, device: str = "cpu") -> tuple[dict[str, Any], dict[str, Any]]:
        """(keywords of the launcher, keywords of the oracle)."""
        if not self.dropout_p:
            return {}, {}
        p = self.problem
        sizes = (p.batch, p.heads_q, p.len_q, p.len_k)
        place = torch.meshgrid(*(torch.arange(n) for n in sizes), indexing="ij")
        mask = kept(SEED, self.dropout_p, *place)
        seed = torch.tensor([SEED], device=device)
        share = {"dropout_p": self.dropout_p}
        return {**share, "seed": seed}, {**share, "keep": mask}


SEED = -(2**62) + 12345  # all 64 bits of it count
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


def _windowed(*sizes: int, window: tuple[int, int], causal: bool = False) -> AttentionProblem:
    return AttentionProblem(*sizes, dtype="float32", causal=causal, window=window)


FEATURES = (
    Case(_windowed(1, 2, 1, 70, 90, 16, 8, window=(20, 3)), TALL),
    Case(_windowed(1, 1, 1, 90, 70, 8, 16, window=(-1, 11)), TileShape(16, 64), "bnhd"),
    Case(_windowed(1, 1, 1, 70, 100, 16, 16, window=(33, 0), causal=True), WIDE, "gaps"),
    Case(_windowed(1, 1, 1, 40, 33, 16, 16, window=(0, 0)), TileShape(16, 16)),
    Case(_windowed(1, 2, 2, 50, 20, 16, 16, window=(5, -1)), TileShape(16, 32), sink=True),
    Case(_problem(1, 2, 1, 40, 70, 16, 16), TALL, softcap=2.0, spread=3.0),
    Case(_problem(1, 1, 1, 40, 40, 16, 16, dtype="bfloat16", causal=True), WIDE, softcap=30.0),
    Case(_problem(2, 4, 2, 30, 40, 16, 16, causal=True), TileShape(16, 32), sink=True),
    Case(_problem(2, 4, 2, 33, 40, 16, 24, causal=True), TileShape(16, 32), dropout_p=0.25),
    Case(_problem(1, 2, 1, 33, 40, 16, 16, dtype="float16"), TileShape(32, 16), dropout_p=0.5),
    Case(
        _windowed(1, 2, 1, 40, 50, 16, 16, window=(13, 2)),
        TileShape(16, 16), softcap=1.5, sink=True, dropout_p=0.1,
    ),
)  # fmt: skip
CASES = [*_grid(), *EXTRA, *FEATURES]


def check(forward: Forward, case: Case, device: str = "cpu") -> None:
    """Run `forward` on the case and hold o and lse to their budgets."""
    q, k, v = case.inputs(device)
    options, (dropout, keep) = case.options(device), case.dropout(device)
    o, lse = forward(q, k, v, tile=case.tile, **options, **dropout)
    assert o.dtype == q.dtype and lse.dtype == torch.float32
    exact = truth(q, k, v, **options, **keep)
    assert_within_budget("o", o, exact, label=case.name)
    assert_within_budget("lse", lse, exact, label=case.name)


def check_backward(backward: Forward, case: Case, device: str = "cpu") -> None:
    """Give `backward` the exact o and lse, and hold every gradient to its budget."""
    q, k, v = case.inputs(device)
    options, (dropout, keep) = case.options(device), case.dropout(device)
    do, dlse = (x.to(device) for x in make_grads(case.problem, q.dtype))
    do = do if case.layout == "expanded" else lay_out(do, case.layout)
    if case.layout != "contiguous":  # every second number of a row, NaN between
        dlse = torch.stack((dlse, dlse * float("nan")), dim=-1)[..., 0]
    exact = truth(q, k, v, do=do, dlse=dlse, **options, **keep)
    o, lse = exact["o"].to(q), exact["lse"].to(device, torch.float32)
    grads = backward(q, k, v, o, lse, do, dlse, tile=case.tile, **options, **dropout)
    for name, like, got in zip(("dq", "dk", "dv"), (q, k, v), grads, strict=False):
        assert got.dtype == like.dtype
        assert_within_budget(name, got, exact, label=case.name)
    if case.sink:
        assert_within_budget("dsink", grads[3], exact, label=case.name)
