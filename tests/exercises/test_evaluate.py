"""Measured: every planted bug is caught and named; unseen bugs are caught, and mostly named."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import evaluate
from fa_toolkit.exercises.calling import Local
from fa_toolkit.exercises.checker import judge
from fa_toolkit.exercises.report import Report

UNSEEN = Path(__file__).with_name("unseen")
#: Of the bugs written without sight of the variants, the share that must be named right.
NAMED = 0.85
ALL = [x for x in exercises.ids() if not exercises.get(x).needs_triton or kernels.mode() != "none"]


#: Forms of the planted bugs that are tried: in every exercise, and of the capstone in the slow lane.
#: `python -m fa_toolkit.exercises.evaluate` tries them all.
FEW, SOME, MANY = 1, 4, 60


def rows(exercise_id: str, count: int, seed: int) -> list[evaluate.Row]:
    """Some of the planted bugs, each in one of its forms, always the same ones."""
    exercise, chance = exercises.get(exercise_id), random.Random(f"{exercise_id} {seed}")
    found = []
    for variant in chance.sample(exercise.variants, min(count, len(exercise.variants))):
        fn = chance.choice((variant.fn, *variant.also))
        report = judge(exercise, Local(exercise, fn))
        found.append(evaluate._row(exercise_id, variant.id, report, {variant.id}))
    return found


@pytest.mark.parametrize("exercise_id", ALL)
def test_some_planted_bugs_are_caught_and_named(exercise_id: str) -> None:
    for row in rows(exercise_id, FEW, 1):
        assert row.is_caught, row
        assert row.is_named, row


def test_there_are_enough_planted_bugs() -> None:
    found = {x: len(exercises.get(x).variants) for x in exercises.ids()}
    assert sum(found.values()) >= 80
    assert sum(n for x, n in found.items() if x[:2] in ("04", "06", "07")) >= 31


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("exercise_id", ALL)
def test_more_planted_bugs_are_caught_and_named(exercise_id: str) -> None:
    found = rows(exercise_id, MANY if exercise_id == "07.full" else SOME, 2)
    assert [r for r in found if not r.is_caught] == []
    assert [r for r in found if not r.is_named] == []


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_unseen_bugs_are_caught_and_right_answers_pass() -> None:
    found = list(evaluate.unseen(UNSEEN))
    bugs, right = [r for r in found if not r.right], [r for r in found if r.right]
    assert [r for r in bugs if not r.is_caught] == []
    assert [r for r in right if r.caught] == []
    assert sum(r.is_named for r in bugs) >= NAMED * len(bugs)


def test_the_table_says_what_slipped_through() -> None:
    caught = evaluate.Row("03.merge", "a", ("value", "own-work"), "a", frozenset({"a"}))
    missed = evaluate.Row("03.merge", "b", ("own-work",), "", frozenset({"b"}))
    right = evaluate.Row("03.merge", "c", (), "", frozenset(), right=True)
    refused = evaluate.Row("03.merge", "d", ("lse",), "a", frozenset(), right=True)
    lines: list[str] = []
    assert evaluate.table([caught, right], lines.append)
    assert not evaluate.table([caught, missed], lines.append)
    assert not evaluate.table([caught, refused], lines.append)
    assert "2 bugs in 1 exercises: 1 caught, 1 named first" in "\n".join(lines)


def test_the_command_measures_one_exercise(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main(["00.factor"]) == 0
    count = sum(1 + len(variant.also) for variant in exercises.get("00.factor").variants)
    assert f"{count} bugs in 1 exercises: {count} caught, {count} named" in capsys.readouterr().out


# symptoms of mistakes nobody planted


def named(exercise_id: str, wrong: object) -> tuple[Report, list[str]]:
    exercise = exercises.get(exercise_id)
    report = judge(exercise, Local(exercise, wrong))  # type: ignore[arg-type]
    return report, [d.id for d in report.diagnosis]


def test_symptoms_name_what_happened_to_the_numbers() -> None:
    import math

    import torch

    softmax = exercises.solution("03.three_pass")
    forward = exercises.solution("04.forward")
    attention = exercises.solution("02.attention")

    def base_2(*args: object) -> object:
        o, lse = forward(*args)
        return o * 3, lse / math.log(2)

    def halves(x: torch.Tensor) -> torch.Tensor:
        return softmax(x).half().to(x.dtype)

    def rows(*args: object) -> object:
        o, lse = forward(*args)
        return o * torch.linspace(0.3, 0.9, len(o))[:, None].to(o.dtype), lse

    def batches(q: torch.Tensor, *rest: object) -> torch.Tensor:
        return attention(q, *rest).flip(0)

    def late(*args: object) -> object:
        o, lse = forward(*args)
        o[3:] *= -1.5
        o[4:, 0] = 7
        return o, lse

    for wrong, exercise_id, kind in (
        (lambda x: softmax(x) * 2, "03.three_pass", "factor"),
        (halves, "03.three_pass", "dtype-rounding"),
        (lambda x: softmax(x) * math.nan, "03.three_pass", "nan"),
        (lambda x: torch.zeros_like(x), "03.three_pass", "all-zero"),
        (rows, "04.forward", "row-factor"),
        (base_2, "04.forward", "factor"),
        (batches, "02.attention", "head-mapping"),
        (late, "04.forward", "last-rows"),
    ):
        report, ids = named(exercise_id, wrong)
        assert ids[:1] == [kind], (kind, ids, str(report))
        assert "lse-base-2" in ids or wrong is not base_2


def test_a_factor_is_named_in_terms_of_the_problem() -> None:
    import math

    from fa_toolkit.exercises.factors import named_factor

    assert "log2 e" in named_factor(1 / math.log(2), {})[0]
    assert "√D" in named_factor(8.0, {"D": 64})[0] and "1/√D" in named_factor(0.125, {"D": 64})[0]
    assert named_factor(1.2345, {"D": 64}) == ("", "")


def test_two_variants_of_one_wrong_shape_are_both_told() -> None:
    from dataclasses import replace

    import torch

    from fa_toolkit.exercises.spec import Variant
    from fa_toolkit.language import Text

    def short(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)[..., :-1]

    exercise = exercises.get("03.three_pass")
    variants = [Variant(name, Text(name, name), short) for name in ("one", "other")]
    report = judge(replace(exercise, variants=tuple(variants)), Local(exercise, short))
    assert [d.id for d in report.diagnosis][:2] == ["one", "other"]
