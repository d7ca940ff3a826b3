"""How far from the float64 truth a result may be, element by element, and who watches the ratios.

A tolerance is never typed: each element of an output gets its own budget, a small multiple of the
rounding unit times the sum of the absolute terms that made it. The truth comes from `oracles`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MULTIPLE = 2.0  # the "small multiple" of every budget

#: told of every comparison: (kind, output, dtype, worst ratio to what is allowed, elements, label)
Watcher = Callable[[str, str, torch.dtype, float, int, str], None]
WATCHERS: list[Watcher] = []


@dataclass
class Truth:
    """Exact results by name and, for each, what its budget is made of."""

    values: dict[str, Tensor]
    terms: dict[str, Tensor]  # sum of absolute terms
    through: dict[str, Tensor]  # what rounding every score to float32 can move
    small: dict[str, Tensor]  # how many terms may fall below the smallest step of the dtype
    dtype: torch.dtype

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]


def budget(exact: Truth, name: str, dtype: torch.dtype | None = None, *, alike: int = 0) -> Tensor:
    """How far each element of output `name` may be from the truth, for inputs of `dtype`.

    Roundings of a sum point this way and that, and a small multiple covers them. Where `alike` of
    its terms are equal they all point the same way, half a float32 unit of the sum for each term.

    Rounding to `dtype` of every term, float32 rounding of the scores below it, and the smallest
    step of `dtype`, or the smallest normal number of float32 where that is larger: kernels compute
    in float32, and GPUs flush what is below to 0; lse in float32 terms for every dtype.
    """
    dtype = dtype or exact.dtype
    info = torch.finfo(dtype)
    step = info.tiny * info.eps
    if dtype != torch.float64:  # computed in float32, whose subnormal numbers a GPU may flush to 0
        step = max(step, torch.finfo(torch.float32).tiny)
    inner = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    rounding = info.eps * exact.terms[name] + inner * exact.through[name]
    rounding += inner / 2 * alike * exact.terms[name]
    return MULTIPLE * (rounding + step * exact.small[name])


def assert_within_budget(
    name: str,
    got: Tensor,
    exact: Truth,
    dtype: torch.dtype | None = None,
    *,
    label: str = "",
    alike: int = 0,
) -> None:
    """Every element of `got` lies within its own budget of `exact[name]`; infinities in place."""
    want = exact[name]
    assert got.shape == want.shape, f"{name}: shape {tuple(got.shape)}, want {tuple(want.shape)}"
    if not want.numel():
        return
    got = got.detach().to(want.device).double()
    error = torch.where(got == want, 0.0, (got - want).abs())  # equal infinities are no error
    allowed = budget(exact, name, dtype, alike=alike)
    over = error / allowed.clamp_min(torch.finfo(torch.float64).tiny)
    over = torch.where(torch.isfinite(got) == torch.isfinite(want), over, float("inf"))
    over = torch.where(torch.isnan(over), float("inf"), over)
    worst = int(over.argmax())
    ratio = float(over.flatten()[worst])
    for watch in WATCHERS:
        watch("budget", name, dtype or exact.dtype, ratio, over.numel(), label)
    if ratio <= 1:
        return
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), over.shape))
    raise AssertionError(
        f"{label + ' ' if label else ''}{name}{list(place)}: got {float(got[place]):.9g}, "
        f"want {float(want[place]):.9g}, error {float(error[place]):.3g} = "
        f"{ratio:.3g} times its budget {float(allowed[place]):.3g}; "
        f"{int((over > 1).sum())} of {over.numel()} elements are over"
    )


def assert_no_worse_than_peer(
    name: str, got: Tensor, peer: Tensor, exact: Truth, *, label: str = ""
) -> None:
    """The peers' rule: at most twice the error of plain torch in the same dtype, plus eps.

    dq and dk are made of dP - Delta, and Delta of the stored o, which is rounded to float32 at best:
    where a row sees few keys nearly all of it cancels, and what is left of the rounding is an eps of
    the terms before that. Plain torch keeps P, and the same rounding is in both.
    """
    want = exact[name]
    live = torch.isfinite(want)
    if not bool(live.any()):
        return

    def worst(x: Tensor) -> float:
        return float(x.detach().to(want.device).double()[live].abs().max())

    error, theirs = worst(got.to(want.device) - want), worst(peer.to(want.device) - want)
    slack = torch.finfo(exact.dtype).eps * worst(want)
    if name in ("dq", "dk"):
        slack += torch.finfo(torch.float32).eps * worst(exact.terms[name])
    ratio = error / max(2 * theirs + slack, torch.finfo(torch.float64).tiny)
    for watch in WATCHERS:
        watch("peer", name, exact.dtype, ratio, want.numel(), label)
    assert ratio <= 1, f"{name}: error {error:.3g}, plain torch {theirs:.3g}, eps {slack:.3g}"
