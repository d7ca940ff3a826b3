"""The Hopper forward with stamps in it, simulated: the same bits, and stamps in their order."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fa_toolkit.kernels import mode

pytest.importorskip("greenlet", reason="the simulator's actors are greenlets")
pytest.importorskip("triton.experimental.gluon.language", reason="no Gluon in this Triton")
if mode() != "interpreter":
    pytest.skip("kernels run on a GPU here, not in the simulator", allow_module_level=True)

from hopper_simulator_cases import pretended_gpu
from hopper_simulator_kernels import plant, simulate
from oracles import make_qkv

from fa_toolkit.bench import timeline
from fa_toolkit.bench.editing import load_edited
from fa_toolkit.bench.stamp_reading import Step, numbered, rows_of
from fa_toolkit.bench.stamps import REGION, STAMPED
from fa_toolkit.measured.timeline import CONSUMER, PRODUCER
from fa_toolkit.problem import AttentionProblem

PROGRAMS, GROUPS, TILES = 2, 2, 11
PROBLEM = AttentionProblem(1, 2, 2, 300, 128 * TILES - 28, 64, dtype="bfloat16")
Seen = list[list[list[Step]]]


@pytest.fixture(scope="module")
def ran() -> tuple[Any, Any, Seen]:
    """(o, lse) as shipped and with stamps, and the stamps."""
    q, k, v = make_qkv(PROBLEM)
    shipped = plant((), ["forward_call"])
    stamped = load_edited(timeline.PACKAGE, [timeline.DOOR], STAMPED, "stamped")
    simulate(stamped)
    launcher = timeline.handing_buffer(stamped[timeline.DOOR])
    launcher.buffer = timeline.stamp_buffer(PROGRAMS, GROUPS + 1, "cpu")
    config = shipped["configuration"].TWO
    assert config.groups == GROUPS
    outs = []
    with pretended_gpu(shipped | stamped, PROGRAMS):
        for modules in (shipped, stamped):
            forward = modules[timeline.DOOR].hopper_forward
            outs.append(forward(q, k, v, causal=False, config=config))
    return *outs, timeline.read(launcher.buffer, GROUPS + 1)


def test_stamps_change_no_bit(ran: tuple[Any, Any, Seen]) -> None:
    shipped, stamped, _ = ran
    for one, other in zip(shipped, stamped, strict=True):
        assert torch.equal(one.view(torch.int16), other.view(torch.int16))


def test_every_step_and_slot_has_its_stamps(ran: tuple[Any, Any, Seen]) -> None:
    _, _, seen = ran
    assert len(seen) == PROGRAMS
    rows = 2 * -(-PROBLEM.len_q // 128)  # tiles of rows of all heads
    for group in range(GROUPS):
        turns = [{step.turn for step in program[group]} for program in seen]
        assert sum(len(each) for each in turns) == rows
        # the scores of the first tile are made before the steps
        assert sum(len(program[group]) for program in seen) == rows * (TILES - 1)
    # one slot for each tile of keys, and one with the last values
    assert sum(len(program[GROUPS]) for program in seen) == rows * TILES + PROGRAMS
    for program in seen:
        for at, steps in enumerate(program):
            order = PRODUCER if at == GROUPS else CONSUMER
            assert all(tuple(step.clocks) == order for step in steps)
            clocks = [clock for step in steps for clock in step.clocks.values()]
            assert clocks == sorted(clocks)


def test_a_slot_is_stamped_full_before_its_products_and_empty_after_them(
    ran: tuple[Any, Any, Seen],
) -> None:
    """By the one clock of the simulator: numbers of slots and steps belong together."""
    _, _, seen = ran
    compared = 0
    for program in seen:
        *groups, producer = numbered(program)
        for group in groups:
            for slot, step in group.items():
                # the copy engine is done before the producer sees it, and the group maybe sooner
                assert producer[slot].clocks["asked"] < step.clocks["turn"]
                refilled = producer.get(slot + 3)  # of three slots
                if refilled is not None and slot + 1 in group:
                    assert step.clocks["values"] < refilled.clocks["empty"]
                    compared += 1
    assert compared > 50


def test_rows_of_a_run_come_out(ran: tuple[Any, Any, Seen]) -> None:
    rows = rows_of(PROBLEM, ran[2], plain_ms=1.0, stamped_ms=1.5)
    [row] = rows["timelines"]
    assert row.slowdown == 0.5 and row.programs == PROGRAMS
    # a group's turn comes after the other has passed it on; the simulator's barriers hold readings up
    assert row.skew["turn"] > 0
    roles = {each.role for each in rows["stamps"]}
    assert roles == {"producer", "group 0", "group 1"}


def test_no_stamp_is_written_past_the_end_of_a_region() -> None:
    """A region smaller than what a role has to say: the next one's beginning stays as it was."""
    small = 64
    edits = [
        type(edit)(edit.file, edit.pattern, edit.new.replace(f"{REGION - 1}", f"{small - 1}"))
        for edit in STAMPED
    ]
    assert edits != list(STAMPED)
    stamped = load_edited(timeline.PACKAGE, [timeline.DOOR], edits, "small")
    simulate(stamped)
    launcher = timeline.handing_buffer(stamped[timeline.DOOR])
    launcher.buffer = timeline.stamp_buffer(1, GROUPS + 1, "cpu")
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, 100, 700, 64, dtype="bfloat16"))
    with pretended_gpu(stamped, 1):
        stamped[timeline.DOOR].hopper_forward(
            q, k, v, causal=False, config=stamped["configuration"].TWO
        )
    regions = launcher.buffer.view(GROUPS + 1, REGION // 4)
    for region in regions:
        assert region[: small // 4].view(-1, 2)[:, 0].bool().all()
        assert not region[small // 4 :].any()
