"""Every exercise: its solution passes, each planted bug is caught and named, a stub is no answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fa_toolkit import exercises, kernels
from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.exercises import cells, checker, client
from fa_toolkit.exercises.calling import Local, Outcome
from fa_toolkit.exercises.spec import PROPERTIES
from fa_toolkit.exercises.values import Packing, unpack
from fa_toolkit.language import using

ALL = exercises.ids()
TRITON = kernels.mode() != "none"


def needs(exercise_id: str) -> None:
    if exercises.get(exercise_id).needs_triton and not TRITON:
        pytest.skip("Triton cannot run here")


class Travelling(Local):
    """Calls here, and sends every result the way it takes from another process."""

    def call(self, *args: Any, **kwargs: Any) -> Outcome:
        found = super().call(*args, **kwargs)
        packing = Packing()
        told = json.loads(json.dumps(packing.pack(found.value)))
        return replace(found, value=unpack(told, packing.blobs))


def judged(exercise_id: str, fn: Callable[..., Any]) -> exercises.Report:
    """A check without the other process."""
    exercise = exercises.get(exercise_id)
    return checker.judge(exercise, Travelling(exercise, fn))


@pytest.mark.parametrize("exercise_id", ALL)
def test_the_cell_solved_passes_and_the_stub_is_not_attempted(
    exercise_id: str, tmp_path: Path
) -> None:
    needs(exercise_id)
    exercise = exercises.get(exercise_id)
    solved = _run(exercises.solved(exercise_id), tmp_path / "solved.py")[exercise.entry]
    report = exercises.check(exercise_id, solved)
    assert report.outcome == "passed", str(report)
    assert not report.failed and not report.diagnosis and not report.note and not report.warnings
    assert [f.id for f in report.findings] == list(exercise.properties)
    text = exercises.stub(exercise_id)
    stub = _run(text, tmp_path / "stub.py")[exercise.entry]
    report = exercises.check(exercise_id, stub)
    if "NotImplementedError" in text:
        assert report.outcome == "not attempted" and not report.findings and report.note
    else:  # a fault to mend
        assert report.outcome == "not yet", str(report)


def _run(cell: str, file: Path) -> dict[str, Any]:
    """The names a cell defines, with what a notebook has imported before."""
    from fa_toolkit.exercises.triton_names import tl, triton

    file.write_text(cell)
    names: dict[str, Any] = {"torch": torch, "math": math, "tl": tl, "triton": triton}
    exec(compile(cell, str(file), "exec"), names)
    return names


@pytest.mark.parametrize("exercise_id", ALL)
def test_a_stub_shows_no_solution_and_fits_a_cell(exercise_id: str) -> None:
    stub, solved = exercises.stub(exercise_id), exercises.solved(exercise_id)
    assert "NotImplementedError" in stub and "NotImplementedError" not in solved
    assert not any(mark in stub + solved for mark in (cells._BEGIN, cells._END, cells._STUB))
    hidden = set(solved.splitlines()) - set(stub.splitlines())
    assert hidden, "nothing was left to write"
    assert len([line for line in stub.splitlines() if line.strip()]) <= 25


@pytest.mark.parametrize("exercise_id", ALL)
def test_every_text_is_there_in_both_languages(exercise_id: str) -> None:
    exercise = exercises.get(exercise_id)
    texts = [exercise.title, exercise.spec, *exercise.hints, *(v.text for v in exercise.variants)]
    assert len(exercise.hints) == 3 and len(exercise.variants) >= 2
    for text in texts:
        assert text.en.strip() and text.zh.strip()
    for text in (exercise.title, exercise.spec):
        assert any("一" <= sign <= "鿿" for sign in text.zh)
        assert not any("一" <= sign <= "鿿" for sign in text.en)
    assert set(exercise.properties) <= set(PROPERTIES)
    assert exercise.formula and exercise.call.startswith(exercise.entry)


def test_report_speaks_both_languages() -> None:
    bug = exercises.get("03.merge").variants[1]
    report = exercises.check("03.merge", bug.fn)
    with using("zh"):
        chinese = str(report)
    with using("en"):
        english = str(report)
    assert "还差一点" in chinese and "你的结果等于没有修正 acc 的结果" in chinese
    assert "not yet" in english and "without rescaling acc" in english
    assert report.failed == ("accumulator", "extreme-logits")


def test_without_triton_a_kernel_is_not_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    from fa_toolkit.kernels.runtime import _REASONS, Mode

    monkeypatch.setattr(kernels, "mode", lambda: Mode("none", _REASONS["missing"]))
    report = exercises.check("05.vector_add", lambda x, y: x + y)
    assert report.outcome == "not attempted"
    assert "Triton is not installed" in str(report)


def test_unknown_ids_name_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"03\.merge"):
        exercises.check("03.marge", len)
    with pytest.raises(ArgumentError):
        exercises.hint("03.merge", 5)


def test_hints_differ_by_level() -> None:
    assert len({exercises.hint("04.forward", level) for level in (1, 2, 3, 4)}) == 4


@pytest.mark.parametrize("exercise_id", ALL)
def test_the_last_hint_is_the_solution_with_blanks(exercise_id: str) -> None:
    shown = exercises.hint(exercise_id, 4).splitlines()[1:]
    solved = [line.strip() for line in exercises.solved(exercise_id).splitlines()]
    assert any("____" in line for line in shown)
    for line in filter(str.strip, shown):
        if line == "…":
            continue
        pattern = r".+?".join(map(re.escape, line.strip().split("____")))
        assert any(re.fullmatch(pattern, right) for right in solved), line


def test_the_doubles_of_the_io_model() -> None:
    """02.traffic says what the I/O model says of one tile that covers the whole matrix."""
    from fa_toolkit import AttentionProblem, TileShape, io_model

    problem = AttentionProblem(len_q=1024, len_k=1024, head_dim=64, dtype="float16")
    phases = io_model.standard_forward_traffic(problem, TileShape(1024, 1024)).phases
    mine = exercises.solution("02.traffic")(1024, 64, 2)
    assert list(mine) == [sum(phases[name]) for name in ("scores", "softmax", "output")]


def test_ranges_agree_with_the_package() -> None:
    from fa_toolkit import AttentionProblem

    solution = exercises.solution("04.ranges")
    for len_q, len_k in ((8, 8), (8, 12), (9, 4), (5, 0)):
        problem = AttentionProblem(len_q=len_q, len_k=len_k, causal=True)
        for start in range(0, len_q, 3):
            assert (
                solution(start, start + 3, len_q, len_k)
                == problem.visible_keys(start, start + 3)[1]
            )


def test_time_of_a_whole_check_is_limited() -> None:
    def slow(x: torch.Tensor) -> torch.Tensor:
        import time

        time.sleep(0.2)
        return exercises.solution("03.three_pass")(x)

    limits = checker.Seconds(5, 0.5)
    report = client.check(exercises.get("03.three_pass"), slow, seconds=limits)
    assert report.outcome == "not yet" and "not run" in {f.status for f in report.findings}


NUMBER_TYPES: dict[str, Callable[[Any], Any]] = {
    "torch.tensor": torch.tensor,
    "one element": lambda x: torch.tensor([x]),
    "np.float32": np.float32,
    "np.float64": np.float64,
    "np.int64": lambda x: np.int64(x) if x == int(x) else np.float64(x),
    "np.array": np.array,
    "Fraction": Fraction,
    "Decimal": Decimal,
    "np.str_": np.str_,
}
GIVE_NUMBERS = [x for x in ALL if x[:2] in ("00", "01") or x in ("02.traffic", "04.ranges")]


@pytest.mark.parametrize("kind", NUMBER_TYPES)
@pytest.mark.parametrize("exercise_id", GIVE_NUMBERS)
def test_a_right_number_is_right_in_any_type(exercise_id: str, kind: str) -> None:
    solution = exercises.solution(exercise_id)
    words = isinstance(solution(*exercises.get(exercise_id).cases[0].make()), str)
    if words != (kind == "np.str_"):
        pytest.skip("of another kind")

    def retyped(*args: Any) -> Any:
        result = solution(*args)
        if isinstance(result, (tuple, list)):
            return [NUMBER_TYPES[kind](item) for item in result]
        return NUMBER_TYPES[kind](result)

    report = judged(exercise_id, retyped)
    assert report.outcome == "passed", str(report)


@pytest.mark.parametrize(
    "odd",
    [
        lambda y: y + 0j,
        lambda y: y.to("meta"),
        lambda y: y.to_sparse(),
        lambda y: torch.nested.nested_tensor([y]),
        lambda y: {"y": y},
        lambda y: y.numpy(),
        lambda y: ...,
    ],
    ids=["complex", "meta", "sparse", "nested", "dict", "ndarray", "ellipsis"],
)
@pytest.mark.filterwarnings("ignore:.*nested tensors.*:UserWarning")
def test_an_odd_result_is_a_sentence(odd: Callable[[Any], Any]) -> None:
    right = exercises.solution("03.three_pass")
    report = judged("03.three_pass", lambda x: odd(right(x)))
    assert report.outcome == "not yet"
    assert "value should be" in str(report)


def test_a_coarser_type_is_named_and_not_its_rounding() -> None:
    right = exercises.solution("03.three_pass")
    report = exercises.check("03.three_pass", lambda x: right(x.float()))
    note = next(str(f.note) for f in report.findings if f.id == "dtype")
    assert "float32, expected torch.float64" in note
