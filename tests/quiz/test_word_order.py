"""Words out of their order are a list, which earns nothing; whatever is written in sentences is read."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.free_text.fold import fold
from fa_toolkit.quiz.free_text.word_order import disordered
from fa_toolkit.quiz.text_question import TextQuestion

QUESTIONS = [q for q in load_bank().questions.values() if isinstance(q, TextQuestion)]
HERE = Path(__file__).parent
NOTEBOOKS = HERE.parents[1] / "notebooks"


def english(text: str) -> Iterator[str]:
    """The words of a text turned round, sorted, and turned round sentence by sentence."""
    words = text.split()
    bare = [word.strip(".,;:()") for word in words if word.strip(".,;:()")]
    yield " ".join(words[::-1])
    yield " ".join(bare[::-1])
    yield " ".join(sorted(words, key=str.lower))
    yield " ".join(sorted(bare, key=str.lower))
    yield " ".join(" ".join(s.rstrip(".").split()[::-1]) + "." for s in re.split(r"(?<=\.) ", text))


def chinese(text: str) -> Iterator[str]:
    """Its characters turned round, and turned round in each sentence."""
    yield text[::-1]
    yield "".join(s[::-1] for s in re.split("(。)", text))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_words_out_of_order_earn_nothing(question: TextQuestion) -> None:
    for text in english(question.model_answer.en):
        verdict = grade(question.id, text, "en")
        assert (verdict.score, verdict.details["filling"]) == (0, True), text
    for text in chinese(question.model_answer.zh):
        assert grade(question.id, text, "zh").score == 0, text


def test_chinese_word_by_word_with_blanks_earns_nothing_out_of_order() -> None:
    passes = []
    for question in QUESTIONS:
        pieces = re.findall(r"[\u4e00-\u9fff]{1,2}|[\w^]+", question.model_answer.zh)
        passes += [question.id] * (grade(question.id, " ".join(sorted(pieces)), "zh").score > 0)
        passes += [question.id] * (grade(question.id, " ".join(pieces[::-1]), "zh").score >= 60)
    assert len(passes) <= 1, passes


def test_shuffled_words_hardly_ever_pass() -> None:
    shuffle, passes = random.Random(5), []
    for question in QUESTIONS:
        words = question.model_answer.en.split()
        for _ in range(3):
            shuffle.shuffle(words)
            passes += [question.id] * (grade(question.id, " ".join(words), "en").score >= 60)
    assert len(passes) <= 0.15 * 3 * len(QUESTIONS), passes


KEYWORDS = {
    "en": "block tile SRAM HBM read write once twice softmax max sum denominator exp rescale old new "
    "accumulate divide end exact same output recompute backward store logsumexp linear memory "
    "quadratic time bandwidth latency kernel fuse",
    "zh": "分块 SRAM HBM 在线softmax 最大值 分母 修正因子 精确 重计算 反向 logsumexp 显存 线性 平方 带宽 "
    "融合 kernel 不近似 矩阵 不存 读写 次数 FLOPs 不变",
}


@pytest.mark.parametrize("glue", [" ", ", ", "\n"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_list_of_keywords_earns_nothing_anywhere(lang: Any, glue: str) -> None:
    text = glue.join(KEYWORDS[lang].split())
    assert {q.id: score for q in QUESTIONS if (score := grade(q.id, text, lang).score)} == {}


def test_what_people_wrote_has_an_order() -> None:
    answers = [
        json.loads(line)
        for path in sorted((HERE / "answers").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    written = [row for row in answers if row.get("kind", "") != "adversarial:stuff"]
    assert len(written) > 1000
    assert [row["id"] for row in written if disordered(fold(row["text"]).text)] == []


@pytest.mark.parametrize("folder", [NOTEBOOKS, NOTEBOOKS / "zh"], ids=["en", "zh"])
def test_prose_that_was_not_counted_has_an_order(folder: Path) -> None:
    paragraphs = [
        paragraph
        for path in sorted(folder.glob("*.ipynb"))
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
        for paragraph in "".join(cell["source"]).split("\n\n")
        if not re.search(r"[|`$<]|\]\(|et al", paragraph) and len(paragraph) > 60
    ]
    assert len(paragraphs) > 50
    assert [p for p in paragraphs if disordered(fold(p).text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "load Q,K → S=QK^T → store S; load S → P=softmax(S) → store P; load P,V → O=PV → store O. 3 reads, "
        "3 writes, fuse: 1 read, 1 write",
        "m_new = max(m, rowmax(S)); a = exp(m - m_new); P = exp(S - m_new); l = a*l + rowsum(P); "
        "acc = a*acc + P V; m = m_new. O = acc / l at the end",
        "* QK^T, softmax, times V -> one kernel\n* tiles of Q, K, V in SRAM\n* running max m, running sum l\n"
        "* no N x N matrix in HBM, so memory linear\n* backward: recompute S, P per tile from lse",
        "读 Q,K → S=QK^T → 写 S；读 S → P=softmax(S) → 写 P；读 P,V → O=PV → 写 O。融合后一读一写",
        "photosynthesis takes place in the chloroplasts, where light splits water and the energy is stored in "
        "sugar that the plant builds from carbon dioxide",
        "秋天的傍晚，老人们坐在河边的石凳上，一边剥着花生，一边聊着从前的旧事，孩子们追着风筝跑来跑去。",
    ],
)
def test_notes_formulas_and_other_topics_have_an_order(text: str) -> None:
    assert not disordered(fold(text).text)
