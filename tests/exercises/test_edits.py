"""Answers held against single edits of the solution: what is edited, looked up and told."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import fingerprints, mutants
from fa_toolkit.exercises.calling import Local, Outcome
from fa_toolkit.exercises.checker import judge
from fa_toolkit.exercises.mutation_words import KINDS
from fa_toolkit.exercises.mutations import mutations
from fa_toolkit.exercises.report import Report
from fa_toolkit.language import Text

TABLES = sorted(file.stem for file in fingerprints.FOLDER.glob("*.json"))
CELL = """def f(x, scale):
    m = x.max(dim=1)
    p = (x - m) * scale
    return p / p.sum(dim=1)
"""


def report_of(exercise_id: str, fn: Any) -> Report:
    exercise = exercises.get(exercise_id)
    if exercise.needs_triton and not mutants.can_run(exercise):
        pytest.skip("kernels cannot be interpreted here")
    return judge(exercise, Local(exercise, fn))


def edited(exercise_id: str, keys: set[str]) -> list[mutants.Mutation]:
    return [m for m in mutants.edits_of(exercise_id) if fingerprints.key_of(m) in keys]


def test_edits_are_single_slips_and_say_so_in_both_languages() -> None:
    found = mutations(CELL, range(1, 5))
    assert {m.kind for m in found} <= set(KINDS)
    assert len({m.source for m in found}) == len(found) and CELL not in {m.source for m in found}
    said = {m.text.en for m in found}
    assert (
        "Where m is worked out: the reduction runs along axis 0; it must run along axis 1." in said
    )
    assert "Where p is worked out: the factor scale enters twice." in said
    assert any("“- m” is missing" in text for text in said)
    for m in found:
        assert any("一" <= sign <= "鿿" for sign in m.text.zh), m.text
        assert "{" not in m.text.en + m.text.zh


def test_lines_that_a_learner_does_not_write_are_left_alone() -> None:
    for m in mutations(CELL, [3]):
        lines = zip(CELL.splitlines(), m.source.splitlines(), strict=False)
        assert [number for number, (a, b) in enumerate(lines, 1) if a != b] == [3]


def test_prints_tell_results_apart_and_forgive_rounding() -> None:
    x = torch.linspace(-1, 2, 12).reshape(3, 4)
    exercise = exercises.get("03.three_pass")
    one, near, turned = (
        fingerprints.print_of(exercise, Outcome("ok", value))
        for value in (x, x * 1.0001, x.flip(0))
    )
    assert fingerprints.alike(one, near) and not fingerprints.alike(one, turned)
    holed = fingerprints.print_of(exercise, Outcome("ok", x / 0))
    assert not fingerprints.alike(one, holed)
    first = fingerprints.print_of(exercise, Outcome("error", sentence="Line 1, “a”: k: 3"))
    again = fingerprints.print_of(exercise, Outcome("error", sentence="Line 9, “b”: k: 3"))
    other = fingerprints.print_of(exercise, Outcome("error", sentence="Line 1, “a”: k: 4"))
    assert first == again != other


def test_tables_are_of_the_solutions_and_the_cases_of_today() -> None:
    stale = []
    for exercise_id in TABLES:
        known = fingerprints.table(exercise_id)
        if known is None or known["cases"] != fingerprints.labels_of(exercises.get(exercise_id)):
            stale.append(exercise_id)
    assert not stale, f"python -m fa_toolkit.exercises.fingerprints {' '.join(stale)}"


@pytest.mark.parametrize("exercise_id", ["02.attention", "03.rows", "05.matmul"])
def test_a_table_names_edits_that_there_are(exercise_id: str) -> None:
    known, exercise = fingerprints.table(exercise_id), exercises.get(exercise_id)
    assert known is not None
    keys = {fingerprints.key_of(m) for m in mutants.edits_of(exercise_id)}
    named = {key for group in known["groups"] for key in group["keys"]}
    assert len(named & keys) >= 0.8 * len(named)
    if mutants.can_run(exercise):
        outcome = Local(exercise, exercises.solution(exercise_id)).call("case", 0, 20.0)
        assert fingerprints.alike(fingerprints.print_of(exercise, outcome), known["right"][0])


def test_labels_of_two_cases_are_told_apart() -> None:
    assert fingerprints._numbered(["value: a", "ragged: a", "value: a", "value: a"]) == [
        "value: a", "ragged: a", "value: a #2", "value: a #3"
    ]  # fmt: skip


@pytest.mark.parametrize("exercise_id", ["02.attention", "05.vector_add", "09.pages"])
def test_edits_are_caught_and_named(exercise_id: str) -> None:
    known = fingerprints.table(exercise_id)
    assert known is not None
    groups = random.Random(3).sample(known["groups"], 3)
    for m in [edited(exercise_id, set(group["keys"]))[0] for group in groups if group["keys"]]:
        exercise = exercises.get(exercise_id)
        report = report_of(exercise_id, mutants.made(exercise, m))
        assert report.outcome == "not yet", m
        assert report.diagnosis, (m, str(report))
        ids = {v.id for v in exercise.variants}
        first = report.diagnosis[0]
        assert first.id in ids or first.id.startswith(("edit-", "outside-")) or "nan" in first.id


def test_an_answer_in_other_words_is_named() -> None:
    def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
        scores = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
        if causal:
            n, m = scores.shape[-2:]
            future = torch.arange(m)[None] > torch.arange(n)[:, None] - (m - n)
            scores = scores.masked_fill(future, float("-inf"))
        return torch.nan_to_num(torch.softmax(scores, -1)) @ v

    report = report_of("02.attention", attention)
    assert report.diagnosis[0].id == "edit-swapped", str(report)
    assert "len_k and len_q are swapped" in report.diagnosis[0].text.en


def test_right_answers_in_other_words_pass() -> None:
    for exercise_id in ("02.attention", "09.pages", "09.window"):
        for source in mutants.others(exercise_id):
            exercise = exercises.get(exercise_id)
            right = mutants.made(exercise, mutants.Mutation("", Text("", ""), source))
            assert report_of(exercise_id, right).outcome == "passed"


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="only the interpreter checks addresses")
def test_an_access_outside_says_whether_mask_or_address_is_wrong() -> None:
    from fa_toolkit.exercises.edited import Failure
    from fa_toolkit.exercises.outside import outside

    exercise = exercises.get("06.ragged")
    said = (
        "Line 3, “k = tl.load(p)”: k_ptr: expected offsets 0..559, got load at offset 560..767 "
        "(208 of 256 lanes) in program (0, 0, 0)."
    )
    uneven = [i for i, case in enumerate(exercise.cases) if case.property == "ragged"]
    mask = outside(exercise, [Failure(i, said) for i in uneven])
    address = outside(exercise, [Failure(0, said), *(Failure(i, said) for i in uneven)])
    assert mask is not None and mask.id == "outside-mask" and "k is read outside" in mask.text.en
    assert address is not None and address.id == "outside-address"
    assert outside(exercise, [Failure(0, "Line 1, “x”, raised ValueError: no")]) is None


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", TABLES)
def test_an_edit_of_every_solution_is_caught_and_named(exercise_id: str) -> None:
    """One of them, always the same; where nothing tells it from others, any of these is named."""
    exercise, known = exercises.get(exercise_id), fingerprints.table(exercise_id)
    assert known is not None
    groups = [g for g in known["groups"] if edited(exercise_id, set(g["keys"]))]
    group = random.Random(exercise_id).choice(groups)
    report = report_of(
        exercise_id, mutants.made(exercise, edited(exercise_id, set(group["keys"]))[0])
    )
    assert report.outcome == "not yet" and report.diagnosis, str(report)
