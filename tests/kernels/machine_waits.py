"""Whether machine code gives a place in shared memory back while its own loads from there are on their way.

A load is issued and its result awaited where that is first used. Barriers and arrivals in between let
it pass: a warp can tell the copy engine "this tile is read" before it is. Rows that do not exist are
zeros which that engine writes at once, and so a tile of Q with such rows behind it lost some of its
own, in three calls of a hundred. The wait is in the upper word of an instruction, not in its text.
"""

from __future__ import annotations

import re

from machine_flow import linked

_LINE = re.compile(r"(\s+/\*[0-9a-f]+\*/\s+.*?;)(.*?)/\* 0x[0-9a-f]{16} \*/")
_UPPER = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
_CONTROL = re.compile(r"<sets (\d) waits (\d+)>")
_NONE = 7  # no scoreboard
_LOADS = ("LDS", "LDSM")
_IN_ORDER = (*_LOADS, "SHFL")  # of one pipe


def arrivals_beside_loads(code: str) -> list[str]:
    """Arrivals at an mbarrier that some path reaches with a load from shared memory under way.

    Args:
        code: what `nvdisasm -c -hex` prints.
    """
    blocks = linked(_with_control(code))
    before: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for other in block.after:
            before[other].append(number)
    ends: list[frozenset[tuple[int, str]]] = [frozenset() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(blocks):
            flying = frozenset[tuple[int, str]]().union(*(ends[other] for other in before[number]))
            end, _ = _through(block.lines, flying)
            if end != ends[number]:
                ends[number], changed = end, True
    return [
        line
        for number, block in enumerate(blocks)
        for line in _through(
            block.lines, frozenset[tuple[int, str]]().union(*(ends[o] for o in before[number]))
        )[1]
    ]


def _through(
    lines: list[tuple[str, str]], start: frozenset[tuple[int, str]]
) -> tuple[frozenset[tuple[int, str]], list[str]]:
    """(loads under way at the end: scoreboard and address; arrivals beside any)."""
    flying, wrong = set(start), []
    for address, text in lines:
        found = _CONTROL.search(text)
        assert found, text
        sets, waits = int(found[1]), int(found[2])
        flying = {(board, at) for board, at in flying if board == _NONE or not waits >> board & 1}
        operation = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]
        if operation.startswith("DEPBAR"):
            drained = re.search(r"SB(\d), 0x0", text)
            flying = {(b, at) for b, at in flying if not drained or b != int(drained[1])}
        if operation.startswith("SYNCS.ARRIVE") and flying:
            wrong.append(f"{address}: {text} beside the load at {min(at for _, at in flying)}")
        if operation.split(".")[0] in _IN_ORDER:
            # one without a scoreboard is back before the next one that has
            flying = {(sets if board == _NONE else board, at) for board, at in flying}
        if operation.split(".")[0] in _LOADS:
            flying.add((sets, address))
    return frozenset(flying), wrong


def _with_control(code: str) -> str:
    """One line an instruction, with what its upper word says of scoreboards in place of the words."""
    lines = code.splitlines()
    out = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        found, upper = _LINE.match(line), _UPPER.match(following)
        if found and upper:
            control = int(upper[1], 16) >> 41
            out.append(
                f"{found[1]} {found[2].strip()} <sets {control >> 5 & 7} waits {control >> 11 & 63}>"
            )
        elif not _UPPER.match(line):
            out.append(line)
    return "\n".join(out)
