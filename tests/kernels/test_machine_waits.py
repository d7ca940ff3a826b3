"""The reader of machine code finds an arrival that a load from shared memory may still be behind."""

from __future__ import annotations

import pytest
from machine_waits import arrivals_beside_loads

ARRIVAL = "@!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR13+0x30148], RZ"
FIRST = "LDSM.16.M88.4 R184, [R8+0x24000]"
SECOND = "LDSM.16.M88.4 R188, [R8+0x26000]"
USE = "PRMT R221, R185, 0x5410, R186"
NONE = 7


def code(*lines: tuple[str, int, int] | str) -> str:
    """(text, scoreboard it sets or NONE, mask of those it waits for), or a label, as the tool prints."""
    out = []
    for number, line in enumerate(lines):
        if isinstance(line, str):
            out.append(f"{line}:")
            continue
        text, sets, waits = line
        upper = (waits << 11 | NONE << 8 | sets << 5 | 1) << 41
        out.append(f"        /*{16 * number:04x}*/    {text} ;    /* 0x0000000004047984 */")
        out.append(f"{' ' * 60}/* 0x{upper:016x} */")
    return "\n".join(out)


def test_nothing_waits_for_the_load() -> None:
    (found,) = arrivals_beside_loads(
        code((FIRST, 1, 0), ("BAR.SYNC.DEFER_BLOCKING 0x2, 0x80", NONE, 0), (ARRIVAL, NONE, 0))
    )
    assert found.startswith("0020: @!P0 SYNCS.ARRIVE") and found.endswith("the load at 0000")


@pytest.mark.parametrize("waiting", [(USE, NONE, 2), ("DEPBAR.LE SB1, 0x0", NONE, 0)])
def test_the_load_is_awaited(waiting: tuple[str, int, int]) -> None:
    assert arrivals_beside_loads(code((FIRST, 1, 0), waiting, (ARRIVAL, NONE, 0))) == []
    assert arrivals_beside_loads(code((FIRST, 1, 0), (ARRIVAL, NONE, 2))) == []


def test_another_load_is_awaited() -> None:
    assert arrivals_beside_loads(code((FIRST, 1, 0), (USE, NONE, 4), (ARRIVAL, NONE, 0)))


def test_one_scoreboard_for_two_loads() -> None:
    loads = ((FIRST, NONE, 0), (SECOND, 3, 0))
    assert arrivals_beside_loads(code(*loads, (USE, NONE, 8), (ARRIVAL, NONE, 0))) == []
    assert len(arrivals_beside_loads(code(*loads, (USE, NONE, 2), (ARRIVAL, NONE, 0)))) == 1


def test_a_shuffle_behind_the_load_is_awaited() -> None:
    """Shuffles and loads of a warp come back in their order."""
    shuffle = ("SHFL.BFLY PT, R3, R2, 0x2, 0x1f", 1, 0)
    assert (
        arrivals_beside_loads(code((FIRST, NONE, 0), shuffle, (USE, NONE, 2), (ARRIVAL, NONE, 0)))
        == []
    )
    assert arrivals_beside_loads(code((FIRST, NONE, 0), shuffle, (ARRIVAL, NONE, 0)))
    assert arrivals_beside_loads(
        code(shuffle, (FIRST, NONE, 0), (USE, NONE, 2), (ARRIVAL, NONE, 0))
    )


def test_on_one_path_alone() -> None:
    lines = (
        (FIRST, 1, 0),
        ("@P1 BRA `(.L_x_1)", NONE, 0),
        (USE, NONE, 2),
        ".L_x_1",
        (ARRIVAL, NONE, 0),
    )
    assert len(arrivals_beside_loads(code(*lines))) == 1
    waits = (lines[0], (lines[1][0], NONE, 2), *lines[2:])
    assert arrivals_beside_loads(code(*waits)) == []


def test_other_loads_do_not_matter() -> None:
    assert arrivals_beside_loads(code(("LDG.E R4, [R2.64]", 1, 0), (ARRIVAL, NONE, 0))) == []
