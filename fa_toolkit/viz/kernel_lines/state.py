"""What the kernel view is showing: one or two recordings, the source, the cut. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...language import using
from ..palette import TENSORS, variable
from ..player.columns import pack
from ..player.state import PlayerState
from ..player.words import SHELL, both
from .frames import CUTS, Cut, Recorded, Reel, reel
from .listing import functions, shown_lines
from .sentences import sentence
from .words import SAYS, UI


class KernelState(PlayerState):
    """Recordings as reels, side by side on one clock of steps. `settings["cut"]` says what a step is."""

    def __init__(
        self,
        recordings: Sequence[Recorded],
        source: str,
        *,
        names: Sequence[str],
        first_line: int = 1,
        kernel: str | None = None,
        at: tuple[int, ...] | None = None,
        cut: str = "labels",
        start: str | None = None,
        **more: Any,
    ) -> None:
        self.reels: list[Reel] = [reel(one, kernel=kernel, at=at) for one in recordings]
        ran = {int(line) for made in self.reels for line in made.columns["line"]}
        spans = functions(source, first_line, ran)
        self.source = shown_lines(source, first_line, spans)
        self.code = dict(self.source)
        self.names = list(names)
        super().__init__(**more)
        self.settings = {"cut": check_cut(cut)}
        words = {**SHELL, **UI, **{f"say_{name}": text for name, text in SAYS.items()}}
        columns: dict[str, Any] = {}
        for side, made in zip("ab", self.reels, strict=False):
            columns |= {f"{side}_{name}": column for name, column in made.columns.items()}
            columns |= {f"{side}_{cut}": stops for cut, stops in made.cuts.items()}
        layout, self.blob = pack(columns)
        self.head = {
            "layout": layout, "words": both(words), "cuts": list(CUTS), "source": self.source,
            "reels": [_table(made, name) for made, name in zip(self.reels, self.names, strict=True)],
        }  # fmt: skip
        if start is not None:
            self.step = self.first(start)

    @property
    def cut(self) -> Cut:
        """What a step is: "programs", "labels" or "lines"."""
        chosen: Cut = self.settings.get("cut", "labels")
        return chosen

    @property
    def last(self) -> int:
        return max(len(made.cuts[self.cut]) for made in self.reels) - 1

    def first(self, label: str) -> int:
        """The first step of a labelled part, such as "update".

        Raises:
            ArgumentError: if no line of that part ran.
        """
        made = self.reels[0]
        if not label or label not in made.labels:
            known = " | ".join(filter(None, made.labels))
            raise ArgumentError("start", expected=known, got=repr(label))
        lines, stops = made.columns["label"] == made.labels.index(label), made.cuts[self.cut]
        called = lines[stops[1:] - 1]  # a step is called after its last line
        if called.any():
            return 1 + int(called.argmax())
        return int(np.searchsorted(stops, int(lines.argmax()), side="right"))

    def leader(self, step: int) -> Reel:
        """The recording a step's sentence is about: the first that has not ended."""
        going = [made for made in self.reels if step < len(made.cuts[self.cut])]
        return going[0] if going else self.reels[0]

    def caption(self, step: int | None = None) -> str:
        """The sentence of a step, in the language on show, without marks."""
        number = self.step if step is None else step
        with using(self.lang):
            return sentence(self.leader(number), self.cut, number, self.code).replace("*", "")

    def text(self) -> str:
        """Every step in words; of a long run its beginning and its end."""
        with using(self.lang):
            title = str(self.head["words"][self.lang]["title"])
        lines = [f"{title}: {self.reels[0].kernel}"]
        count = self.last + 1
        shown = range(count) if count <= 40 else [*range(20), *range(count - 20, count)]
        return "\n".join([*lines, *(f"{step + 1:>4}  {self.caption(step)}" for step in shown)])


def check_cut(cut: str) -> str:
    """Refuse a cut that does not exist."""
    if cut not in CUTS:
        raise ArgumentError("cut", expected=" | ".join(CUTS), got=repr(cut))
    return cut


def ink(argument: str) -> str:
    """The palette's name for a kernel's argument: its letter where it has one.

    Example:
        >>> ink("k_ptr"), ink("dq_ptr"), ink("lse_ptr"), ink("out_ptr"), ink("x_ptr")
        ('k', 'q', 'stat', 'o', 's')
    """
    letter = argument.removesuffix("_ptr").removesuffix("_cache").lower()
    letter = variable(letter).removeprefix("--fa-")  # kin share a colour: dQ is Q's
    if letter in TENSORS:
        return letter
    return "o" if letter.startswith(("out", "c", "y_")) else "s"


def _table(made: Reel, name: str) -> dict[str, Any]:
    read, written = made.moved
    return {
        "name": name, "kernel": made.kernel, "programs": made.programs, "labels": made.labels,
        "read": read, "written": written,
        "plates": [
            {"name": p.name, "rows": p.rows, "cols": p.cols, "stored": p.stored, "ink": ink(p.name),
             "axes": p.axes}
            for p in made.plates
        ],
    }  # fmt: skip
