"""Stamps as a run might give them, made up: for tests alone."""

from __future__ import annotations

from fa_toolkit.measured.timeline import Stamps, Timeline
from fa_toolkit.problem import AttentionProblem

PROBLEM = AttentionProblem(4, 16, 16, 4096, 4096, 128, dtype="bfloat16")
STEP, FIRST, TILES = 2400, 12, 8
TIMELINE = Timeline(
    PROBLEM, 0.2, 0.206, 132, 4000,
    {"turn": 300.0, "issued": 200.0, "scores": 700.0, "exponentials": 700.0, "filled": 20.0,
     "values": 40.0, "begun": 440.0, "step": 2400.0, "empty": 700.0, "asked": 40.0, "arrived": 900.0},
    {"turn": 3, "filled": 40}, 17,
)  # fmt: skip


def _events(names: str, begin: int, *clocks: int) -> dict[str, int]:
    return {name: begin + clock for name, clock in zip(names.split(), clocks, strict=True)}


def stamps() -> list[Stamps]:
    """Eight steps of two groups half a step apart, and copies a step ahead."""
    found = []
    for at in range(TILES):
        tile, begin = FIRST + at, at * STEP
        copy = _events("empty asked arrived", begin, 300, 340, 1240)
        found.append(Stamps(PROBLEM, "producer", tile + 1, copy))
        for group in range(2):
            step = _events(
                "begun turn issued scores exponentials filled values", begin + 1200 * group,
                0, 300, 500, 1200, 1900, 1920, 1960,
            )  # fmt: skip
            found.append(Stamps(PROBLEM, f"group {group}", tile, step))
    return found
