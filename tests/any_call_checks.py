"""What must hold for every attention call: budgets, rows without keys, repeats, the peers' rule."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from any_call import AnyCall
from budgets import Truth, assert_no_worse_than_peer, assert_within_budget
from oracles import plain_attention, truth
from ratios import noting
from torch import Tensor

from fa_toolkit import flash_attention

#: below so many elements one lucky rounding of the peer decides the peers' rule
ENOUGH = 4096
#: gradients rebuild P from lse; plain torch keeps P, known to about one eps. From 4 on the rounding
#: of a float32 lse, eps / 2 of its power of two, moves P by two eps: twice the peer's error
LARGEST_LSE = 4.0
#: layouts in which all keys of a head have one value: dq and dk are then 0 by cancellation, to the last
#: bit where P is kept, to the rounding of o where Delta is made from the stored o; budgets know that
SAME_VALUES = ("expand-n", "expand-bhnd")
_PATHS = {"triton": "fa_toolkit.kernels", "tiled": "fa_toolkit.tiled"}


def results(call: AnyCall, impl: str, device: str = "cpu", roll: int = 0) -> dict[str, Tensor]:
    """o, lse, and the gradients the call asks for by name, as `impl` computes them."""
    x = call.tensors(device, roll)
    if call.tile is None:
        return _through_the_door(call, impl, x)
    return _through_the_launchers(call, impl, x)


def _through_the_door(call: AnyCall, impl: Any, x: dict[str, Any]) -> dict[str, Tensor]:
    leaves = [x[name].requires_grad_() for name in call.leaves]
    o, lse = flash_attention(
        x["q"], x["k"], x["v"], sink=x["sink"], dropout_p=call.dropout_p, seed=x["seed"],
        return_lse=True, impl=impl, **call.options,
    )  # fmt: skip
    found = {"o": o.detach(), "lse": lse.detach()}
    if not leaves:
        return found
    outputs = {"do": o, "dlse": lse}
    grads = torch.autograd.grad(
        [outputs[name] for name in call.grads], leaves, [x[name] for name in call.grads]
    )
    return found | {f"d{name}": grad for name, grad in zip(call.leaves, grads, strict=True)}


def _through_the_launchers(call: AnyCall, impl: str, x: dict[str, Any]) -> dict[str, Tensor]:
    module = importlib.import_module(_PATHS[impl])
    q, k, v = x["q"], x["k"], x["v"]
    options = call.options | {"sink": x["sink"], "tile": call.tile}
    options |= {"dropout_p": call.dropout_p, "seed": x["seed"]}
    o, lse = module.flash_forward(q, k, v, **options)
    found = {"o": o, "lse": lse}
    if not call.leaves:
        return found
    do = x["do"] if "do" in call.grads else torch.zeros_like(o)
    dlse = x["dlse"] if "dlse" in call.grads else None
    if impl == "triton":
        options["needs_dq"] = "q" in call.leaves
        options["needs_dkdv"] = "k" in call.leaves or "v" in call.leaves
    grads = module.flash_backward(q, k, v, o, lse, do, dlse, **options)
    return found | {f"d{name}": getattr(grads, f"d{name}") for name in call.leaves}


def exactly(call: AnyCall, device: str = "cpu") -> Truth:
    """The float64 truth of the call, computed on `device`."""
    x = call.tensors(device)
    grads = {name: x[name] for name in call.grads} if call.leaves else {}
    return truth(
        x["q"], x["k"], x["v"], sink=x["sink"], device=device,
        **call.options, **call.keep(device), **grads,
    )  # fmt: skip


def check(call: AnyCall, impl: str, device: str = "cpu") -> None:
    """Run the call and hold everything it returns to what is promised."""
    got, exact = results(call, impl, device), exactly(call, device)
    inputs = call.tensors(device)
    with noting(call.features):
        for name, x in got.items():
            like = {"o": inputs["q"], "lse": inputs["dlse"]}.get(name, inputs.get(name[1:]))
            assert x.dtype == like.dtype, name
            assert_within_budget(name, x, exact, alike=_terms_alike(call))
    dead = exact["lse"] == -float("inf")  # a row that sees no key
    for name in {"o", "dq"} & set(got):
        assert bool((got[name].to(dead.device)[dead] == 0).all()), name
    if call.repeat:
        _check_repeats(call, impl, device, got)


def _terms_alike(call: AnyCall) -> int:
    """How many equal terms a sum over keys or queries may have: all, where rows repeat."""
    return max(call.problem.len_q, call.problem.len_k) * bool({*call.layouts} & {*SAME_VALUES})


def _check_repeats(call: AnyCall, impl: str, device: str, got: dict[str, Tensor]) -> None:
    """Another run gives the same bits, also where sequences lie elsewhere in the batch."""
    # what dropout drops depends on the place, and so does what a stride of 0 repeats
    move = not call.dropout_p and not any("b" in x.removeprefix("expand") for x in call.layouts)
    again = results(call, impl, device, roll=int(move))
    for name, x in got.items():
        if name == "dsink" and move:  # a sum over the batch
            continue
        moved = x.roll(1, 0) if move and x.shape[0] else x
        assert torch.equal(again[name], moved), f"{name} differs between two runs"


def check_peer(call: AnyCall, impl: str, device: str = "cpu") -> None:
    """At most twice the error of plain torch in the same dtype, forward and gradients."""
    got, exact = results(call, impl, device), exactly(call, device)
    x = call.tensors(device)
    leaves = [x[name].requires_grad_() for name in call.leaves]
    outputs = plain_attention(
        x["q"], x["k"], x["v"], sink=x["sink"], **call.options, **call.keep(device)
    )
    peer = dict(zip(("o", "lse"), outputs, strict=True))
    if leaves:
        # of a call that has gradients for lse alone v gets none, and the peer records nothing
        of = {name: outputs[name == "dlse"] for name in call.grads}
        of = {name: like for name, like in of.items() if like.requires_grad}
        if of:
            given = [x[name].to(like.dtype) for name, like in of.items()]
            grads = torch.autograd.grad(list(of.values()), leaves, given, allow_unused=True)
            peer |= {f"d{n}": g for n, g in zip(call.leaves, grads, strict=True) if g is not None}
    names = got.keys() & peer.keys() - {"dsink"}
    finite = exact["lse"][torch.isfinite(exact["lse"])]
    far = bool((finite.abs() > LARGEST_LSE).any())
    if call.problem.dtype == "float32" and far:
        names &= {"o", "lse"}
    if call.layouts[2] in SAME_VALUES:
        names -= {"dq", "dk"}
    with noting(call.features):
        for name in sorted(names):
            if got[name].numel() >= ENOUGH:
                assert_no_worse_than_peer(name, got[name], peer[name], exact)
