"""Grading: right is right, wrong is wrong, partial credit as stated, and nothing ever raises."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.language import LANGUAGES
from fa_toolkit.quiz import Bank, Verdict, grade
from fa_toolkit.quiz.models import KINDS
from fa_toolkit.quiz.options import lefts, options, rights

STATUSES = {"ok", "unsure", "empty", "unreadable", "truncated"}


def ask(bank: Bank, name: str, answer: object, lang: str = "en") -> Verdict:
    return grade(f"Q-03-{name}", answer, lang, bank=bank)


def test_choice_by_place_key_or_text(bank: Bank) -> None:
    question = bank.question("Q-03-factor")
    key = options(question)[0].key
    for answer in (0, key, [key], "It is multiplied by `e^(2 - 4)`", "乘以 `e^(2 - 4)`"):
        assert ask(bank, "factor", answer).score == 100
    wrong = ask(bank, "factor", 1)
    assert (wrong.score, wrong.outcome) == (0, "wrong")
    assert [item.text for item in wrong.misconceptions] == [
        "The difference 4 - 2 is subtracted from it"
    ]
    assert wrong.misconceptions[0].why.startswith("Subtracting is right inside the exponent")
    assert wrong.missing[0].claims == ("S11",)


@pytest.mark.parametrize(
    ("ticked", "score"),
    [
        ([0, 1], 100),
        ([0], 50),
        ([0, 2], 0),
        ([0, 1, 2], 50),
        ([0, 1, 2, 3], 0),
        ([2, 3], 0),
        ([1, 1], 50),
    ],
)
def test_many_counts_right_minus_wrong(bank: Bank, ticked: list[int], score: int) -> None:
    assert ask(bank, "true", ticked).score == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("0.1353", 100), ("e^{2-4}", 100), ("1/e^2", 100), ("13.5%", 100), ("0.134", 100), (0.1353, 100),
        ("0.133", 0), ("-0.1353", 0), ("e^{4-2}", 0), ("e^2", 0), ("0.1353 B", 0), ("inf", 0),
    ],
)  # fmt: skip
def test_number(bank: Bank, answer: object, score: int) -> None:
    assert ask(bank, "value", answer).score == score


def test_known_mistakes_get_their_own_feedback(bank: Bank) -> None:
    verdict = ask(bank, "value", "e^{4-2}")
    assert verdict.misconceptions[0].why.startswith("The sign is turned")
    assert verdict.contradicted == ()


@pytest.mark.parametrize(
    ("answer", "score", "why"),
    [
        ("128", 100, ""), ("128 KiB", 100, ""), ("131072 B", 100, ""), ("131.072 KB", 100, ""),
        ("0.125 MiB", 100, ""), ("2^17 B", 100, ""), ("128 KB", 0, "1000 and 1024"),
        ("131072", 0, "prefix"), ("256", 0, "factor of two"), ("-128", 0, "sign"),
        ("128 ms", 0, "a time (seconds) was given, an amount of data (bytes) was asked"), ("7", 0, ""),
    ],
)  # fmt: skip
def test_units_and_slips(bank: Bank, answer: str, score: int, why: str) -> None:
    verdict = ask(bank, "traffic", answer)
    assert verdict.score == score
    if not score:
        assert why in verdict.contradicted[0].why


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (["load_kv", "scores", "mask", "update"], 100), ([0, 1, 2, 3], 100),
        ([1, 2, 3, 0], 67), ([0, 2, 1, 3], 0), ([3, 2, 1, 0], 0), ([0, 1, 3, 2], 33),
    ],
)  # fmt: skip
def test_order_counts_neighbours(bank: Bank, answer: list[Any], score: int) -> None:
    verdict = ask(bank, "steps", answer)
    assert verdict.score == score
    assert len(verdict.credited) + len(verdict.contradicted) == 3


def test_match_counts_pairs(bank: Bank) -> None:
    left, right = lefts(bank.question("Q-03-pairs")), rights(bank.question("Q-03-pairs"))
    full = {a.key: b.key for a, b in zip(left, right, strict=True)}
    assert ask(bank, "pairs", full).score == 100
    assert ask(bank, "pairs", ["the largest score so far", "", None]).score == 33
    swapped = {**full, left[0].key: right[1].key}
    verdict = ask(bank, "pairs", swapped)
    assert (verdict.score, len(verdict.contradicted), len(verdict.missing)) == (67, 1, 0)


def test_trace_counts_cells(bank: Bank) -> None:
    right = {
        "0.l": "1 + 1/e",
        "0.acc": "0.368",
        "1.m": "4",
        "1.factor": "e^-2",
        "1.l": "1.553",
        "1.acc": "1.0498",
    }
    assert ask(bank, "table", right).score == 100
    table = [[2, 0, "1.368", "0.368"], {"m": 4, "factor": 0.1353, "l": 1.553, "acc": 1.05}]
    assert ask(bank, "table", table).score == 100
    verdict = ask(bank, "table", {**right, "1.factor": "2", "1.acc": ""})
    assert (verdict.score, [item.id for item in verdict.contradicted]) == (67, ["1.factor"])
    assert [item.id for item in verdict.missing] == ["1.acc"]
    assert verdict.details["whys"].keys() == {"factor", "acc"}


def test_given_cells_do_not_count(bank: Bank) -> None:
    assert ask(bank, "table", {"0.m": "2", "0.factor": "0"}).status == "empty"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_answered_is_empty_and_reveals_nothing(bank: Bank, kind: str) -> None:
    question = next(q for q in bank.questions.values() if q.kind == kind)
    for nothing in (None, "", [], "   " if kind in ("choice", "number") else ""):
        verdict = grade(question.id, nothing, "zh", bank=bank)
        assert (verdict.status, verdict.score) == ("empty", 0)
        assert verdict.note
        assert not (verdict.explain or verdict.citations or verdict.missing or verdict.details)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_verdict_cites_claims_with_section_verdict_and_caveat(bank: Bank, lang: str) -> None:
    for question in bank.questions.values():
        answer = {"choice": 0, "many": [0], "number": "1", "order": [3, 2, 1, 0]}.get(question.kind)
        answer = {"match": [0, 0, 0], "trace": {"1.m": "1"}, "text": "It is exact."}.get(
            question.kind, answer
        )
        verdict = grade(question.id, answer, lang, bank=bank)
        assert verdict.status == "ok"
        assert [cited.id for cited in verdict.citations] == question.claims
        for cited in verdict.citations:
            claim = bank.claims[cited.id]
            assert (cited.section, cited.says, cited.verdict) == (
                claim.section[lang], claim.says[lang], claim.verdict,
            )  # fmt: skip
            assert cited.caveat == (claim.caveat[lang] if claim.caveat else "")
        assert verdict.explain == question.explain[lang]
        assert verdict.arithmetic


class Odd:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __eq__ = __hash__ = __len__ = __str__  # type: ignore[assignment]


def _loop() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


HOSTILE = [
    Odd(), _loop(), b"0", bytearray(b"1"), object, lambda: 0, float("nan"), float("inf"), -1, 10**9, 10**5000,
    [10**5000], {10**5000: 1}, {None: 0}, {(1, 2): 3}, True, 1 + 2j, "x" * 2_000_000, ["a"] * 100_000,
    "\ud800", "\x00\x1b[31m", "\u202eabc", "<script>alert(1)</script>", "!!python/object:os.system",
    "__import__('os').system('x')", "a" * 60 + "!" * 60, {"0.m": {"a": []}}, {"9999999.m": 1}, {"²": 1},
    {"0.": 1, ".m": 2, "m": 3, "1.l": "1" * 5000}, [[[[[[1]]]]]], [None, [None]], set(), frozenset({1}), range(3),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_get_a_verdict(bank: Bank, kind: str, answer: object) -> None:
    question = next(q for q in bank.questions.values() if q.kind == kind)
    verdict = grade(question.id, answer, "en", bank=bank)
    assert verdict.status in STATUSES
    assert 0 <= verdict.score < 100


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.sampled_from(["load_kv", "0.m", "1.l", "4", "e^-2", 0, 1, 2, 3]),
    lambda inner: st.lists(inner, max_size=5) | st.tuples(inner, inner)
    | st.dictionaries(st.text() | st.integers() | st.sampled_from(["0.l", "1.acc"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(answer=plain, at=st.integers(0, 6), lang=st.sampled_from(LANGUAGES))
@settings(max_examples=250, deadline=None)
def test_any_answer_gets_the_same_verdict_twice(
    bank: Bank, answer: Any, at: int, lang: str
) -> None:
    question = list(bank.questions.values())[at]
    verdict = grade(question.id, answer, lang, bank=bank)
    assert verdict.status in STATUSES
    assert 0 <= verdict.score <= 100
    assert verdict.lang == lang
    assert grade(question.id, answer, lang, bank=bank) == verdict
    if verdict.status != "ok":
        assert verdict.note
        assert verdict.score == 0


def test_only_a_wrong_call_raises(bank: Bank) -> None:
    with pytest.raises(UnknownNameError):
        grade("Q-03-nothing", 0, bank=bank)
    with pytest.raises(UnknownNameError):
        grade(["Q-03-factor"], 0, bank=bank)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        grade("Q-03-factor", 0, "fr", bank=bank)


class _Disguised(str):
    """A text that is no longer one as soon as it is used as one."""

    def strip(self, *_: object) -> str:  # type: ignore[override]
        raise RuntimeError

    casefold = strip


@pytest.mark.parametrize(
    "odd",
    [
        np.float64(1), np.float32(1), np.int64(0), np.bool_(True), np.array([1, 2]), _Disguised("0"),
        "\ud800", Fraction(1, 3), {_Disguised("0.m"): np.float64(2)}, [np.float64(0)],
    ],
    ids=repr,
)  # fmt: skip
def test_what_only_looks_like_a_number_or_a_text(bank: Bank, odd: object) -> None:
    for question in bank.questions.values():
        verdict = grade(question.id, odd, bank=bank)
        assert verdict.status in STATUSES
        verdict.said.encode()
