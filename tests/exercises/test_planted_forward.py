"""The planted bugs of chapters 01 to 06: how many, how they are caught, and the faults as given."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, io_model, kernels
from fa_toolkit.exercises import counted
from fa_toolkit.exercises.calling import Local
from fa_toolkit.exercises.checker import judge
from fa_toolkit.problem import AttentionProblem, TileShape

MINE = [x for x in exercises.ids() if "01" <= x[:2] <= "06"]
TILED = [
    "04.forward", "04.square", "04.causal", "04.fix_running_max", "04.fix_dead_rows",
    "04.fix_mask_value", "04.lean", "06.loop", "06.ragged", "06.fix_diagonal", "06.fix_base",
    "06.forward",
]  # fmt: skip
FIXES = [x for x in MINE if ".fix_" in x]
LEAN = [x for x in MINE if x.endswith(".lean")]
#: Many bugs: test_evaluate takes some of them, `python -m fa_toolkit.exercises.evaluate` all.
LONG = ("04.forward", "04.square", "04.causal", "06.forward")


def needs(exercise_id: str) -> None:
    if exercises.get(exercise_id).needs_triton and kernels.mode() == "none":
        pytest.skip("Triton cannot run here")


def report_of(exercise_id: str, fn: Any) -> Any:
    exercise = exercises.get(exercise_id)
    return judge(exercise, Local(exercise, fn))


def test_there_are_enough() -> None:
    assert len(MINE) - len(FIXES) - len(LEAN) >= 24
    assert len(FIXES) >= 8 and len(LEAN) >= 4
    assert {x[:2] for x in FIXES} == {"03", "04", "05", "06"}
    planted = {x: len(exercises.get(x).variants) for x in MINE}
    assert sum(planted.values()) >= 60
    assert sum(planted[x] for x in TILED) >= 12
    assert min(planted[x] for x in (*FIXES, *LEAN)) >= 3
    for name in MINE:
        bugs = [v.id for v in exercises.get(name).variants]
        assert len(set(bugs)) == len(bugs), name


@pytest.mark.parametrize(
    "exercise_id",
    [x for x in TILED if x not in LONG],
)
def test_every_form_of_every_bug_is_caught_and_named(exercise_id: str) -> None:
    needs(exercise_id)
    exercise = exercises.get(exercise_id)
    for variant in exercise.variants:
        for fn in (variant.fn, *variant.also):
            report = report_of(exercise_id, fn)
            assert report.outcome == "not yet", variant.id
            assert set(report.failed) - {"own-work"}, variant.id
            assert variant.id in [found.id for found in report.diagnosis[:2]], str(report)


def _given(exercise_id: str, folder: Path) -> Any:
    """The stub with its first line of work done: the `raise` is gone, the fault is not."""
    from fa_toolkit.exercises.triton_names import tl, triton

    lines = exercises.stub(exercise_id).splitlines()
    kept = [line for line in lines if "raise NotImplementedError" not in line]
    assert len(kept) == len(lines) - 1
    file = folder / "given.py"
    file.write_text("\n".join(kept))
    names: dict[str, Any] = {"torch": torch, "math": math, "tl": tl, "triton": triton}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names[exercises.get(exercise_id).entry]


#: What a reader who only removes the `raise` is told; "" where it stops with an error instead.
NAMED = {
    "03.fix_pivot": "zero-carried",
    "04.fix_running_max": "block-maximum",
    "04.fix_dead_rows": "inf-minus-inf",
    "04.fix_mask_value": "finite-mask",
    "05.fix_width": "",
    "05.fix_strides": "edit-stride",  # says the same, with the line
    "06.fix_diagonal": "top-left",
    "06.fix_base": "given",
}


@pytest.mark.parametrize("exercise_id", FIXES)
def test_a_fault_as_given_is_caught_and_named(exercise_id: str, tmp_path: Path) -> None:
    needs(exercise_id)
    report = report_of(exercise_id, _given(exercise_id, tmp_path))
    assert report.outcome == "not yet"
    if NAMED[exercise_id]:
        assert report.diagnosis[0].id == NAMED[exercise_id], str(report)
    else:
        assert "power of 2" in str(report)


@pytest.mark.parametrize("exercise_id", LEAN)
def test_what_moves_too_much_is_right_in_everything_else(exercise_id: str, tmp_path: Path) -> None:
    needs(exercise_id)
    report = report_of(exercise_id, _given(exercise_id, tmp_path))
    assert report.outcome == "not yet" and "bytes" in report.failed
    notes = [str(f.note) for f in report.findings if f.status == "failed"]
    assert all("bytes moved" in note for note in notes), str(report)
    assert report.diagnosis[0].id == exercises.get(exercise_id).variants[0].id


@pytest.mark.parametrize("exercise_id", LEAN)
def test_a_passing_report_says_bytes_and_target(exercise_id: str) -> None:
    needs(exercise_id)
    report = report_of(exercise_id, exercises.solution(exercise_id))
    assert report.outcome == "passed"
    assert "bytes moved" in str(report) and "are enough" in str(report)


def test_targets_are_those_of_the_io_model() -> None:
    exercise = exercises.get("04.lean")
    hbm, block = exercise.cases[1].make()
    n, d = hbm.shape("Q")
    problem = AttentionProblem(len_q=n, len_k=n, head_dim=d, dtype="float32")
    traffic = io_model.flash_forward_traffic(problem, TileShape(block, block))
    exercises.solution("04.lean")(hbm, block)
    assert hbm.ledger.total == traffic.total == exercise.reference(hbm, block)[-1]
    assert (hbm.ledger.reads, hbm.ledger.writes) == (traffic.reads, traffic.writes)


def _hbm(sram: int = 8) -> counted.Hbm:
    return counted.Hbm({"Q": torch.ones(4, 2)}, {"O": (4, 2)}, sram=sram)


def test_memory_counts_what_moves_and_only_that() -> None:
    hbm = _hbm()
    assert hbm.shape("Q") == (4, 2) and hbm.ledger.total == 0
    rows = hbm.load("Q", 2, 9)  # cut at the end
    hbm.store("O", 0, rows)
    assert (hbm.ledger.reads, hbm.ledger.writes) == (16, 16)
    assert hbm.result("O")[:2].tolist() == [[1, 1], [1, 1]] and hbm.result("O")[2:].isnan().all()
    rows += 1
    assert hbm.given["Q"].eq(1).all(), "rows on chip are a copy"


def test_memory_refuses_what_does_not_fit_and_says_why() -> None:
    from fa_toolkit.errors import ArgumentError

    hbm = _hbm()
    held = [hbm.load("Q", 0, 4)]
    with pytest.raises(ArgumentError, match="sram"):
        held.append(hbm.load("Q", 0, 1))
    held.clear()
    assert hbm.load("Q", 0, 4).shape == (4, 2), "what is let go makes room"
    for wrong in (
        lambda: hbm.store("Q", 0, torch.ones(1, 2)),
        lambda: hbm.store("O", 3, torch.ones(2, 2)),
        lambda: hbm.load("K", 0, 1),
    ):
        with pytest.raises(ArgumentError):
            wrong()
