"""Stamps of a kernel are read as steps, and their medians are those one works out by hand."""

from __future__ import annotations

import pytest
from made_up_timeline import PROBLEM

from fa_toolkit.bench.editing import edited, sources_of
from fa_toolkit.bench.stamp_reading import SHOWN, Step, numbered, rows_of, since, steps_of
from fa_toolkit.bench.stamps import EVENTS, REGION, ROWS, STAMPED
from fa_toolkit.bench.timeline import DOOR, PACKAGE, stamp_buffer
from fa_toolkit.errors import ArgumentError
from fa_toolkit.measured.timeline import CONSUMER, PRODUCER

Words = list[tuple[int, int]]


def _words(order: tuple[str, ...], begin: int, *clocks: int) -> Words:
    """As the kernel writes them: the clock's 32 bits as a signed number."""
    found = []
    for name, clock in zip(order, clocks, strict=True):
        low = (begin + clock) % 2**32
        found.append((EVENTS[name], low - 2**32 * (low >= 2**31)))
    return found


def _program(start: int, steps: int = 12, turns: int = 2, pace: int = 1000) -> list[Words]:
    """Two groups half a step apart and a producer a step ahead, from clock `start` on."""
    groups: list[Words] = [[], []]
    producer: Words = []
    for turn in range(turns):
        for at in range(steps + 1):
            begin = start + (turn * (steps + 1) + at) * pace
            producer += _words(PRODUCER, begin - pace, 0, 10, 400)
            for n, group in enumerate(groups):
                if at == 0:
                    group.append((EVENTS[ROWS], 5))
                else:
                    group += _words(
                        CONSUMER, begin + n * pace // 2, 0, 100, 150, 400, 700, 710, 720
                    )
    return [*groups, producer]


def _seen(start: int, **sizes: int) -> list[list[Step]]:
    return [steps_of(words) for words in _program(start, **sizes)]


def test_every_edit_finds_its_place() -> None:
    sources = sources_of(PACKAGE, [DOOR])
    changed = edited(STAMPED, sources, "stamped")
    assert {"forward", "forward_consumer", "forward_producer", "forward_steps"} <= set(changed)
    for name, source in changed.items():
        compile(source, name, "exec")
    stamped = "".join(changed.values())
    counts = {name: stamped.count(f"stamp(at, {number})") for name, number in EVENTS.items()}
    # both ways in which a step can be put together issue products
    assert counts == dict.fromkeys(EVENTS, 1) | {"issued": 2}


def test_words_are_steps_in_their_rows_and_slots() -> None:
    groups = _seen(0)
    assert [(s.turn, s.tile) for s in groups[0]] == [(t, n) for t in (0, 1) for n in range(1, 13)]
    first, second, producer = numbered(groups)
    assert list(first) == list(second) == [*range(1, 13), *range(14, 26)]
    assert list(producer) == list(range(26))
    assert since(first[14].clocks["begun"], producer[14].clocks["empty"]) == 1000


def test_what_the_end_of_a_region_cut_off_is_left_out() -> None:
    words = _program(0)[0]
    assert steps_of([*words[:-3], (0, 0), (0, 0)]) == steps_of(words)[:-1]


@pytest.mark.parametrize("at", [1, 4])
def test_events_out_of_order_are_an_error(at: int) -> None:
    words = _program(0)[0]
    del words[at]
    with pytest.raises(ValueError, match="out of order"):
        steps_of(words)


@pytest.mark.parametrize("start", [10_000, 2**31 - 6_000, 2**32 - 6_000])
def test_medians_and_the_steps_shown(start: int) -> None:
    """The same wherever the clock's bits turn over."""
    usual, slow = _seen(start), _seen(start, pace=1300)
    rows = rows_of(PROBLEM, [slow, usual, usual], plain_ms=2.0, stamped_ms=2.1)
    [row] = rows["timelines"]
    assert row.program == 1 and row.programs == 3
    assert row.steps == 3 * 2 * 2 * 11
    assert row.clocks == {
        "turn": 100, "issued": 50, "scores": 250, "exponentials": 300, "filled": 10, "values": 10,
        "begun": 280, "step": 1000, "asked": 10, "arrived": 390, "empty": 600,
    }  # fmt: skip
    # group 1 has its turn at 600, group 0 issued at 150; filled 710, the slot after arrived at 400
    assert row.skew == {"turn": 450, "filled": 310}
    assert row.slowdown == pytest.approx(0.05)
    groups = [each for each in rows["stamps"] if each.role == "group 0"]
    assert [each.tile for each in groups] == list(range(3, 3 + SHOWN))
    assert groups[0].clocks["begun"] == 0 and groups[1].clocks["turn"] == 1100
    [copy] = [e for e in rows["stamps"] if e.role == "producer" and e.tile == 5]
    # tile 3 begins at 0, so tile 5's copy was asked for at 2000 - 1000 + 10
    assert copy.clocks["asked"] == 1010


def test_too_few_tiles_are_told() -> None:
    with pytest.raises(ArgumentError, match="--lengths 4096"):
        rows_of(PROBLEM, [_seen(0, steps=5)], plain_ms=1.0, stamped_ms=1.0)


def test_a_region_begins_at_a_multiple_of_its_size() -> None:
    buffer = stamp_buffer(3, 2, "cpu")
    assert buffer.data_ptr() % REGION == 0
    assert buffer.numel() * buffer.element_size() == 3 * 2 * REGION
    assert not buffer.any()
