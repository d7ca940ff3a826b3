"""What becomes of words that are quoted back: defended with reason, corrected, or just dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fa_toolkit.interview import Plan, markdown, plain
from fa_toolkit.quiz.text_question import PENALTY

Enter = Callable[..., Any]


def outcome(enter: Enter, question: str, *answers: dict[str, Any]) -> tuple[Any, Any]:
    room = enter()
    room.held.start(Plan(minutes=60))
    room.put(question)
    for answer in answers:
        room.say(**answer)
    room.held.finish()
    report = room.held.report()
    return report["questions"][0], report


ACCUSED = {"said": ("linear", "recomp"), "against": ("nomat",), "wrong": ("keepall",)}


@pytest.mark.parametrize("words", ["Yes, I stand by that. P is rebuilt.", "坚持。P 是重建出来的。"])
def test_who_defends_the_words_with_the_point_itself_gets_all_back(
    enter: Enter, words: str
) -> None:
    entry, report = outcome(enter, "O3", ACCUSED, {"answer": words, "said": ("nomat",)})
    assert entry["before"] == 25 + 20 - PENALTY
    assert entry["score"] == 25 + 20 + 30
    assert entry["wrong"] == [] and report["topics"][0]["fatal"] == []
    assert any(point["cleared"] for point in entry["recovered"])


def test_a_defence_without_the_point_clears_nothing(enter: Enter) -> None:
    entry, _ = outcome(enter, "O3", ACCUSED, {"answer": "Yes, I stand by it.", "said": ("stats",)})
    assert entry["score"] == round(25 + 20 - PENALTY + (15 + PENALTY) / 2)
    assert all(not point["cleared"] for point in entry["recovered"])
    again = {"answer": "Yes. It is kept.", "said": ("nomat",), "wrong": ("keepall",)}
    entry, _ = outcome(enter, "O3", ACCUSED, again)
    assert entry["wrong"], "the same idea once more is no defence"


def test_what_can_end_an_interview_is_corrected_not_defended(enter: Enter) -> None:
    said = {"answer": "Yes, I stand by that: exact.", "said": ("exact",)}
    entry, _ = outcome(enter, "O1", {"said": ("sram",), "wrong": ("approx",)}, said)
    assert [point["taken_back"] for point in entry["wrong"]] == [True]
    assert entry["score"] == round(25 - PENALTY + (10 + PENALTY) / 2)


@pytest.mark.parametrize(
    "words",
    [
        "No, I take it back.",
        "Sorry, that was wrong.",
        "No.",
        "不对，我收回。",
        "我说错了。",
        "收回这句话。",
    ],
)
def test_to_take_a_thing_back_and_say_no_more_earns_nothing(enter: Enter, words: str) -> None:
    entry, report = outcome(
        enter, "O1", {"said": ("sram",), "wrong": ("approx",)}, {"answer": words}
    )
    assert entry["score"] == entry["before"] == 25 - PENALTY
    (point,) = entry["wrong"]
    assert point["withdrawn"] and not point["fatal"] and report["topics"][0]["fatal"] == []
    assert "without saying what is right" in markdown(report)


@pytest.mark.parametrize("words", ["No, the FLOPs do not fall.", "不对，计算量没有变少。"])
def test_to_say_what_is_right_earns_half(enter: Enter, words: str) -> None:
    entry, _ = outcome(enter, "O1", {"said": ("sram",), "wrong": ("flops",)}, {"answer": words})
    assert entry["score"] == round(25 - PENALTY / 2)
    assert entry["wrong"][0]["taken_back"]


DEFENCES = [
    ("O3", "en", "Yes, I stand by that. Standard training needs P for the gradient; flash does not store "
     "it, it rebuilds it from the logsumexp."),
    ("O3", "en", "I meant the standard version. Flash never stores S or P in HBM, not even for the backward pass."),
    ("O5", "zh", "三个阶段，每个一读一写，一共六次：三读三写。"),
    ("O3", "en", "For training you'd normally need P for the gradient; flash instead saves one scalar per row, "
     "the logsumexp, and in backward it rebuilds each tile of P."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "lang", "words"), DEFENCES)
def test_true_sentences_are_not_quoted_back_as_wrong(
    enter: Enter, question: str, lang: str, words: str
) -> None:
    room = enter(real=True, lang=lang)
    room.held.start(Plan(minutes=60))
    room.put(question)
    assert room.held.answer(words)
    assert room.held.turn.kind != "challenge"


def test_a_point_without_claims_cites_the_paper_of_its_question(enter: Enter) -> None:
    entry, _ = outcome(enter, "Q-08-tell-versions", {"said": ("fp8",)})
    assert [point["sections"] for point in entry["missing"]] == [
        ["FlashAttention-2, 3.1"], ["FlashAttention-2, 3.2"], ["FlashAttention-2, 3.3"],
        ["FlashAttention-3, 3.1"],
    ]  # fmt: skip
    entry, _ = outcome(enter, "Q-09-tell-paged", {"said": ("waste",)})
    assert all("PagedAttention" in section for p in entry["missing"] for section in p["sections"])


def test_the_report_says_why_a_list_of_terms_earned_nothing(enter: Enter) -> None:
    room = enter(real=True)
    room.held.start(Plan(minutes=60))
    room.put("O4")
    assert room.held.answer("SRAM tiles, 6 to 2 HBM transfers, one fused pass, memory-bound.")
    room.held.finish()
    report = room.held.report()
    (entry,) = report["questions"]
    assert entry["score"] == 0 and "Lists of terms" in entry["note"]
    for text in (plain(report), markdown(report)):
        assert "Lists of terms" in text


def test_follow_ups_come_with_what_a_good_answer_says(enter: Enter) -> None:
    entry, report = outcome(enter, "O1", {"said": ("sram",)})
    question = enter().held.bank.question("O1")
    assert entry["follow_up"] == question.follow_up.en
    assert entry["follow_up_answer"] == question.follow_up_answer.en
    assert question.follow_up_answer.en in markdown(report)


def test_the_summary_of_what_was_missed_holds_no_code(enter: Enter) -> None:
    bank = enter().held.bank
    coded = next(q for q in bank.questions.values() if q.kind == "choice" and "```" in q.prompt.en)
    for score in (0, None):
        room = enter()
        room.held.start(Plan(minutes=60))
        room.put(coded.id)
        if score is None:
            room.held.skip()
        else:
            room.say(score=0)
        room.held.finish()
        (entry,) = room.held.report()["questions"]
        for point in (*entry["missing"], *entry["wrong"]):
            assert "```" not in point["text"] + point.get("context", "")
        assert "```" in entry["prompt"]


@pytest.mark.parametrize(("lang", "words", "number"), [
    ("en", "SRAM is on the chip, tens of megabytes, and 20 times as fast as HBM with its 80 GB.", "12.5"),
    ("zh", "SRAM 在片上，只有几十 MB，比片外 80 GB 的 HBM 快 20 倍。", "12.5"),
])  # fmt: skip
def test_a_point_in_the_articles_wording_counts_and_is_put_right(
    enter: Enter, lang: str, words: str, number: str
) -> None:
    room = enter(real=True, lang=lang)
    room.held.start(Plan(minutes=60))
    room.put("O8")
    assert room.held.answer(words)
    verdict = room.held.turns[-1].verdict
    assert "fast" in {item.id for item in verdict.credited} and number in str(verdict)
    room.held.finish()
    assert number in markdown(room.held.report())


def test_one_fault_is_said_once_also_when_it_was_taken_back(enter: Enter) -> None:
    said = {"said": ("sram",), "against": ("exact",), "wrong": ("approx",)}
    for words in ("No, I take it back.", "No, nothing is dropped."):
        entry, _ = outcome(enter, "O1", said, {"answer": words})
        assert len(entry["wrong"]) == 1
