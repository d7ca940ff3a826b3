"""What the memory ladder is showing: a GPU, a tensor, and the figures of every GPU to choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...hardware import GPU, GPUS
from ...language import say, using
from ..numbers import amount, duration, plain, rate
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both
from .levels import (
    HEADS,
    ITEMSIZE,
    LEVELS,
    TENSORS,
    TILE_ROWS,
    first_fit,
    levels,
    passes,
    tensor_bytes,
)
from .words import LEVEL_NAMES, NOTHING, TOO_LONG, UI

LONGEST = 1 << 20
_LENGTHS = tuple(1 << p for p in range(7, 21))
_HEAD_DIMS = (32, 64, 128, 256)
_STEPS = ("start", *LEVELS, "fits")


class LadderState(PlayerState):
    """A GPU and a tensor, as the controls have them (`settings`)."""

    def __init__(self, card: GPU, *, tensor: str, n: int, head_dim: int, **more: Any) -> None:
        self.cards = {card.key: card, **{k: c for k, c in GPUS.items() if k != card.key}}
        super().__init__(**more)
        self.settings = {"gpu": card.key, "what": tensor, "n": n, "d": head_dim, "scale": "log"}
        words = both({**SHELL, **UI})
        with using(self.lang):
            self.error = _objection(n, head_dim)
        if self.error:
            self.head = {"words": words}
            return
        layout, self.blob = pack(_columns(list(self.cards.values())))
        self.head = {
            "layout": layout, "words": words, "levels": LEVELS, "tensors": TENSORS,
            "itemsize": ITEMSIZE, "tileRows": TILE_ROWS, "heads": HEADS,
            "lengths": sorted({*_LENGTHS, n}), "dims": sorted({*_HEAD_DIMS, head_dim}),
            "gpus": [_named(each) for each in self.cards.values()],
        }  # fmt: skip

    @property
    def gpu(self) -> GPU:
        """The GPU on show."""
        return self.cards[self.settings["gpu"]]

    @property
    def bytes(self) -> int:
        """Bytes of the tensor on show."""
        s = self.settings
        return tensor_bytes(s["what"], s["n"], s["d"])

    @property
    def first(self) -> str:
        """The nearest level that holds the tensor."""
        return first_fit(self.gpu, self.bytes)

    @property
    def last(self) -> int:
        return len(_STEPS) - 1 + two_levels(self.gpu)

    def text(self) -> str:
        """A line a level: size, bandwidth, latency, and one pass over the tensor."""
        if self.error:
            return self.error
        with using(self.lang):
            unknown = say(UI["unknown"])
            what = say(UI[f"what_{self.settings['what']}"], h=HEADS)
            lines = [f"{say(UI['title'])}: {self.gpu.name}", f"{what}: {amount(self.bytes)}"]
            times = passes(self.gpu, self.bytes)
            for level, seconds in zip(levels(self.gpu), times, strict=True):
                size = say(UI["machine"]) if level.name == "host" else unknown
                lines.append("  ".join([
                    f"{say(LEVEL_NAMES[level.name])}:",
                    amount(level.bytes) if level.bytes else size,
                    rate(level.bandwidth) if level.bandwidth else unknown,
                    f"{plain(level.latency)} clk" if level.latency else unknown,
                    duration(seconds) if seconds is not None else unknown,
                ]))  # fmt: skip
        return "\n".join(lines)


def two_levels(card: GPU) -> bool:
    """Whether the article's "20 to 40 MB of SRAM" is about this GPU.

    Example:
        >>> [two_levels(GPUS[key]) for key in ("a100-80", "h200")]
        [True, False]
    """
    return card.name.startswith("A100") and None not in (card.l1, card.l2)


def _objection(n: int, head_dim: int) -> str:
    if n <= 0 or head_dim <= 0:
        return say(NOTHING, n=n, d=head_dim)
    return say(TOO_LONG, n=n, most=LONGEST) if n > LONGEST else ""


def _columns(cards: list[GPU]) -> dict[str, Any]:
    """Figures of all GPUs, one row a GPU and one column a level; nan where none is known."""
    rows = [levels(card) for card in cards]

    def table(name: str) -> Any:
        found = [[getattr(level, name) for level in row] for row in rows]
        return np.array([[np.nan if x is None else x for x in row] for row in found], "f8")

    measured = np.array([[level.measured for level in row] for row in rows], "u1")
    names = ("bytes", "each", "bandwidth", "latency")
    return {**{name: table(name) for name in names}, "measured": measured}


def _named(card: GPU) -> dict[str, Any]:
    sources = [dict(level.sources) for level in levels(card)]
    return {
        "key": card.key, "name": card.name, "sms": card.sms, "block": card.shared_per_block,
        "pcie": card.pcie_generation, "l1": card.l1, "l1Each": card.l1_per_sm,
        "claim": two_levels(card), "sources": sources,
    }  # fmt: skip
