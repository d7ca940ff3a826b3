"""The ablations: what is taken out of the shipped kernels, as named edits of their source.

The kernels carry no switches for this. An edit says which text of which file is replaced; a launch
edit says what another tile, number of warps or stages would be. `ablations` times them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..measured import variants
from .editing import EVERY, Edit


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched instead: fields of its plan that are replaced, None kept."""

    block_m: int | None = None
    block_n: int | None = None
    num_warps: int | None = None
    num_stages: int | None = None


@dataclass(frozen=True)
class Ablation:
    """One change of the shipped kernels that leaves the result as it is and may cost time.

    Args:
        name: `measured.variant_label` has words for it.
        causal_only: says nothing about a problem without a mask.
        forward_only: a tile of the forward kernel.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    launch: Launch | None = None
    causal_only: bool = False
    forward_only: bool = False


_SEEN = r"(?m)^    return low, full_low, full_high, high$"

SHIPPED = Ablation(variants.SHIPPED)
_SOURCE = (
    Ablation(
        "natural exponential",
        (
            Edit(EVERY, r"\btl\.(math\.)?exp2\(", "tl.exp("),
            Edit(EVERY, r"\btl\.(math\.)?log2\(", "tl.log("),
            Edit("tiles", r"(?m)^(LOG2_E|LN_2): tl\.constexpr = .*$",
                 r"\1: tl.constexpr = tl.constexpr(1.0)"),
        ),
    ),
    Ablation(
        "no causal skipping",
        (Edit("tiles", _SEEN, "    return low * 0, full_low, full_high, high * 0 + length"),),
        causal_only=True,
    ),
    Ablation(
        "masks on every tile",
        (
            Edit("tiles", _SEEN, "    return low, low, low, high"),
            Edit("call", r"(?m)^        return self\.cu_seqlens is not None or .*$", "        return True"),
            Edit("backward_dkdv", r"(?m)(LAST_PART: tl\.constexpr =).*$", r"\1 WHOLE + 1"),
        ),
    ),
)  # fmt: skip
_TILES = ((64, 64), (128, 32), (128, 64), (128, 128), (64, 128), (256, 64))
_LAUNCHES = (
    *(
        Ablation(f"tile {m}x{n}", launch=Launch(block_m=m, block_n=n), forward_only=True)
        for m, n in _TILES
    ),
    *(Ablation(f"{n} warps", launch=Launch(num_warps=n)) for n in (4, 8)),
    *(Ablation(f"{n} stages", launch=Launch(num_stages=n)) for n in (1, 2, 3, 4)),
)
ABLATIONS: Mapping[str, Ablation] = {each.name: each for each in (SHIPPED, *_SOURCE, *_LAUNCHES)}
