"""Packed calls for every implementation, with NaN tokens past the last offset, and their check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from budgets import budget
from oracles import DTYPES, assert_within_budget, truth
from torch import Tensor

from fa_toolkit.reference import kept

Varlen = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Case:
    """One packed call: queries and keys of each sequence, and how many tokens lie past the last.

    `apart`: the three inputs lie in memory in three different ways, NaN between.
    """

    lens_q: tuple[int, ...]
    lens_k: tuple[int, ...]
    heads: tuple[int, int] = (2, 1)
    dims: tuple[int, int] = (8, 12)
    dtype: str = "float32"
    spare: tuple[int, int] = (0, 0)
    sink: bool = False
    dropout_p: float = 0.0
    apart: bool = False
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A readable test id."""
        flags = "-".join(f"{k}{v}" for k, v in self.flags.items()).replace(" ", "")
        lens = "+".join(f"{a}x{b}" for a, b in zip(self.lens_q, self.lens_k, strict=True))
        sink = "-sink" * self.sink
        sink += f"-p{self.dropout_p}" if self.dropout_p else ""
        return f"L{lens}-H{self.heads[0]}:{self.heads[1]}-{self.dtype}-{flags or 'full'}{sink}"

    def dropout(self, device: str = "cpu") -> dict[str, Any]:
        """The keywords of a call that drops."""
        seed = torch.tensor([SEED], device=device)
        return {"dropout_p": self.dropout_p, "seed": seed} if self.dropout_p else {}

    def keep(self, b: int, len_q: int, len_k: int) -> dict[str, Any]:
        """The oracle's keywords for sequence b: what dropout keeps of it."""
        if not self.dropout_p:
            return {}
        sizes = (1, self.heads[0], len_q, len_k)
        _, *place = torch.meshgrid(*(torch.arange(n) for n in sizes), indexing="ij")
        mask = kept(SEED, self.dropout_p, torch.tensor(b), *place)
        return {"keep": mask, "dropout_p": self.dropout_p}


CASES = (
    Case((5, 0, 3), (5, 4, 0), spare=(2, 3)),
    Case((1, 7, 4), (9, 3, 4), (4, 2), dtype="bfloat16", flags={"causal": True}, spare=(1, 1)),
    Case((6, 5), (6, 9), sink=True, flags={"window": (2, 1), "softcap": 3.0}),
    Case((3, 0, 8), (2, 0, 9), dtype="float64", sink=True, flags={"causal": True, "scale": 0.3}),
    Case((70, 10), (65, 70), dtype="float16", flags={"causal": True, "window": (20, 5)}),
    Case((9, 6), (11, 8), (4, 2), spare=(1, 0), dropout_p=0.3, flags={"causal": True}),
    Case((), (), spare=(3, 2)),
)
SEED = -(2**62) + 999


def offsets(lens: tuple[int, ...], device: str = "cpu") -> Tensor:
    """cu_seqlens of those lengths."""
    return torch.tensor([0, *accumulate(lens)], dtype=torch.int32, device=device)


def make(case: Case, device: str = "cpu") -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """q, k, v, sink; tokens that belong to no sequence are NaN."""
    rng = torch.Generator().manual_seed(0)

    def tokens(lens: tuple[int, ...], spare: int, heads: int, width: int) -> Tensor:
        x = torch.randn(sum(lens) + spare, heads, width, generator=rng, dtype=torch.float64)
        x[sum(lens) :] = float("nan")
        x = x.to(device, DTYPES[case.dtype])
        ways = next(layouts) if case.apart else 1
        wide = x.new_full((len(x), heads, ways * width), float("nan"))
        wide[..., ::ways] = x
        return wide[..., ::ways]

    layouts = iter((1, 2, 3))

    (hq, hkv), (d, dv) = case.heads, case.dims
    q = tokens(case.lens_q, case.spare[0], hq, d)
    k, v = (tokens(case.lens_k, case.spare[1], hkv, width) for width in (d, dv))
    return q, k, v, torch.randn(hq, generator=rng).to(device) if case.sink else None


def sequences(case: Case, *tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """[1, H, n, width] of every sequence: the first tensor cut by lens_q, the others by lens_k."""
    lens = (case.lens_q, *(case.lens_k for _ in tensors[1:]))
    cuts = [x.split([*n, len(x) - sum(n)])[:-1] for x, n in zip(tensors, lens, strict=True)]
    return [tuple(x.transpose(0, 1)[None] for x in one) for one in zip(*cuts, strict=True)]


def check(
    varlen: Varlen, case: Case, device: str = "cpu", layout: str = "packed", **keywords: Any
) -> None:
    """Run `varlen` on the case and hold o and lse of every sequence to their budgets."""
    q, k, v, sink = make(case, device)
    if layout == "heads first":
        q, k, v = (x.transpose(0, 1).contiguous().transpose(0, 1) for x in (q, k, v))
    cu_q, cu_k = offsets(case.lens_q, device), offsets(case.lens_k, device)
    o, lse = varlen(
        q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, sink=sink,
        **case.flags, **case.dropout(device), **keywords,
    )  # fmt: skip
    assert (o.shape, o.dtype) == ((*q.shape[:2], case.dims[1]), q.dtype)
    assert lse.shape == (case.heads[0], len(q))
    start = 0
    for b, one in enumerate(sequences(case, q, k, v)):
        own = slice(start, start + one[0].shape[2])
        keep = case.keep(b, one[0].shape[2], one[1].shape[2])
        exact = truth(*one, sink=sink, **case.flags, **keep)
        assert_within_budget("o", o[own].transpose(0, 1)[None], exact, label=case.name)
        assert_within_budget("lse", lse[None, :, own], exact, label=case.name)
        start = own.stop
    assert bool((o[start:] == 0).all() and (lse[:, start:] == -float("inf")).all())


def check_gradients(varlen: Varlen, case: Case, device: str = "cpu", **keywords: Any) -> None:
    """Differentiate `varlen` on the case and hold outputs and gradients to their budgets."""
    q, k, v, sink = make(case, device)
    leaves = [x.requires_grad_() for x in (q, k, v, sink) if x is not None]
    cu_q, cu_k = offsets(case.lens_q, device), offsets(case.lens_k, device)
    o, lse = varlen(
        q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, sink=sink,
        **case.flags, **case.dropout(device), **keywords,
    )  # fmt: skip
    do, dlse = torch.randn_like(o), torch.randn_like(lse)
    dead = lse == -float("inf")
    dead[:, sum(case.lens_q) :] = False  # what flows into tokens of nobody must be ignored
    dlse = dlse.masked_fill(dead, 0.0)
    found = torch.autograd.grad([o, lse], leaves, [do, dlse])
    ends = [sum(case.lens_q), sum(case.lens_k), sum(case.lens_k)]
    for grad, end in zip(found, ends, strict=False):
        assert bool((grad[end:] == 0).all())  # of NaN tokens that belong to nobody
    start, sinks = 0, []
    plain = [x.detach() for x in leaves]
    every = zip(sequences(case, *plain[:3]), sequences(case, *found[:3]), strict=True)
    for b, (inputs, mine) in enumerate(every):
        own = slice(start, start + inputs[0].shape[2])
        one_do, one_dlse = do[own].transpose(0, 1)[None], dlse[None, :, own]
        keep = case.keep(b, inputs[0].shape[2], inputs[1].shape[2])
        exact = truth(
            *inputs, sink=None if sink is None else sink.detach(), do=one_do, dlse=one_dlse,
            **case.flags, **keep,
        )  # fmt: skip
        outputs = (o[own].transpose(0, 1)[None], lse[None, :, own])
        for name, got in zip(("dq", "dk", "dv", "o", "lse"), (*mine, *outputs), strict=True):
            assert_within_budget(name, got.detach(), exact, label=case.name)
        sinks += [exact] if sink is not None else []
        start = own.stop
    assert bool((o[start:] == 0).all() and (lse[:, start:] == -float("inf")).all())
    if sinks:
        wrong = (found[3].double().cpu() - sum(exact["dsink"] for exact in sinks)).abs()
        kind = torch.float32 if case.dtype == "float64" else q.dtype  # the sink is float32
        assert bool((wrong <= sum(budget(x, "dsink", kind) for x in sinks)).all()), case.name
