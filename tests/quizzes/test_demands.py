"""What a candidate may expect of the bank: enough of everything, and nothing but knowledge scores."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from fa_toolkit import hardware
from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.lint import lint
from fa_toolkit.quiz.models import ChoiceQuestion, ManyQuestion, Question
from fa_toolkit.quiz.options import options, shuffled
from fa_toolkit.quiz.question import Bilingual
from fa_toolkit.quiz.statistics import is_computed, statistics

BANK = load_bank()
CLOSED = [question for question in BANK.questions.values() if question.kind != "text"]
CHOICES: list[ChoiceQuestion] = [q for q in CLOSED if isinstance(q, ChoiceQuestion)]
CORE = [question for question in CLOSED if question.core]
ALL_CHAPTERS = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11}
#: What interviews ask beyond the article, and words that a question on it must contain.
BEYOND = {
    "causal alignment": "bottom-right", "GQA": "key/value heads", "KV-cache arithmetic": "KV cache",
    "split-KV": "splits", "paged": "block table", "prefill in chunks": "chunk",
    "sliding window": "window", "sinks": "sink", "soft cap": "soft cap", "dropout": "Dropout",
    "FlexAttention": "FlexAttention", "MLA": "MLA", "FA2": "FlashAttention-2",
    "FA3": "FlashAttention-3", "FA4": "FlashAttention-4", "FP8": "FP8", "KV quantisation": "2 bits",
    "sparse": "sparse attention", "linear": "linear attention", "batch invariance": "same bits",
    "determinism": "run to run", "bank conflicts": "32 banks", "occupancy": "occupancy",
    "varlen": "Packed sequences", "autotune": "autotune", "benchmarks": "benchmark",
    "whiteboard": "Whiteboard", "whiteboard softmax": "online softmax over blocks",
    "whiteboard reduce": "threads sums", "whiteboard matmul": "C = A B",
}  # fmt: skip


def every_text(question: Question) -> str:
    """All English of a question, feedback included."""
    found: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, Bilingual):
            found.append(node.en)
        elif isinstance(node, dict):
            list(map(walk, node.values()))
        elif isinstance(node, list):
            list(map(walk, node))
        elif hasattr(type(node), "model_fields"):
            for name in type(node).model_fields:
                walk(getattr(node, name))

    walk(question)
    return "\n".join(found)


# enough of everything


def test_there_are_enough_questions_in_every_chapter() -> None:
    assert len(CLOSED) >= 165
    counted = Counter(BANK.chapter_of(question.id).number for question in CLOSED)
    assert set(counted) == ALL_CHAPTERS
    assert min(counted.values()) >= 10


def test_forty_core_questions_stand_for_the_whole() -> None:
    assert len(CORE) == 40
    assert {BANK.chapter_of(q.id).number for q in CORE} == ALL_CHAPTERS - {5}
    assert {claim for q in CORE for claim in q.claims} == set(BANK.claims)
    assert len({q.kind for q in CORE}) >= 6
    assert {q.level for q in CORE} >= {"warm-up", "core"}


def test_every_claim_is_asked_three_times_in_two_ways_without_free_text() -> None:
    kinds: dict[str, list[str]] = defaultdict(list)
    for question in CLOSED:
        for claim in question.claims:
            kinds[claim].append(question.kind)
    assert set(kinds) == set(BANK.claims)
    assert not {c: k for c, k in kinds.items() if len(k) < 3 or len(set(k)) < 2}


def test_every_question_rests_on_a_source_and_leads_on() -> None:
    for question in CLOSED:
        assert question.claims or question.papers, question.id
        assert question.follow_up is not None, question.id
        assert question.explain.en != question.follow_up.en
        assert question.follow_up_answer is not None, question.id
        for lang in ("en", "zh"):
            assert question.follow_up_answer[lang] not in question.explain[lang], question.id
    assert {p.partition(" ")[0] for q in CLOSED for p in q.papers} == set(BANK.papers)


def test_every_topic_is_asked_more_than_once() -> None:
    counted = Counter(question.topic for question in CLOSED)
    assert not [topic for topic in BANK.topics if counted[topic] < 2]


def test_numbers_come_from_the_package() -> None:
    assert sum(is_computed(question) for question in CLOSED) >= 20


def test_bugs_are_planted_in_code() -> None:
    bugs = [q for q in CHOICES if "```" in q.prompt.en]
    assert len(bugs) >= 15
    assert len({q.prompt.en.partition("```")[2] for q in bugs}) == len(bugs)
    for question in bugs:
        code = question.prompt.en.split("```")[1]
        assert 3 <= len(code.strip().splitlines()) <= 20, question.id
    assert len({BANK.chapter_of(q.id).number for q in bugs}) >= 5


@pytest.mark.parametrize("subject", BEYOND)
def test_what_interviews_ask_beyond_the_article_is_asked(subject: str) -> None:
    word = BEYOND[subject].lower()
    assert [q.id for q in CLOSED if word in every_text(q).lower()], word


@pytest.mark.parametrize("claim", [c for c, v in BANK.claims.items() if v.verdict != "holds"])
def test_a_caveat_reaches_who_answers(claim: str) -> None:
    question = next(q for q in CLOSED if claim in q.claims)
    answer = 0 if isinstance(question, (ChoiceQuestion, ManyQuestion)) else None
    verdict = grade(question.id, [0] if question.kind == "many" else answer, "en")
    if not verdict.judged:  # a number or a table: any readable answer will do
        verdict = grade(question.id, [["1"] * 9] if question.kind == "trace" else "1", "en")
    if not verdict.judged:
        assert question.kind in ("order", "match")
        return
    cited = next(c for c in verdict.citations if c.id == claim)
    assert cited.caveat and cited.caveat in str(verdict)


# nothing but knowledge scores


def words(text: str) -> int:
    return len(text.split()) if " " in text else len(text)


RULES: dict[str, Callable[[str], float]] = {
    "longest": len,
    "shortest": lambda text: -len(text),
    "most words": words,
    "most commas": lambda text: sum(text.count(sign) for sign in ",;:，；：、"),
    "most digits": lambda text: sum(sign.isdigit() for sign in text),
    "most code": lambda text: text.count("`"),
    "a denial": lambda text: sum(w in text.lower() for w in ("no", "not", "never", "不", "没")),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_knows_nothing_scores_near_chance(rule: str, lang: Any) -> None:
    expected = gained = variance = 0.0
    for question in CHOICES:
        values = [RULES[rule](choice.text[lang]) for choice in question.choices]
        best = [at for at, value in enumerate(values) if value == max(values)]
        gained += sum(question.choices[at].correct for at in best) / len(best)
        chance = 1 / len(question.choices)
        expected += chance
        variance += chance * (1 - chance)
    assert abs(gained - expected) < 2.5 * math.sqrt(variance), f"{gained:.1f} of {len(CHOICES)}"


def test_ticking_by_length_does_not_help_where_several_are_right() -> None:
    for lang in ("en", "zh"):
        hits = trials = 0
        for question in CLOSED:
            if isinstance(question, ManyQuestion):
                sizes = sorted(len(c.text[lang]) for c in question.choices)
                middle = sizes[len(sizes) // 2]
                hits += sum((len(c.text[lang]) > middle) == c.correct for c in question.choices)
                trials += len(question.choices)
        assert abs(hits / trials - 0.5) < 2.5 * 0.5 / math.sqrt(trials), (lang, hits, trials)


def test_places_are_spread_as_learners_see_them() -> None:
    chance = random.Random(6)
    learners = [f"{chance.random()}" for _ in range(20)]
    seen: Counter[int] = Counter()
    for learner in learners:
        for question in CHOICES:
            right = next(at for at, c in enumerate(question.choices) if c.correct)
            key = options(question)[right].key
            order = [option.key for option in shuffled(options(question), question.id, learner)]
            seen[order.index(key)] += 1
    share = [seen[place] / seen.total() for place in range(4)]
    assert all(abs(part - 0.25) < 0.04 for part in share), share


# right, as far as the package can say


def test_the_order_of_cards_is_that_of_the_records() -> None:
    question = BANK.question("Q-11-sram-ratio-order")
    ratios = []
    for item in question.items:  # type: ignore[union-attr]
        gpu = hardware.gpu(item.id)
        ratios.append(gpu.need("sram_bandwidth") / gpu.need("hbm_bandwidth"))
    assert ratios == sorted(ratios)
    assert [round(ratio, 1) for ratio in ratios[2:4]] == [9.6, 12.5]


def test_the_bank_passes_its_own_lint() -> None:
    assert list(map(str, lint())) == []


def test_statistics_count_what_is_there() -> None:
    counted = statistics(BANK)
    assert counted.total == len(BANK.questions)
    assert counted.core == 40
    assert sum(kinds.total() for kinds in counted.chapters.values()) == counted.total
    assert sum(counted.levels.values()) == sum(counted.topics.values()) == counted.total
    text = str(counted)
    assert "S21" in text and f"{counted.total}" in text
