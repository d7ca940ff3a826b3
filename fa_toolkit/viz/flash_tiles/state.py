"""What the tile player is showing: a tape, cut into steps, and everything the browser needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...errors import ArgumentError
from ...hardware import GPUS, gpu
from ...io_model import (
    backward_footprint,
    flash_extra_memory,
    forward_footprint,
    standard_backward_traffic,
    standard_extra_memory,
    standard_forward_traffic,
    visited_tiles,
)
from ...language import Text, check, current, say, using
from ...problem import AttentionProblem, TileShape, column_tiles, row_tiles, tile_kind
from ...tiled import flash_forward, trace_flash_backward, trace_flash_forward
from ..numbers import amount
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both, filled
from ..tape import MOST_VALUES, Tape, Traced, tape
from .frames import CUTS, Frame, frames, wire
from .words import SAYS, TITLES, UI

MOST_TILES = 1 << 13  # tile steps of one player
#: GPUs to choose from: one of each memory size a reader is likely to have.
_GPUS = ("h100-sxm", "a100-80", "rtx-4090", "t4", "mi300x", "b200", "l4", "v100")
DEFAULT_PROBLEM = AttentionProblem(len_q=16, len_k=16, head_dim=8, causal=True)
DEFAULT_TILE = TileShape(4, 4)
_KINDS = {"full": 0, "edge": 1, "skipped": 2}
_TOO_MANY = Text(
    "{n:,} tiles would be played, and at most {most:,} are: take larger tiles or a shorter sequence.",
    "要播放 {n:,} 块，最多播放 {most:,} 块：请用更大的块，或更短的序列。",
)
_EMPTY = Text(
    "There is nothing to play: {q:,} queries and {k:,} keys.",
    "没有可播放的内容：{q:,} 个 query，{k:,} 个 key。",
)
_HEAD = Text("head {h} of batch {b}", "batch {b} 的头 {h}")


class TileState(PlayerState):
    """A traced run and its steps by tile and by operation. `tape` and `cuts` are what is shown."""

    def __init__(
        self,
        trace: Traced | None,
        *,
        head: tuple[int, int] = (0, 0),
        gpu_name: str = "h100",
        detail: str = "tiles",
        error: str = "",
        **more: Any,
    ) -> None:
        self.tape: Tape | None = None
        self.cuts: dict[str, list[Frame]] = {}
        super().__init__(**more)
        self.settings = {"gpu": gpu(gpu_name).key, "detail": detail}
        self.error = error
        words = {**SHELL, **UI, **{f"say_{name}": text for name, text in SAYS.items()}}
        if trace is None:
            self.head = {"words": both({**words, "title": TITLES["flash_forward"]})}
            return
        self.tape = made = tape(trace, head=head)
        self.cuts = {cut: frames(made, cut) for cut in CUTS}
        words["title"] = TITLES[made.algorithm]
        problem = made.problem
        if problem.batch * problem.heads_q > 1:
            words["which"] = Text(*(part.format(b=head[0], h=head[1]) for part in _HEAD))
        says = list(SAYS)
        columns = {**made.columns, "kinds": _kinds(made)}
        for cut, shown in self.cuts.items():
            columns |= {f"{cut}_{name}": column for name, column in wire(shown, says).items()}
        layout, blob = pack(columns)
        self.blob = blob
        self.head = {
            **made.names_table(), **_around(made), "layout": layout, "says": says,
            "words": both(words), "wanted": made.wanted, "most": MOST_VALUES,
            "gpus": _gpus(made, self.settings["gpu"]),
        }  # fmt: skip

    @property
    def frames(self) -> list[Frame]:
        """The steps of the cut on show."""
        return self.cuts.get(self.settings.get("detail", "tiles"), [])

    @property
    def last(self) -> int:
        return len(self.frames) - 1

    def caption(self, step: int | None = None) -> str:
        """The sentence of a step, in the language on show, without marks."""
        frame = self.frames[self.step if step is None else step]
        with using(self.lang):
            return filled(say(SAYS[frame.say]), frame.numbers).replace("*", "")

    def text(self) -> str:
        """Every step in words; of a long run its beginning and its end."""
        with using(self.lang):
            if self.tape is None:
                return self.error
            lines = [say(TITLES[self.tape.algorithm])]
            moved = [0, *self.tape.moved().sum(axis=1).tolist()]
        shown = range(len(self.frames))
        for number in shown if len(shown) <= 40 else [*shown[:20], *shown[-20:]]:
            stop = self.frames[number].stop
            lines.append(f"{number + 1:>4}  {self.caption(number)}  [{amount(moved[stop])}]")
        return "\n".join(lines)


def traced(
    problem: AttentionProblem, tile: TileShape, *, backward: bool, seed: int
) -> tuple[Traced | None, str]:
    """A run of `tiled` on random numbers, or None and the reason in one line."""
    count = visited_tiles(problem, tile) * (2 if backward else 1)
    if count == 0:
        return None, say(_EMPTY, q=problem.len_q, k=problem.len_k)
    if count > MOST_TILES:
        return None, say(_TOO_MANY, n=count, most=MOST_TILES)
    one = AttentionProblem(
        len_q=problem.len_q, len_k=problem.len_k, head_dim=problem.head_dim,
        head_dim_v=problem.head_dim_v, dtype=problem.dtype, causal=problem.causal,
        window=problem.window,
    )  # fmt: skip
    draw = torch.Generator().manual_seed(seed)

    def random(rows: int, width: int) -> torch.Tensor:
        return torch.randn(1, 1, rows, width, generator=draw).to(getattr(torch, one.dtype))

    q = random(one.len_q, one.head_dim) * 1.6  # so that some rows find a much larger score
    k, v = random(one.len_k, one.head_dim), random(one.len_k, one.head_dim_v)
    mask: dict[str, Any] = {"causal": one.causal, "window": one.window}
    numbers = count * tile.block_m * tile.block_n
    keep = numbers <= MOST_VALUES  # scores alone; the tape counts the rest
    if not backward:
        return trace_flash_forward(q, k, v, tile=tile, keep_values=keep, **mask), ""
    o, lse = flash_forward(q, k, v, tile=tile, **mask)
    do = random(one.len_q, one.head_dim_v)
    return trace_flash_backward(q, k, v, o, lse, do, tile=tile, keep_values=keep, **mask), ""


def check_lang(lang: str | None) -> str:
    """The language a player begins in."""
    return current() if lang is None else check(lang)


def check_detail(detail: str) -> str:
    """Refuse a cut that does not exist."""
    if detail not in CUTS:
        raise ArgumentError("detail", expected=" | ".join(CUTS), got=repr(detail))
    return detail


def _kinds(made: Tape) -> np.ndarray[Any, Any]:
    """0 full, 1 masked at the edge, 2 skipped: every tile, row by row."""
    problem, tile = made.problem, made.tile
    if made.algorithm == "decode":
        return _visited(made)
    return np.array(
        [
            _KINDS[tile_kind(problem, *rows, *cols)]
            for rows in row_tiles(problem, tile)
            for cols in column_tiles(problem, tile)
        ],
        "u1",
    )


def _visited(made: Tape) -> np.ndarray[Any, Any]:
    """The kinds of a decode tape, whose lengths are the cache's: what was worked on, and masked."""
    shape = [-(-n // block) for n, block in
             ((made.rows, made.tile.block_m), (made.keys, made.tile.block_n))]  # fmt: skip
    kinds, c = np.full(shape, _KINDS["skipped"], "u1"), made.columns
    row = 0
    for event in range(len(made)):
        name = made.tensors[c["tensor"][event]] if c["kind"][event] != 2 else ""
        box = c["box"][event]
        row = int(box[0]) // made.tile.block_m if name == "Q" else row
        if name == "K":
            kinds[row, int(box[0]) // made.tile.block_n] = _KINDS["full"]
        elif not name and made.steps[c["step"][event]] == "mask":
            kinds[row, int(box[2]) // made.tile.block_n] = _KINDS["edge"]
    return kinds.ravel()


def _around(made: Tape) -> dict[str, Any]:
    """What surrounds the steps: footprint, whole bills, shapes of full tiles. For one head."""
    problem, tile = made.problem, made.tile
    one = AttentionProblem(
        len_q=made.rows, len_k=made.keys, head_dim=problem.head_dim,
        head_dim_v=problem.head_dim_v, dtype=problem.dtype, causal=problem.causal,
        window=problem.window,
    )  # fmt: skip
    backward = made.algorithm == "flash_backward"
    parts = 4 * made.rows * made.splits * (problem.head_dim_v + 1) if made.splits > 1 else 0
    needs = (backward_footprint if backward else forward_footprint)(one, tile)
    bill = (standard_backward_traffic if backward else standard_forward_traffic)(one, tile)
    m, n, d, dv = tile.block_m, tile.block_n, problem.head_dim, problem.head_dim_v
    m, n = min(m, made.rows), min(n, made.keys)
    score, column = (m, n), (m, 1)
    return {
        "footprint": {"shared": needs.shared, "registers": needs.registers},
        "standard": {"bytes": bill.total, "extra": standard_extra_memory(one, training=backward)},
        "flash": {"bytes": int(made.moved()[-1].sum()) if len(made) else 0,
                  "extra": flash_extra_memory(one, training=backward) + parts},
        "splits": made.splits,
        "shapes": {
            "q": (m, d), "k": (n, d), "v": (n, dv), "s": score, "p": score, "dp": score, "ds": score,
            "acc": (m, dv), "o": (m, dv), "do": (m, dv), "dq": (m, d), "dk": (n, d), "dv": (n, dv),
            "m": column, "l": column, "alpha": column, "lse": column, "delta": column,
        },
    }  # fmt: skip


def _gpus(made: Tape, chosen: str) -> list[dict[str, Any]]:
    """GPUs to hold the tiles against, the chosen one first."""
    backward = made.algorithm == "flash_backward"
    needs = (backward_footprint if backward else forward_footprint)(made.problem, made.tile)
    rows = []
    for key in dict.fromkeys([chosen, *(key for key in _GPUS if key in GPUS)]):
        card = GPUS[key]
        if card.shared_per_block is None or card.registers_per_sm is None:
            continue
        fit = needs.fit(card) if card.shared_per_sm is not None else None
        rows.append({"key": key, "name": card.name, "shared": card.shared_per_block,
                     "registers": card.registers_per_sm, "programs": fit.blocks_per_sm if fit else 0})  # fmt: skip
    return rows
