"""What the block chooser is showing: a GPU, a problem, a tile, and the kernels to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...hardware import GPU, GPUS
from ...io_model import (
    Traffic,
    flash_forward_traffic,
    forward_flops,
    standard_forward_traffic,
)
from ...language import say, using
from ...measured import Compiled, compiled_length, compiled_provenance
from ...problem import AttentionProblem, TileShape
from ..numbers import amount, plain
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both
from .words import NOTHING, TOO_LONG, UI

LONGEST = 1 << 17
STANDARD_TILE = 128  # of the products of standard attention, which choose their own
_LENGTHS = tuple(1 << p for p in range(9, 18))
_GPUS = ("a100-40", "a100-80", "h100-sxm", "h100-pcie", "h200", "h20")
#: The walk: BLOCK_M grows, then BLOCK_N, then what the launcher takes. 0 stands for its choice.
PATH: tuple[tuple[str, int, int], ...] = (
    ("start", 16, 64),
    *(("m", m, 64) for m in (16, 32, 64, 128, 256)),
    *(("n", 128, n) for n in (16, 32, 64, 128, 256)),
    ("default", 0, 0),
)
_COLUMNS = (
    "capability", "head_dim", "causal", "block_m", "block_n", "limit", "bound", "warps", "stages",
    "registers", "spills", "shared", "default",
)  # fmt: skip


class ChoiceState(PlayerState):
    """GPU, problem and tile as the controls and clicks have them (`settings`)."""

    def __init__(
        self, card: GPU, kernels: Sequence[Compiled], *, n: int, head_dim: int, causal: bool,
        **more: Any,
    ) -> None:  # fmt: skip
        self.kernels = tuple(kernels)
        archs = {f"sm_{row.capability}" for row in self.kernels}
        dims = sorted({row.head_dim for row in self.kernels if f"sm_{row.capability}" == card.arch})
        if head_dim not in dims:
            names = ", ".join(k for k, each in GPUS.items() if each.arch in archs)
            raise ArgumentError(
                "gpu, head_dim",
                expected=f"{names}; head_dim {' | '.join(map(str, dims)) or '64 | 128'}",
                got=f"{card.key} ({card.arch}), {head_dim}",
                hint="python tests/kernels/compile_grid.py",
            )
        shown = dict.fromkeys([card.key, *_GPUS])
        self.cards = {key: GPUS.get(key, card) for key in shown
                      if GPUS.get(key, card).arch in archs}  # fmt: skip
        super().__init__(**more)
        self.settings = {
            "gpu": card.key, "n": n, "d": head_dim, "causal": causal, "metric": "programs",
            "tile": None, "at": -1, "player": False, "load": "", "loaded": "",
        }  # fmt: skip
        words = both({**SHELL, **UI})
        with using(self.lang):
            self.error = _objection(n)
        if self.error:
            self.head = {"words": words}
            return
        layout, self.blob = pack(_columns(self.kernels))
        made = compiled_provenance()
        self.head = {
            "layout": layout, "words": words, "path": PATH, "itemsize": 2,
            "standardTile": STANDARD_TILE,
            "lengths": sorted({*_LENGTHS, n}), "dims": dims,
            "blocks": sorted({side for row in self.kernels for side in (row.block_m, row.block_n)}),
            "made": {"version": made.versions["triton"], "date": made.date, "length": compiled_length()},
            "gpus": [_named(each) for each in self.cards.values()],
        }  # fmt: skip

    @property
    def gpu(self) -> GPU:
        """The GPU on show."""
        return self.cards[self.settings["gpu"]]

    @property
    def last(self) -> int:
        return len(PATH) - 1

    @property
    def problem(self) -> AttentionProblem:
        """The problem on show: one head, fp16."""
        s = self.settings
        return AttentionProblem(
            len_q=s["n"], len_k=s["n"], head_dim=s["d"], causal=bool(s["causal"])
        )

    @property
    def tile(self) -> TileShape:
        """The tile on show: the one that was clicked at this step, else the step's own."""
        if self.settings["tile"] and self.settings["at"] == self.step:
            return TileShape(*self.settings["tile"])
        _, m, n = PATH[self.step]
        if m:
            return TileShape(m, n)
        return next((row.tile for row in self._rows() if row.default), TileShape(128, 64))

    @property
    def row(self) -> Compiled | None:
        """The kernel of that tile, if it was compiled."""
        return next((row for row in self._rows() if row.tile == self.tile), None)

    @property
    def bills(self) -> dict[str, Traffic]:
        """The bytes of "standard" and "flash"."""
        return {
            "standard": standard_forward_traffic(
                self.problem, TileShape(STANDARD_TILE, STANDARD_TILE)
            ),
            "flash": flash_forward_traffic(self.problem, self.tile),
        }

    @property
    def intensity(self) -> float:
        """FLOPs per byte of Flash Attention with this tile."""
        return forward_flops(self.problem) / self.bills["flash"].total

    def _rows(self) -> list[Compiled]:
        s = self.settings
        wanted = (self.gpu.arch, s["d"], bool(s["causal"]))
        return [
            row for row in self.kernels
            if (f"sm_{row.capability}", row.head_dim, row.causal) == wanted
        ]  # fmt: skip

    def text(self) -> str:
        """A line a tile: shared memory, registers, spills, programs, FLOPs per byte."""
        if self.error:
            return self.error
        flops = forward_flops(self.problem)
        with using(self.lang):
            problem = self.problem
            lines = [f"{say(UI['title'])}: {self.gpu.name}, N = {problem.len_k:,}, "
                     f"D = {problem.head_dim}"]  # fmt: skip
            for row in self._rows():
                bill = flash_forward_traffic(problem, row.tile)
                head = (
                    f"{row.block_m:>4} × {row.block_n:<4} {plain(flops / bill.total):>6} FLOPs/B  "
                )
                if row.shared is None:
                    lines.append(head + f"{say(UI['toolarge'])} ({amount(row.bound)})")
                    continue
                spills = f", {say(UI['spilling'], s=row.spills)}" if row.spills else ""
                lines.append(head + f"{amount(row.shared)}, {row.registers} {say(UI['registers'])}, "
                             f"{row.programs_per_sm(self.gpu)} {say(UI['programs'])}{spills}")  # fmt: skip
        return "\n".join(lines)


def _objection(n: int) -> str:
    if n <= 0:
        return say(NOTHING, n=n)
    return say(TOO_LONG, n=n, most=LONGEST) if n > LONGEST else ""


def _columns(rows: Sequence[Compiled]) -> dict[str, Any]:
    """One entry a kernel; -1 where the launcher refuses the tile and there is none."""
    return {
        name: np.array([-1 if getattr(row, name) is None else getattr(row, name) for row in rows], "i4")
        for name in _COLUMNS
    }  # fmt: skip


def _named(card: GPU) -> dict[str, Any]:
    return {
        "key": card.key, "name": card.name, "capability": int(card.arch.removeprefix("sm_")),
        "bandwidth": card.hbm_bandwidth, "peak": card.peak("float16"), "sharedSm": card.shared_per_sm,
        "sharedBlock": card.shared_per_block, "registers": card.registers_per_sm, "warps": card.warps_per_sm,
    }  # fmt: skip
