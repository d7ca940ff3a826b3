"""What an interview comes to: scores with their arithmetic, what to reread, and both exports."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from fa_toolkit.interview import Plan, markdown, page, plain
from fa_toolkit.interview.turn import HALF, _corrects
from fa_toolkit.language import using
from fa_toolkit.quiz.text_question import PENALTY

Enter = Callable[..., Any]


def one(enter: Enter, question: str, *answers: dict[str, Any], lang: str = "en") -> Any:
    room = enter(lang=lang)
    room.held.start(Plan(minutes=60))
    room.put(question)
    for answer in answers:
        room.say(**answer)
    room.held.finish()
    return room.held.report()


def weights(report: Any, enter: Enter) -> Any:
    return enter().held.bank.question(report["questions"][0]["id"]).weights


# arithmetic


def test_what_comes_out_when_probed_earns_half(enter: Enter) -> None:
    report = one(
        enter, "O1",
        {"said": ("sram",), "wrong": ("approx",)},
        {"answer": "No, it is exact.", "said": ("exact", "io")},
    )  # fmt: skip
    (entry,) = report["questions"]
    given = weights(report, enter)
    assert entry["before"] == given["sram"] - PENALTY
    earned = given["exact"] + given["io"] + PENALTY
    assert entry["score"] == round(given["sram"] - PENALTY + HALF * earned)
    assert [p["text"] for p in entry["recovered"]]
    assert [(p["taken_back"], p["fatal"]) for p in entry["wrong"]] == [(True, False)]
    assert report["topics"][0]["fatal"] == []


def test_a_wrong_idea_that_is_defended_stands(enter: Enter) -> None:
    for second in (
        {"wrong": ("approx",)},
        {"answer": "Yes, I would not change a word."},
        {"answer": "是的，我不改。"},
        {"answer": "Hm."},
    ):
        report = one(enter, "O1", {"said": ("sram", "tiling"), "wrong": ("approx",)}, second)
        entry = report["questions"][0]
        assert entry["score"] == entry["before"], second
        assert entry["wrong"][0]["fatal"], second
        assert report["topics"][0]["fatal"], second
        assert "approximation" in plain(report)


@pytest.mark.parametrize(
    ("answer", "corrects"),
    [
        ("No, that was wrong", True), ("I take it back", True), ("It isn't approximate.", True),
        ("It is exact.", True), ("不，结果是精确的", True), ("我收回这句话", True),
        ("Yes. It is not exact.", False), ("Sure", False), ("是的，不精确", False), ("Blocks.", False),
    ],
)  # fmt: skip
def test_who_corrects_himself(answer: str, corrects: bool) -> None:
    assert _corrects(answer) is corrects


def test_a_new_wrong_idea_costs_in_full_and_the_score_stays_in_bounds(enter: Enter) -> None:
    report = one(enter, "O1", {"wrong": ("approx",)}, {"wrong": ("approx", "flops", "inverted")})
    (entry,) = report["questions"]
    assert entry["score"] == 0
    assert len(entry["wrong"]) == 3 and all(p["fatal"] for p in entry["wrong"])
    every = tuple(weights(report, enter))
    assert one(enter, "O1", {"said": every})["score"] == 100


def test_topics_are_means_worst_first_and_passed_counts_as_nothing(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=60))
    room.put("O1")
    room.say(said=tuple(room.held.bank.question("O1").weights))
    room.put("O2")
    room.held.skip()
    room.held.finish()
    report = room.held.report()
    assert {row["topic"]: row["score"] for row in report["topics"]} == {
        "flash-forward": 100, "online-softmax": 0,
    }  # fmt: skip
    assert report["topics"][0]["topic"] == "online-softmax"
    assert report["score"] == 50
    passed = report["questions"][1]
    assert passed["passed"] and len(passed["missing"]) == 5


# what to reread


def test_every_missed_point_names_section_and_chapter(enter: Enter) -> None:
    report = one(enter, "O1", {"said": ("sram",)})
    (entry,) = report["questions"]
    assert len(entry["missing"]) == 5
    assert all(re.match(r"S\d\d · ", s) for p in entry["missing"] for s in p["sections"])
    assert all(p["sections"] and p["why"] for p in entry["missing"])
    assert report["reread"] == [{"chapter": "04", "title": "Flash Attention in tiles", "points": 5}]


def test_a_question_of_another_kind_is_missed_as_a_whole(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan(minutes=60))
    number = next(q for q in room.held.bank.questions.values() if q.kind == "number")
    room.put(number.id)
    room.held.skip()
    room.held.finish()
    (entry,) = room.held.report()["questions"]
    assert [p["text"] for p in entry["missing"]] == [number.explain.en]
    assert entry["explain"] == number.explain.en


# exports

HOSTILE = (
    "<script>alert(1)</script> | `x` ![i](http://x/y.png) # head **b** [a](javascript:x)\n# no"
)


class Balance(HTMLParser):
    """What tags there are, and that they close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in ("meta", "br", "html"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_stands_alone_and_shows_answers_as_text(enter: Enter, lang: str) -> None:
    report = one(
        enter, "O1",
        {"answer": HOSTILE, "said": ("sram",), "wrong": ("approx",)},
        {"answer": HOSTILE, "said": ("io",)},
        lang=lang,
    )  # fmt: skip
    with using("en" if lang == "zh" else "zh"):  # the report speaks its own language
        made = page(report)
    found = Balance()
    found.feed(made)
    assert not found.open and "script" not in found.seen and "img" not in found.seen
    assert "&lt;script&gt;" in made
    assert ("面试报告" in made) is (lang == "zh")
    assert f'lang="{"zh-CN" if lang == "zh" else "en"}"' in made
    assert "http" not in re.sub(r"&lt;.*", "", made.split("<main>")[0])


def test_markdown_shows_answers_as_text(enter: Enter) -> None:
    report = one(enter, "O1", {"answer": HOSTILE, "said": ("sram",), "wrong": ("approx",)})
    made = markdown(report)
    assert "<script" not in made
    assert r"\!" not in made and r"!\[i\](http" in made
    heads = [line for line in made.splitlines() if line.startswith("#")]
    assert heads[0] == "# Interview report" and "# no" not in heads
    assert "## By topic" in heads and "## Missed, and where to read it" in heads
    assert any(line.startswith("- 04 ") for line in made.splitlines())


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_labels_of_the_markdown_are_emphasis(enter: Enter, lang: str) -> None:
    report = one(enter, "O1", {"answer": "So.", "said": ("sram",)}, lang=lang)
    found = [line for line in markdown(report).splitlines() if line.startswith("*")]
    assert len(found) >= 3
    assert all(re.fullmatch(r"\*\S(?:[^*]*\S)?\* .+", line) for line in found), found


def test_a_question_with_several_faults_is_named_beside_the_first(enter: Enter) -> None:
    room = enter(real=True)
    room.held.start(Plan(minutes=60))
    asked = next(q for q in room.held.bank.questions.values() if q.kind == "order")
    room.put(asked.id)
    room.held.answer([0, 2, 1, *range(len(asked.items) - 1, 2, -1)])
    room.held.finish()
    report = room.held.report()
    (entry,) = report["questions"]
    contexts = [point["context"] for point in entry["wrong"]]
    assert len(contexts) > 1 and contexts == [asked.prompt.en, *[""] * (len(contexts) - 1)]
    assert all(point["elsewise"] and not point["otherwise"] for point in entry["wrong"])
    assert "you had it otherwise" in markdown(report) and "the contrary" not in markdown(report)


def test_an_interview_without_answers_has_a_report_too(enter: Enter) -> None:
    room = enter()
    room.held.start(Plan())
    room.held.finish()
    report = room.held.report()
    assert report["score"] == 0 and not room.kept
    for made in (markdown(report), page(report), plain(report)):
        assert "Nothing was answered." in made


def test_the_same_words_are_not_wrong_twice(enter: Enter) -> None:
    report = one(enter, "O1", {"against": ("exact",), "wrong": ("approx",)})
    assert len(report["questions"][0]["wrong"]) == 1, "both rest on the same words"


def test_with_the_real_grader_a_whole_interview_can_be_held(enter: Enter) -> None:
    room = enter(real=True)
    room.held.start(Plan(minutes=30))
    said = "Flash Attention is exact. It cuts Q, K, V into blocks that fit in SRAM."
    from fa_toolkit.interview.view import view

    while room.held.phase == "asking":
        shown = view(room.held)["question"]
        room.wait(80)
        if shown["kind"] == "text":
            assert room.held.answer(said)
        elif shown["kind"] == "choice":
            assert room.held.answer(shown["options"][0]["key"])
        else:
            room.held.skip()
    report = room.held.report()
    assert len(report["questions"]) >= 10 and report["seconds"] >= 1700
    assert 0 < report["score"] < 100
    assert page(report) and markdown(report) and plain(report)
