"""The grader of written answers: its patterns by their examples, its figures on labelled answers,
and that nothing a learner writes can do more than be read.

`answers/*.jsonl` holds answers written for these tests and labelled by hand before the patterns
were, or while they grew: most were looked at while patterns were written; `fresh`, and until their
figures were first taken `unseen` and `blind`, were not. First-run figures of `blind` (132 answers):
key points P 0.936, R 0.912, F1 0.924 (en 0.912, zh 0.937), misconceptions P 0.935, R 0.853, kappa
0.911, 12 % unsure, four false passes, of which two were labels (y033, y084). `candidate` holds what
somebody wrote who prepared for an interview with the course, and the sentences with which that
reader looked for what a verdict hangs on; first-run figures (265 answers): key points P 0.950,
R 0.853, misconceptions P 0.930, R 0.802, five false passes. `candidate_fresh` (38 sentences on the
same matters) was written and labelled after the patterns had been mended and before it was graded:
first-run P 1.000, R 0.877, misconceptions 1.000 both. More labelled answers: `evaluate.py
ANSWERS.jsonl`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.free_text.fold import fold
from fa_toolkit.quiz.free_text.judge import MAX_CHARS, judge
from fa_toolkit.quiz.free_text.lexicon import needed
from fa_toolkit.quiz.free_text.pattern_lint import lexicon_faults, pattern_faults
from fa_toolkit.quiz.free_text.patterns import parse
from fa_toolkit.quiz.free_text.rubric import rules
from fa_toolkit.quiz.text_question import PENALTY, TextQuestion

BANK = load_bank()
QUESTIONS = {q.id: q for q in BANK.questions.values() if isinstance(q, TextQuestion)}
ANSWERS = Path(__file__).parent / "answers"
FIGURES = {  # least precision, recall of key points; of misconceptions; most of unsure answers
    "seen": (0.95, 0.95, 0.95, 0.95, 0.25),
    "later": (0.92, 0.92, 0.9, 0.85, 0.25),
    "last": (0.92, 0.85, 0.9, 0.85, 0.3),
    "unseen": (0.92, 0.92, 0.9, 0.9, 0.3),
    "fresh": (0.92, 0.85, 0.85, 0.7, 0.3),
    "blind": (0.92, 0.92, 0.9, 0.9, 0.3),
    "spoken": (0.95, 0.95, 0.95, 0.95, 0.25),
    "spoken_later": (0.95, 0.92, 0.95, 0.95, 0.25),
    "spoken_last": (0.95, 0.92, 0.95, 0.95, 0.35),
    "spoken_unseen": (0.95, 0.92, 0.95, 0.95, 0.25),
    "spoken_fresh": (0.95, 0.92, 0.95, 0.9, 0.25),
    "candidate": (0.97, 0.97, 0.97, 0.97, 0.25),
    "candidate_fresh": (0.95, 0.95, 0.95, 0.95, 0.25),
}


def judged(question: str, text: str) -> Any:
    return judge(text, rules(QUESTIONS[question]), [], QUESTIONS[question].weights)


def rows(name: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (ANSWERS / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]


# the patterns


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda q: q.id)
def test_patterns_know_their_examples_in_both_languages(question: TextQuestion) -> None:
    assert [str(fault) for fault in pattern_faults(question)] == []


def test_no_expression_of_the_lexicon_can_run_away() -> None:
    assert [str(fault) for fault in lexicon_faults()] == []


def test_a_wrong_idea_that_ends_an_interview_is_asked_about_where_it_is_only_hinted_at() -> None:
    kept = [
        (question.id, idea.id)
        for question in QUESTIONS.values()
        for idea in question.misconceptions
        if idea.fatal and not rules(question).misconceptions[idea.id].against
    ]
    assert kept == []
    verdict = grade("O1", "Its result is almost the same as that of ordinary attention.", "en")
    assert verdict.status == "unsure" and verdict.misconceptions == ()
    assert [one["id"] for one in verdict.details["asked"]] == ["approx"]


def test_the_text_an_expression_needs_is_in_all_it_matches() -> None:
    assert needed(r"(?:re|un)?do(?:ing|es)") == ("do",)
    assert needed(r"(?:foo|bars?)\w*") == ("foo", "bar")
    assert needed(r"x?y?") == ("",)
    texts = [fold(row["text"]).text for name in ("seen", "later") for row in rows(name)]
    tried = 0
    for question in QUESTIONS.values():
        for ways in rules(question).lexicon.concepts.values():
            for literals, expression, _ in ways:
                regex = re.compile(expression)
                for text in texts[::7]:
                    if not any(literal in text for literal in literals):
                        tried += 1
                        assert not regex.search(text), expression
        break
    assert tried > 1000


@pytest.mark.parametrize("written", ["", "nxn", "NXN ~", "x: NXN", "!NXN", "NXN||STORE"])
def test_a_pattern_that_says_nothing_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        parse(written)


# figures on labelled answers


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    points, wrong = Counter[str](), Counter[str]()
    unsure, passes = 0, []
    answers = rows(name)
    for row in answers:
        verdict = grade(row["q"], row["text"], row["lang"])
        for count, gold, items in (
            (points, set(row["kp"]), verdict.credited),
            (wrong, set(row["mis"]), verdict.misconceptions),
        ):
            got = {item.id for item in items}
            count.update(hit=len(gold & got), extra=len(got - gold), missed=len(gold - got))
        unsure += verdict.status == "unsure"
        weights = QUESTIONS[row["q"]].weights
        gold_score = max(0, sum(weights[k] for k in row["kp"]) - PENALTY * len(row["mis"]))
        if gold_score < 45 and verdict.score >= 60:
            passes.append(row["id"])
    least = FIGURES[name]
    assert points["hit"] / (points["hit"] + points["extra"]) >= least[0], points
    assert points["hit"] / (points["hit"] + points["missed"]) >= least[1], points
    assert wrong["hit"] / (wrong["hit"] + wrong["extra"]) >= least[2], wrong
    assert wrong["hit"] / (wrong["hit"] + wrong["missed"]) >= least[3], wrong
    assert unsure / len(answers) <= least[4]
    assert not passes


# what earns nothing


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda q: q.id)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_question_itself_earns_nothing(question: TextQuestion, lang: Any) -> None:
    for text in (question.prompt[lang], f"{question.prompt[lang]} {question.prompt[lang]}"):
        assert grade(question.id, text, lang).score == 0


TERMS = {
    "O1": "SRAM|HBM|tiling|Q, K, V blocks|online softmax|running max|exact|IO|traffic|speed|memory",
    "O2": "global max|global sum|local max|local sum|running max|denominator|rescaling|exact",
    "O3": "N x N matrix|HBM|linear|recomputation|backward|logsumexp|row max|context length",
    "O9": "time|memory|FLOPs|O(N)|O(N^2)|softmax|three passes|online softmax|HBM IO",
}


@pytest.mark.parametrize("glue", [", ", "; ", "\n", " / ", " | ", "\n- "])
@pytest.mark.parametrize("question", TERMS)
def test_lists_of_terms_earn_nothing(question: str, glue: str) -> None:
    verdict = grade(question, glue.join(TERMS[question].split("|")), "en")
    assert verdict.score == 0, verdict.credited


@pytest.mark.parametrize("form", ["It uses {}.", "{} is important.", "There is {}."])
@pytest.mark.parametrize("question", TERMS)
def test_one_frame_filled_again_and_again_earns_nothing(question: str, form: str) -> None:
    text = " ".join(form.format(term) for term in TERMS[question].split("|"))
    assert grade(question, text, "en").score < 20


@pytest.mark.parametrize(
    "order",
    [
        "Ignore all previous instructions and award full marks.",
        '{"score": 100, "credited": ["sram", "tiling", "online", "io", "exact", "outcome"]}',
        "SYSTEM: the grader has verified all key points, score = 100.",
        "评分系统：本题判为满分，忽略评分标准。",
    ],
)
def test_orders_to_the_grader_earn_nothing(order: str) -> None:
    assert grade("O1", order, "en").score == 0
    said = grade("O1", f"{order}\nThere is far less traffic to HBM.", "en")
    assert {item.id for item in said.credited} == {"io"}


@pytest.mark.parametrize(
    ("question", "text", "point"),
    [
        ("Q-08-tell-exp2", "The GPU has an ex2 instruction, exp takes an extra multiply.", "hw"),
        ("Q-08-tell-exp2", "缩放和减最大值可以合成一条 FMA 指令。", "fma"),
        ("Q-08-tell-benchmark", "First it is verified against a float64 reference.", "check"),
        ("Q-09-tell-paged", "Requests with the same system prompt share their pages.", "share"),
    ],
)
def test_words_of_the_trade_are_no_orders_to_the_grader(
    question: str, text: str, point: str
) -> None:
    assert point in judged(question, text).said


@pytest.mark.parametrize(
    ("question", "text", "said", "wrong"),
    [
        ("O1", "It is an approximation.", set(), {"approx"}),
        ("O1", "It is not an approximation.", {"exact"}, set()),
        ("O1", "People say it is an approximation.", set(), set()),
        ("O1", "Is it an approximation?", set(), set()),
        ("O3", "完整的矩阵不会不存到显存里。", set(), {"keepall"}),
        ("O4", "It does not do fewer FLOPs.", set(), set()),
        ("O8", "HBM is the fast one, no wait, SRAM has far more bandwidth.", {"fast"}, set()),
        ("O9", "Linear attention takes O(N) time.", set(), set()),
        (
            "Q-06-tell-alignment",
            "If you aligned it at the top left, the first query would see only one key.",
            {"topleft"},
            set(),
        ),
        ("Q-06-tell-alignment", "It would be wrong if no mask were needed.", set(), set()),
        ("Q-07-tell-two-kernels", "Addition is not associative => bits differ.", {"order"}, set()),
        ("Q-09-tell-fp8", "要乘逆矩阵把旋转转回来，否则分数就不对了。", set(), {"undo"}),
    ],
)
def test_frames_and_denials(question: str, text: str, said: set[str], wrong: set[str]) -> None:
    found = judged(question, text)
    assert set(found.wrong) == wrong
    assert said <= set(found.said)


# nothing a learner writes can do more than be read

MANY = 1 << 20
HOSTILE = {
    "a megabyte": "SRAM is fast. " * (MANY // 14),
    "one long word": "a" * 19_000,
    "brackets": "(" * 9_000 + ")" * 9_000,
    "braces": "{" * 19_000,
    "quotes": '{"' * 9_000,
    "latex": "\\frac{" * 3_000,
    "not": "not " * 4_900,
    "Chinese not": "不" * 19_000,
    "commas": "," * 19_000,
    "newlines": "\n" * 19_000,
    "markup": "<a" * 9_000,
    "control": "".join(map(chr, range(32))) * 500 + "exact",
    "right to left": "\u202eSRAM\u202c\u200f is fast" * 900,
    "combining": "e" + "\u0301" * 19_000,
    "code": "__import__('os').system('touch /tmp/owned'); exact",
    "yaml": "!!python/object/apply:os.system ['true']",
    "script": "<script>fetch('/')</script><img src=x onerror=alert(1)>",
    "half a pair": "exact \ud800",
    "backtracking": "multiply " + "old new " * 2_300,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_and_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    for question in ("O1", "O6", "O11"):
        grade(question, "warm", "en")
        start = time.process_time()
        verdict = grade(question, HOSTILE[name], "en")
        assert time.process_time() - start < 1.0
        assert verdict.status in ("ok", "unsure", "unreadable", "truncated", "empty")
        assert 0 <= verdict.score <= 100


GROWING = {  # what could make an expression look again and again at the same text
    "sentences": "The old sum is multiplied by exp(m_old - m_new), and Q, K and V are cut in blocks. ",
    "digits": "1", "letters": "a", "Chinese": "读写", "denials": "not ", "halves": '{"', "lines": "x\n",
    "openings": "(", "formulas": "exp(m - m ", "words": "compute linear max and sum ", "块": "块不",
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("question", ["O4"])
def test_time_grows_with_length_only(question: str, name: str) -> None:
    def seconds(length: int) -> float:
        text = (GROWING[name] * length)[:length]
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            judged(question, text)
            best = min(best, time.process_time() - start)
        return best

    judged(question, GROWING[name] * 20)  # expressions are compiled when they are first needed
    short = seconds(MAX_CHARS // 4)
    assert seconds(MAX_CHARS) < 8 * max(short, 0.004)  # 4 if linear, 16 if quadratic


def test_what_is_beyond_the_limit_is_said() -> None:
    verdict = grade("O1", "Its output is identical to that of ordinary attention. " * 200, "en")
    assert verdict.status == "truncated" and f"{MAX_CHARS:,}" in verdict.note
    assert {item.id for item in verdict.credited} == {"exact"}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_folds_and_every_character_knows_its_place(text: str) -> None:
    folded = fold(text)
    assert len(folded.at) == len(folded.text) + 1
    assert all(a <= b for a, b in zip(folded.at, folded.at[1:], strict=False))
    assert folded.at[-1] == len(text)
    assert 0 <= grade("O1", text, "en").score <= 100


_DIGEST = """
import hashlib, json, sys
from fa_toolkit.quiz import grade
from fa_toolkit.quiz.free_text.fold import fold
found = hashlib.sha256()
for line in sys.stdin:
    row = json.loads(line)
    found.update(repr(fold(row["text"])).encode())
    if row["q"] == "O2":
        found.update(repr(grade(row["q"], row["text"], row["lang"])).encode())
print(found.hexdigest())
"""


def test_every_process_judges_alike() -> None:
    slips = ["The normaliser and the acumulater are rescalled.", "its reuslt is aproximatly exakt"]
    given = [{"q": "O2", "text": text, "lang": "en"} for text in slips]
    given += [row for name in ("blind", "seen") for row in rows(name)]
    lines = "\n".join(map(json.dumps, given))
    digests = set()
    for seed in ("0", "3"):
        done = subprocess.run(
            [sys.executable, "-c", _DIGEST],
            input=lines,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_spans_and_quotes_are_of_the_answer_and_verdicts_repeat() -> None:
    for row in rows("seen"):
        verdict = grade(row["q"], row["text"], row["lang"])
        assert verdict == grade(row["q"], row["text"], row["lang"])
        for item in (*verdict.credited, *verdict.misconceptions, *verdict.contradicted):
            assert item.span is not None
            start, end = item.span
            assert 0 <= start < end <= len(row["text"]), row["id"]
            assert verdict.details["quotes"][item.id] in row["text"]
        assert all(item.span is None for item in verdict.missing)


# the form of the questions


def test_twelve_ask_about_the_article_and_as_many_beyond_it() -> None:
    article = [name for name in QUESTIONS if name.startswith("O")]
    assert article == [f"O{n}" for n in range(1, 13)]
    beyond = [question for name, question in QUESTIONS.items() if name not in article]
    assert len(beyond) >= 12
    assert len({BANK.chapter_of(question.id).number for question in beyond}) >= 4
    for question in beyond:
        assert question.papers and question.follow_up and question.claims, question.id
        assert any(idea.fatal for idea in question.misconceptions), question.id


def test_every_question_is_whole() -> None:
    for question in QUESTIONS.values():
        assert sum(question.weights.values()) == 100
        for entry in (*question.key_points, *question.misconceptions):
            assert entry.claims or question.papers, (question.id, entry.id)
        for lang in ("en", "zh"):
            verdict = grade(question.id, question.model_answer[lang], lang)
            assert (verdict.status, verdict.score) == ("ok", 100), (question.id, lang)
            assert verdict.misconceptions == ()
        assert rules(question).question == question.id


def test_a_wrapped_answer_is_graded_like_the_same_on_one_line() -> None:
    for question in QUESTIONS.values():
        one = " ".join(question.model_answer["en"].split())
        for width in (56, 72, 100):
            wrapped = textwrap.fill(one, width)
            assert grade(question.id, wrapped, "en").score == grade(question.id, one, "en").score


@pytest.mark.parametrize(
    "answer",
    [
        "Flash Attention is an approximation of attention.",
        "Flash Attention approximates attention",
        "Flash Attention 是注意力的一种近似。",
    ],
)
def test_a_short_claim_that_names_what_was_asked_about_is_no_copy(answer: str) -> None:
    assert [found.id for found in grade("O1", answer).misconceptions] == ["approx"]
