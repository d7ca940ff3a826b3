"""Packed calls drawn at random, and what must hold for each; a packed call is a cut `AnyCall`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import torch
from any_call import AnyCall, calls
from budgets import Truth, assert_within_budget
from hypothesis import strategies as st
from oracles import truth
from ratios import noting
from torch import Tensor

from fa_toolkit import flash_attention_varlen
from fa_toolkit.reference import kept

_GRADS = ("dq", "dk", "dv")


@dataclass(frozen=True)
class AnyPacked:
    """A call whose one sequence is cut into several; what is left over belongs to nobody.

    Args:
        call: of batch 1; its lengths are the tokens of the packed tensors.
        lens_q, lens_k: of each sequence, summing up to no more than that.
        longest: whether max_seqlen_q and max_seqlen_k are given.
    """

    call: AnyCall
    lens_q: tuple[int, ...]
    lens_k: tuple[int, ...]
    longest: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """What is special about the call, for the record of ratios."""
        empty = 0 in self.lens_q or 0 in self.lens_k
        return (*self.call.features, *(("empty sequence",) if empty else ()))

    def tensors(self, device: str) -> dict[str, Any]:
        """Packed q, k, v, do [T, H, D] and dlse [H, T]; tokens of nobody are NaN where they can."""
        x = self.call.tensors(device)
        ends = (sum(self.lens_q), sum(self.lens_k), sum(self.lens_k), sum(self.lens_q))
        for name, layout, end in zip(("q", "k", "v", "do"), self.call.layouts, ends, strict=True):
            if not layout.startswith("expand"):
                x[name][:, :, end:] = float("nan")
            x[name] = x[name][0].transpose(0, 1)
        return x | {"dlse": x["dlse"][0]}

    def cuts(self) -> tuple[list[int], list[int]]:
        """The offsets of queries and of keys."""
        return [0, *accumulate(self.lens_q)], [0, *accumulate(self.lens_k)]


def _keep(call: AnyCall, sequence: int, len_q: int, len_k: int, device: str) -> dict[str, Any]:
    """What the oracle is told of dropout: places count within a sequence, which is the batch."""
    if not call.dropout_p:
        return {}
    sizes = (1, call.problem.heads_q, len_q, len_k)
    b, *rest = torch.meshgrid(*(torch.arange(n, device=device) for n in sizes), indexing="ij")
    return {
        "dropout_p": call.dropout_p,
        "keep": kept(call.seed, call.dropout_p, b + sequence, *rest),
    }


def results(packed: AnyPacked, impl: Any, device: str) -> dict[str, Tensor]:
    """o, lse, and the gradients the call asks for by name."""
    call, x = packed.call, packed.tensors(device)
    leaves = [x[name].requires_grad_() for name in call.leaves]
    cu_q, cu_k = (torch.tensor(cuts, dtype=torch.int32, device=device) for cuts in packed.cuts())
    longest = (max(packed.lens_q, default=0), max(packed.lens_k, default=0))
    o, lse = flash_attention_varlen(
        x["q"], x["k"], x["v"], cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, sink=x["sink"],
        max_seqlen_q=longest[0] if packed.longest else None,
        max_seqlen_k=longest[1] if packed.longest else None,
        dropout_p=call.dropout_p, seed=x["seed"], return_lse=True, impl=impl, **call.options,
    )  # fmt: skip
    found = {"o": o.detach(), "lse": lse.detach()}
    outputs = {"do": o, "dlse": lse}
    chosen = [name for name in call.grads if outputs[name].requires_grad]
    if not leaves or not chosen:
        return found
    # tokens of nobody have no gradient to pass on, whatever comes back for them
    grads = torch.autograd.grad(
        [outputs[name] for name in chosen], leaves, [x[name] for name in chosen], allow_unused=True
    )
    pairs = zip(call.leaves, grads, strict=True)
    return found | {f"d{name}": grad for name, grad in pairs if grad is not None}


def check(packed: AnyPacked, impl: str, device: str = "cpu") -> None:
    """Run the call and hold every sequence to its budget, and the tokens of nobody to 0."""
    call, x, got = packed.call, packed.tensors(device), results(packed, impl, device)
    ends_q, ends_k = packed.cuts()
    dsink: list[Truth] = []
    for b, (own, keys) in enumerate(zip(pairwise(ends_q), pairwise(ends_k), strict=True)):
        cut_q, cut_k = slice(*own), slice(*keys)
        dense = {n: x[n][cut_q].transpose(0, 1)[None] for n in ("q", "do")}
        dense |= {n: x[n][cut_k].transpose(0, 1)[None] for n in ("k", "v")}
        dense["dlse"] = x["dlse"][None, :, cut_q]
        lengths = (own[1] - own[0], keys[1] - keys[0])
        exact = truth(
            dense["q"], dense["k"], dense["v"], sink=x["sink"], device=device, **call.options,
            **_keep(call, b, *lengths, device), **{n: dense[n] for n in call.grads},
        )  # fmt: skip
        dsink.append(exact)
        with noting(packed.features):
            assert_within_budget("lse", got["lse"][None, :, cut_q], exact, label=f"sequence {b}")
            for name in {"o", *_GRADS} & got.keys():
                cut = cut_k if name in ("dk", "dv") else cut_q
                mine = got[name][cut].transpose(0, 1)[None]
                assert_within_budget(name, mine, exact, label=f"sequence {b}")
    if dsink and "dsink" in got:
        with noting(packed.features):
            assert_within_budget("dsink", got["dsink"], _summed(dsink))
    _check_nobody(got, ends_q[-1], ends_k[-1])
    if call.repeat:
        for name, again in results(packed, impl, device).items():
            assert torch.equal(again, got[name]), f"{name} differs between two runs"


def _summed(parts: list[Truth]) -> Truth:
    """dsink of all sequences, with the budgets of all."""
    tables = [{"dsink": sum(getattr(t, table)["dsink"] for t in parts)}
              for table in ("values", "terms", "through", "small")]  # fmt: skip
    return Truth(*tables, parts[0].dtype)  # type: ignore[arg-type]


def _check_nobody(got: dict[str, Tensor], end_q: int, end_k: int) -> None:
    assert bool((got["o"][end_q:] == 0).all() and (got["lse"][:, end_q:] == -float("inf")).all())
    for name in got.keys() & set(_GRADS):
        end = end_q if name == "dq" else end_k
        assert bool((got[name][end:] == 0).all()), name


@st.composite
def packed_calls(
    draw: st.DrawFn, *, sequences: int = 4, longest: int = 30, **sizes: Any
) -> AnyPacked:
    """Any legal packed call: sequences of 0 or more tokens, and some tokens of nobody."""
    call = draw(calls(longest=longest, **sizes))
    lens = st.sampled_from((0, 1)) | st.integers(0, longest)
    count = draw(st.integers(0, sequences))
    lens_q, lens_k = (tuple(draw(lens) for _ in range(count)) for _ in range(2))
    spare = st.just(0) | st.integers(1, 5)
    problem = replace(
        call.problem, batch=1, len_q=sum(lens_q) + draw(spare), len_k=sum(lens_k) + draw(spare)
    )
    call = replace(call, problem=problem, tile=None)
    return AnyPacked(call, lens_q, lens_k, draw(st.booleans()))
