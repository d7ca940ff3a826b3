"""What an ablation changed, in words. Rows know it by a name; `bench.edits` is what gives names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ..errors import ArgumentError
from ..language import Text, say

SHIPPED = "shipped"
_NAMES: Mapping[str, Text] = MappingProxyType(
    {
        SHIPPED: Text("as shipped", "原样"),
        "natural exponential": Text("e^x instead of 2^x", "用 e^x 而不是 2^x"),
        "no causal skipping": Text("hidden tiles visited too", "看不见的块也访问"),
        "masks on every tile": Text("the mask on whole tiles too", "整块可见的也加掩码"),
    }
)
_TILE = re.compile(r"tile (\d+)x(\d+)")
_COUNT = re.compile(r"(\d+) (warps|stages)")


def variant_text(name: str) -> Text:
    """The words for a variant in both languages; an unknown one is called as it came.

    Example:
        >>> variant_text("tile 64x32").en
        'tile 64 × 32'
        >>> variant_text("1 stages").en
        '1 stage'
    """
    if not isinstance(name, str):
        raise ArgumentError("name", expected=Text("a text", "文字"), got=repr(name))
    if tile := _TILE.fullmatch(name):
        m, n = tile.groups()
        return Text(f"tile {m} × {n}", f"块 {m} × {n}")
    if count := _COUNT.fullmatch(name):
        number, kind = count.groups()
        name = kind.removesuffix("s") if number == "1" else kind
        return Text(f"{number} {name}", f"{number} {'个 warp' if kind == 'warps' else '级'}")
    return _NAMES.get(name, Text(name, name))


def is_launch(name: str) -> bool:
    """Whether the variant is a tile, a number of warps or of stages: the source is as shipped.

    Example:
        >>> is_launch("4 warps"), is_launch("natural exponential")
        (True, False)
    """
    return bool(_TILE.fullmatch(name) or _COUNT.fullmatch(name))


def variant_label(name: str) -> str:
    """`variant_text` in the language in force."""
    return say(variant_text(name))
