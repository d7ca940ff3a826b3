"""An answer that denies all of itself asserts nothing; one that denies a part of what is said stays."""

from __future__ import annotations

from typing import Any

import pytest

from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.text_question import TextQuestion

QUESTIONS = [q for q in load_bank().questions.values() if isinstance(q, TextQuestion)]
AROUND = {
    "en": [
        "None of the following is true: {}",
        "I disagree with all of this. {} All of that is wrong.",
        "A friend claimed this, and he was wrong in every point: {}",
        "Someone at work told me this, but it is all wrong: {}",
        "The following statements are all false. {}",
        "I do not believe any of this: {}",
        "The opposite of the following holds: {}",
        "{} None of this is true.",
        "{}\n\nThe above is completely incorrect.",
        "{} But all of this is false.",
        "{} I disagree with everything I just wrote.",
        "What follows is false: {}",
        "{} All false.",
    ],
    "zh": [
        "以下说法全都不对：{}",
        "有人这么说，全错了：{}",
        "有个朋友这么讲，每一点都错：{}",
        "下面的话没有一句是对的：{}",
        "以下内容都是错误的。{}",
        "我不同意下面的全部说法：{}",
        "{}以上全是错的。",
        "{}上面说的都不对。",
        "{}这些说法没有一个成立。",
        "{}以上说法全部错误，不要相信。",
        "{}我不同意以上任何一点。",
        "没有一句是真的：{}",
        "{}全都不对。",
    ],
}
SAYS_SO = {"en": "calls all that it says wrong", "zh": "全部否定"}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_an_answer_denied_as_a_whole_asserts_nothing(question: TextQuestion, lang: Any) -> None:
    for around in AROUND[lang]:
        verdict = grade(question.id, around.format(question.model_answer[lang]), lang)
        assert (verdict.score, verdict.credited, verdict.misconceptions) == (0, (), ()), around
        assert SAYS_SO[lang] in verdict.note, around


LOCAL = {
    "en": [
        "Some people say P is stored; that is wrong: it is recomputed. {}",
        "{} None of the scores is written to HBM.",
        "{} This is not true of standard attention.",
        "{} None of this is true of other methods.",
        "{} Not all of this is true when the sequence is short.",
        "{} None of this is wrong.",
        "{} Some say that it is slow and hard to use. All of that is wrong.",
        "{} I would not say that all of this is new.",
        "{} Is it slow? Is it hard to use? None of that is true.",
        "None of that is true. {}",
        "{} Calling it slow is not fair. That is completely wrong.",
        "{} It is hard to use. That is not at all true.",
        "The following is wrong: it is slow. In fact, this is so. {}",
        "{} Please tell me if any of this is wrong.",
    ],
    "zh": [
        "有人说它很慢，这不对。{}",
        "{}标准做法就不是这样。",
        "{}这些对别的方法都不成立。",
        "{}以上没有一句是错的。",
        "{}它很难用。这完全不对。",
        "{}有人说它很慢，还很难用。这些都不对。",
        "{}它很慢吗？很难用吗？都不对。",
        "{}以上说法不全对，短序列时要打折扣。",
        "下面这种说法是错的：它很慢。实际上是这样。{}",
    ],
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_a_denial_of_something_else_leaves_the_answer_as_it_is(
    question: TextQuestion, lang: Any
) -> None:
    for around in LOCAL[lang]:
        verdict = grade(question.id, around.format(question.model_answer[lang]), lang)
        assert verdict.score >= 90, (around, verdict.score, verdict.contradicted)
        assert verdict.note == ""
