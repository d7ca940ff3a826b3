"""The ablations: what is taken out of the shipped kernels, as named edits of their source.

The kernels carry no switches for this. An edit says which text of which file is replaced; a launch
edit says what another tile, number of warps or stages would be. `ablations` times them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..language import Text
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
        causal_only: says nothing about a problem without a mask.
        forward_only: a tile of the forward kernel.
    """

    name: str
    what: Text
    edits: tuple[Edit, ...] = ()
    launch: Launch | None = None
    causal_only: bool = False
    forward_only: bool = False


_SEEN = r"(?m)^    return low, full_low, full_high, high$"

SHIPPED = Ablation("shipped", Text("as shipped", "原样"))
_SOURCE = (
    Ablation(
        "natural exponential",
        Text("e^x instead of 2^x, scores in natural units", "用 e^x 而不是 2^x，分数取自然单位"),
        (
            Edit(EVERY, r"\btl\.(math\.)?exp2\(", "tl.exp("),
            Edit(EVERY, r"\btl\.(math\.)?log2\(", "tl.log("),
            Edit("tiles", r"(?m)^(LOG2_E|LN_2): tl\.constexpr = .*$",
                 r"\1: tl.constexpr = tl.constexpr(1.0)"),
        ),
    ),
    Ablation(
        "no causal skipping",
        Text("every tile is visited, masked ones too", "所有块都访问，被掩码全部挡住的也不例外"),
        (Edit("tiles", _SEEN, "    return low * 0, full_low, full_high, high * 0 + length"),),
        causal_only=True,
    ),
    Ablation(
        "masks on every tile",
        Text("the mask is applied to whole tiles too", "整块可见的也照样加掩码"),
        (
            Edit("tiles", _SEEN, "    return low, low, low, high"),
            Edit("call", r"(?m)^        return bounded or .*$", "        return True"),
            Edit("backward_dkdv", r"(?m)(LAST_PART: tl\.constexpr =).*$", r"\1 WHOLE + 1"),
        ),
    ),
)  # fmt: skip
_TILES = ((64, 64), (128, 32), (128, 64), (128, 128), (64, 128), (256, 64))
_LAUNCHES = (
    *(
        Ablation(f"tile {m}x{n}", Text(f"BLOCK_M {m}, BLOCK_N {n}", f"BLOCK_M {m}，BLOCK_N {n}"),
                 launch=Launch(block_m=m, block_n=n), forward_only=True)
        for m, n in _TILES
    ),
    *(
        Ablation(f"{n} warps", Text(f"{n} warps a program", f"每个程序实例 {n} 个 warp"),
                 launch=Launch(num_warps=n))
        for n in (4, 8)
    ),
    *(
        Ablation(f"{n} stages", Text(f"loads {n} tiles ahead", f"提前加载 {n} 块"),
                 launch=Launch(num_stages=n))
        for n in (1, 2, 3, 4)
    ),
)  # fmt: skip
ABLATIONS: Mapping[str, Ablation] = {each.name: each for each in (SHIPPED, *_SOURCE, *_LAUNCHES)}
