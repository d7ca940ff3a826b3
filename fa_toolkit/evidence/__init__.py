"""Every claim of the source article put to the test: `fa.evidence.S12()` says what was found.

A verdict is computed from what was run, modelled or recorded; nothing here states one. The claims
themselves are data, `quizzes/source/claims.yaml`, and the tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import blocks, bound, counting, keeping, levels, memory, speed, transfers
from .record import VERDICTS, Check, Evidence, Found
from .table import Shown, Standing, markdown, show, verdicts

S01 = speed.same_result_faster_smaller
S02 = speed.two_things
S03 = levels.on_and_off_the_chip
S04 = levels.size_of_sram
S05 = levels.what_does_not_fit
S06 = transfers.three_phases
S07 = transfers.six_transfers
S08 = transfers.two_transfers
S09 = blocks.only_local
S10 = blocks.the_row_of_four
S11 = blocks.multiply_not_subtract
S12 = blocks.exactly_the_global_softmax
S13 = counting.three_walks
S14 = counting.linear_softmax
S15 = counting.one_walk
S16 = memory.quadratic_to_linear
S17 = keeping.tile_by_tile
S18 = keeping.what_backward_keeps
S19 = speed.two_to_four_times
S20 = transfers.where_the_work_lives
S21 = levels.twenty_times
S22 = blocks.same_attention
S23 = memory.never_stored
S24 = bound.where_the_speed_comes_from

#: All of them by id, in the order of the article.
ALL: Mapping[str, Callable[[], Evidence]] = {
    name: value
    for name, value in sorted(globals().items())
    if name[0] == "S" and name[1:].isdigit()
}

__all__ = [
    "ALL",
    "VERDICTS",
    "Check",
    "Evidence",
    "Found",
    "Shown",
    "Standing",
    "markdown",
    "show",
    "verdicts",
    *ALL,
]
