"""What the traffic player is showing: sizes, the traced runs they began with, and the bills."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...errors import ArgumentError
from ...hardware import GPUS, gpu
from ...io_model import (
    Traffic,
    fa1_forward_traffic,
    flash_forward_traffic,
    forward_flops,
    modelled_time,
    standard_forward_traffic,
)
from ...language import Text, say, using
from ...problem import AttentionProblem, TileShape
from ...tiled import trace_flash_forward, trace_standard_forward
from ..numbers import amount, plain
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both
from ..tape import Tape, tape
from .words import UI

MOST_TILES = 1 << 12  # tile steps a browser walks through
TRACED_TILES = 1 << 8  # and so many are traced in Python before the first picture
DEFAULT_PROBLEM = AttentionProblem(len_q=512, len_k=512, head_dim=64)
DEFAULT_TILE = TileShape(128, 128)
_GPUS = ("a100-40", "a100-80", "h100-sxm", "rtx-4090", "t4", "v100", "mi300x", "b200", "l4")
_STEPS = {
    "n": (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192),
    "d": (8, 16, 32, 64, 128, 256),
    "m": (4, 8, 16, 32, 64, 128, 256),
    "k": (4, 8, 16, 32, 64, 128, 256),
}
#: The order of names in static/walk.js; a test holds both to it.
TENSORS = ("Q", "K", "V", "S", "P", "O", "lse", "m", "l")
_SQUARE = Text(
    "as many queries as keys, or one query, in one head without window",
    "query 与 key 一样多，或只有一个 query；单个头，不带窗口",
)
_EMPTY = Text("There is nothing to move: N = 0.", "没有可搬的：N = 0。")
_LARGE = Text(
    "{n:,} tiles would be walked, and at most {most:,} are: take larger tiles or a shorter sequence.",
    "要走 {n:,} 块，最多走 {most:,} 块：请用更大的块，或更短的序列。",
)


class TrafficState(PlayerState):
    """Sizes as the sliders have them (`settings`); `problem`, `tile` and the bills follow them."""

    def __init__(
        self, problem: AttentionProblem, tile: TileShape, *, gpu_name: str, detail: str, **more: Any
    ) -> None:
        self.dtype = problem.dtype
        self.tapes: tuple[Tape, Tape] | None = None
        super().__init__(**more)
        self.settings = {
            "n": problem.len_k, "d": problem.head_dim, "m": tile.block_m, "k": tile.block_n,
            "causal": problem.causal, "one": problem.len_q == 1 and problem.len_k != 1,
            "order": "fa2", "gpu": gpu(gpu_name).key, "detail": detail,
        }  # fmt: skip
        words = both({**SHELL, **UI})
        with using(self.lang):
            self.error = _objection(problem, tile)
        if self.error:
            self.head = {"words": words}
            return
        columns: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        if _tiles(problem, tile) <= TRACED_TILES:
            self.tapes = trace(problem, tile)
            for side, made in zip(("standard", "flash"), self.tapes, strict=True):
                columns |= {f"{side}_{name}": x for name, x in moves(made).items()}
            extra["traced"] = {
                "lenQ": problem.len_q, "lenK": problem.len_k, "d": problem.head_dim,
                "blockM": tile.block_m, "blockN": tile.block_n, "causal": problem.causal,
            }  # fmt: skip
            extra["phases"] = [made.phases for made in self.tapes]
        layout, self.blob = pack(columns)
        self.head = {
            "layout": layout, "words": words, "itemsize": problem.itemsize, "most": MOST_TILES,
            "choices": {name: sorted({*steps, self.settings[name]}) for name, steps in _STEPS.items()},
            "gpus": _gpus(self.settings["gpu"], problem.dtype), **extra,
        }  # fmt: skip

    @property
    def problem(self) -> AttentionProblem:
        """The problem the sliders stand at."""
        s = self.settings
        return AttentionProblem(
            len_q=1 if s["one"] else s["n"], len_k=s["n"], head_dim=s["d"], dtype=self.dtype,
            causal=bool(s["causal"]),
        )  # fmt: skip

    @property
    def tile(self) -> TileShape:
        """The tiles the sliders stand at."""
        return TileShape(self.settings["m"], self.settings["k"])

    @property
    def bills(self) -> dict[str, Traffic]:
        """The bytes of the whole runs on show, by the I/O model: "standard" and "flash"."""
        flash = fa1_forward_traffic if self.settings["order"] == "fa1" else flash_forward_traffic
        return {
            "standard": standard_forward_traffic(self.problem, self.tile),
            "flash": flash(self.problem, self.tile),
        }

    @property
    def last(self) -> int:
        """An upper bound: the browser counts the steps of the detail on show."""
        return 8 * MOST_TILES

    def text(self) -> str:
        """The two bills, tensor by tensor."""
        if self.error:
            return self.error
        card = GPUS[self.settings["gpu"]]
        problem, tile = self.problem, self.tile
        with using(self.lang):
            lines = [f"{say(UI['title'])}: N = {problem.len_k:,}, D = {problem.head_dim}, "
                     f"BLOCK_M = {tile.block_m}, BLOCK_N = {tile.block_n}"]  # fmt: skip
            for name, bill in self.bills.items():
                # eager code computes every score and masks afterwards
                computed = replace(problem, causal=problem.causal and name == "flash")
                time = modelled_time(bill, forward_flops(computed), card, problem.dtype)
                lines.append(f"{say(UI[name])}: {amount(bill.total)}; "
                             f"{say(UI['time'], gpu=card.name)}: {plain(time * 1e6)} µs")  # fmt: skip
                for tensor, (read, written) in bill.by_tensor.items():
                    lines.append(f"  {tensor:<4} {say(UI['read'])} {amount(read):>10}   "
                                 f"{say(UI['written'])} {amount(written):>10}")  # fmt: skip
        return "\n".join(lines)


def trace(problem: AttentionProblem, tile: TileShape) -> tuple[Tape, Tape]:
    """Both algorithms run on zeros and traced: (standard, flash)."""
    kind = getattr(torch, problem.dtype)
    q, k = (
        torch.zeros(1, 1, n, problem.head_dim, dtype=kind) for n in (problem.len_q, problem.len_k)
    )
    standard = trace_standard_forward(q, k, k, tile=tile, causal=problem.causal)
    flash = trace_flash_forward(q, k, k, tile=tile, causal=problem.causal)
    return tape(standard, values=False), tape(flash, values=False)


def moves(made: Tape) -> dict[str, np.ndarray[Any, Any]]:
    """The loads and stores of a tape as columns of the browser's walk."""
    kept = made.columns["kind"] != 2
    index = np.array([TENSORS.index(name) for name in made.tensors], "u1")
    columns = {
        name: made.columns[name][kept] for name in ("phase", "program", "kind", "box", "bytes")
    }
    return {**columns, "tensor": index[made.columns["tensor"][kept]]}


def check_problem(problem: AttentionProblem) -> AttentionProblem:
    """Refuse what the picture cannot show: several heads, a window, other lengths."""
    square = problem.len_q in (1, problem.len_k) and problem.head_dim == problem.head_dim_v
    if problem.batch * problem.heads_q > 1 or problem.window is not None or not square:
        raise ArgumentError("problem", expected=_SQUARE, got=repr(problem))
    return problem


def _tiles(problem: AttentionProblem, tile: TileShape) -> int:
    return -(-problem.len_q // tile.block_m) * -(-problem.len_k // tile.block_n)


def _objection(problem: AttentionProblem, tile: TileShape) -> str:
    """Why a problem is not played, in one line; "" if it is."""
    count = _tiles(problem, tile)
    if count == 0:
        return say(_EMPTY)
    return say(_LARGE, n=count, most=MOST_TILES) if count > MOST_TILES else ""


def _gpus(chosen: str, dtype: str) -> list[dict[str, Any]]:
    """GPUs whose bandwidth and peak rate for the dtype are known, the chosen one first."""
    rows = []
    for key in dict.fromkeys([chosen, *(key for key in _GPUS if key in GPUS)]):
        card = GPUS[key]
        if card.hbm_bandwidth and dtype in card.peak_flops:
            rows.append({"key": key, "name": card.name, "bandwidth": card.hbm_bandwidth,
                         "flops": card.peak(dtype)})  # fmt: skip
    return rows
