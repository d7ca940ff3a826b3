"""Whole attention calls drawn at random: sizes, types, strides, flags, tile, which gradients.

Draws and lays out tensors; what must hold for every call is in `any_call_checks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from oracles import DTYPES, lay_out
from torch import Tensor

from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.reference import kept

#: `expand-x` has stride 0 over that axis, `turned` has its last two axes swapped in memory; around
#: the elements of `gaps` and `padded` memory is NaN
PLACES = ("contiguous", "bnhd", "gaps", "padded", "turned")
EXPANDED = ("expand-b", "expand-h", "expand-n", "expand-d", "expand-bhnd")
SINKS = ("normal", "none", "large", "minus inf")
LEAVES = ("q", "k", "v", "sink")


def place(x: Tensor, layout: str) -> Tensor:
    """The values of `x` under other strides; where a stride is 0, those of the first index."""
    if layout == "turned":
        return x.mT.contiguous().mT
    if not layout.startswith("expand"):
        return lay_out(x, layout)
    axes = ["bhnd".index(letter) for letter in layout.removeprefix("expand-")]
    return x[tuple(slice(1) if i in axes else slice(None) for i in range(4))].expand(x.shape)


@dataclass(frozen=True)
class AnyCall:
    """One call of the operator, with everything that decides its inputs.

    Args:
        layouts: of q, k, v and dO.
        sink: one of SINKS.
        tile: None goes through the public door, a tile to the launchers below it.
        leaves: whose gradients are asked for; none is a forward pass alone.
        grads: which of "do" and "dlse" come back.
        repeat: also run twice, once with the sequences of the batch in other places.
    """

    problem: AttentionProblem
    layouts: tuple[str, str, str, str] = ("contiguous",) * 4
    softcap: float | None = None
    scale: float | None = None
    sink: str = "none"
    dropout_p: float = 0.0
    seed: int = 0
    spread: float = 1.0
    tile: TileShape | None = None
    leaves: tuple[str, ...] = ("q", "k", "v")
    grads: tuple[str, ...] = ("do",)
    repeat: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The keywords that door, launchers and oracle share; without sink and dropout."""
        p = self.problem
        return {
            "causal": p.causal,
            "window": p.window,
            "softcap": self.softcap,
            "scale": self.scale,
        }

    @property
    def features(self) -> tuple[str, ...]:
        """What is special about the call, for the record of ratios."""
        p = self.problem
        found = {
            "causal": p.causal,
            "window": p.window is not None,
            "softcap": bool(self.softcap),
            "sink": self.sink != "none",
            "dropout": self.dropout_p > 0,
            "gqa": p.heads_q != p.heads_kv,
            "Dv != D": p.head_dim != p.head_dim_v,
            "Nq != Nk": p.len_q != p.len_k,
            "strides": set(self.layouts) != {"contiguous"},
            "stride 0": any(layout.startswith("expand") for layout in self.layouts),
            "given tile": self.tile is not None,
            "peaked": self.spread > 1,
        }
        return tuple(name for name, there in found.items() if there) or ("plain",)

    def tensors(self, device: str = "cpu", roll: int = 0) -> dict[str, Any]:
        """q, k, v, sink, seed, do, dlse; `roll` moves every sequence of the batch that far on."""
        p, dtype = self.problem, DTYPES[self.problem.dtype]
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        rng = torch.Generator().manual_seed(self.seed % 2**31)

        def normal(*shape: int) -> Tensor:
            x = torch.randn(shape, generator=rng, dtype=torch.float64)
            return x.roll(roll, 0) if len(shape) > 1 and shape[0] else x

        sizes = (
            (p.batch, p.heads_q, p.len_q, p.head_dim),
            (p.batch, p.heads_kv, p.len_k, p.head_dim),
            (p.batch, p.heads_kv, p.len_k, p.head_dim_v),
            (p.batch, p.heads_q, p.len_q, p.head_dim_v),
        )
        spreads = (self.spread, self.spread, self.spread, 1.0)
        q, k, v, do = (
            place((spread * normal(*size)).to(dtype).to(device), layout)
            for size, spread, layout in zip(sizes, spreads, self.layouts, strict=True)
        )
        sink, dlse = self._sink(normal(p.heads_q)), normal(*sizes[0][:3])
        seed = torch.tensor([self.seed], device=device) if self.dropout_p else None
        return {
            "q": q, "k": k, "v": v,
            "sink": None if sink is None else sink.to(device, wide),
            "seed": seed, "do": do, "dlse": dlse.to(device, wide),
        }  # fmt: skip

    def _sink(self, values: Tensor) -> Tensor | None:
        if self.sink == "large":
            values = 30.0 * values
        if self.sink == "minus inf":
            values[::2] = -float("inf")
        return None if self.sink == "none" else values

    def keep(self, device: str = "cpu") -> dict[str, Any]:
        """What the oracle is told of dropout."""
        if not self.dropout_p:
            return {}
        p = self.problem
        sizes = (p.batch, p.heads_q, p.len_q, p.len_k)
        grid = torch.meshgrid(*(torch.arange(n, device=device) for n in sizes), indexing="ij")
        return {"dropout_p": self.dropout_p, "keep": kept(self.seed, self.dropout_p, *grid)}


def _lengths(longest: int) -> st.SearchStrategy[int]:
    edges = [n for n in (1, 15, 16, 17, 33, 63, 64, 65, 127, 129) if n <= longest]
    return st.integers(2, longest) | st.sampled_from(edges) | st.sampled_from([*edges, 0])


def _widths(widest: int) -> st.SearchStrategy[int]:
    common = [d for d in (1, 2, 7, 16, 17, 24, 32, 40, 64, 80, 96, 128) if d <= widest]
    return st.sampled_from(common) | st.sampled_from(common) | st.integers(1, widest)


@st.composite
def problems(
    draw: st.DrawFn, *, longest: int, widest: int, dtypes: tuple[str, ...], pairs: int
) -> AttentionProblem:
    """Sizes with at most `pairs` scores in all, and a mask."""
    # sizes of 0 come up, but seldom: such a call is soon done
    batch = draw(st.sampled_from((1, 2, 1, 2, 1, 1, 2, 1, 3, 0)))
    heads_kv = draw(st.sampled_from((1, 2, 1, 2, 1, 2, 1, 1, 0)))
    heads_q = heads_kv * draw(st.integers(1, 3))
    rows = max(1, batch * heads_q)
    len_q = draw(_lengths(longest))
    len_k = draw(_lengths(max(2, min(longest, pairs // (rows * max(1, len_q))))))
    d = draw(_widths(widest))
    side = st.sampled_from((-1, 0, 1, 5)) | st.integers(-1, longest)
    return AttentionProblem(
        batch, heads_q, heads_kv, len_q, len_k, d, draw(st.just(d) | _widths(widest)),
        draw(st.sampled_from(dtypes)), draw(st.booleans()), draw(st.none() | st.tuples(side, side)),
    )  # type: ignore[arg-type]  # fmt: skip


@st.composite
def calls(
    draw: st.DrawFn,
    *,
    longest: int = 40,
    widest: int = 256,
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32"),
    sides: tuple[int, ...] = (16, 32, 64),
    pairs: int = 4000,
) -> AnyCall:
    """Any legal call; the plain value of each option comes up about half the time."""
    problem = draw(problems(longest=longest, widest=widest, dtypes=dtypes, pairs=pairs))
    wide = max(problem.head_dim, problem.head_dim_v) > 64  # a large tile need not fit a GPU
    layout = st.just("contiguous") | st.sampled_from(PLACES + EXPANDED)
    side = st.sampled_from([side for side in sides if side <= 32 or not wide])
    sink = draw(st.just("none") | st.sampled_from(SINKS))
    some = st.lists(st.sampled_from(LEAVES), unique=True).map(tuple)
    leaves = draw(st.just(LEAVES) | st.just(LEAVES) | some)
    return AnyCall(
        problem,
        layouts=draw(st.tuples(layout, layout, layout, layout)),
        softcap=draw(st.none() | st.sampled_from((0.5, 4.0, 50.0))),
        scale=draw(st.none() | st.sampled_from((0.0, -0.3, 1.0, 0.01))),
        sink=sink,
        dropout_p=draw(st.just(0.0) | st.sampled_from((0.1, 0.5, 0.9))),
        seed=draw(st.integers(-(2**63), 2**63 - 1)),
        spread=draw(st.sampled_from((1.0, 1.0, 2.0, 6.0, 1.0, 0.0))),
        tile=draw(st.none() | st.builds(TileShape, side, side)),
        leaves=tuple(x for x in leaves if x != "sink" or sink != "none"),
        grads=draw(st.sampled_from((("do", "dlse"), ("do",), ("dlse",)))),
        repeat=draw(st.booleans()),
    )
