"""The exercise of chapter 00: the factor that repairs a sum."""

from __future__ import annotations

import math

from ...language import Text
from ..spec import Case, Exercise, Variant


def factor(m_old: float, m_new: float) -> float:
    """The dull reference."""
    return math.exp(m_old - m_new)


FACTOR = Exercise(
    id="00.factor",
    title=Text("The factor that repairs a sum", "修正总和的因子"),
    spec=Text(
        "A sum of e^(x − m_old) is at hand; the maximum is now m_new. Return the number that turns "
        "it into the sum of e^(x − m_new).",
        "手上是若干个 e^(x − m_old) 之和，现在最大值成了 m_new。返回一个数，乘上它就得到 e^(x − m_new) 之和。",
    ),
    formula="factor = e^(m_old − m_new)",
    entry="factor",
    call="factor(m_old, m_new) -> number",
    reference=factor,
    cases=[
        Case("value", "2, 4", lambda: (2.0, 4.0)),
        Case("value", "4, 4", lambda: (4.0, 4.0)),
        Case("value", "-3, 0.5", lambda: (-3.0, 0.5)),
        Case("extreme-logits", "-1000, 1000", lambda: (-1000.0, 1000.0)),
        Case(
            "extreme-logits",
            Text("nothing seen yet, then 3", "还什么都没看到，然后是 3"),
            lambda: (-math.inf, 3.0),
        ),
    ],
    variants=(
        Variant(
            "subtract",
            Text(
                "That is the difference of the maxima. It belongs inside an exponent.",
                "这是两个最大值之差。它应该放在指数里。",
            ),
            lambda m_old, m_new: m_new - m_old,
            (lambda m_old, m_new: m_old - m_new,),
        ),
        Variant(
            "inverse",
            Text(
                "The sign is turned round: the old terms are too large and must shrink.",
                "符号反了：旧的各项偏大，应该缩小。",
            ),
            lambda m_old, m_new: math.exp(min(700.0, m_new - m_old)),
        ),
        Variant(
            "ratio",
            Text("A ratio of maxima is not a ratio of exponentials.", "最大值之比，不是指数之比。"),
            lambda m_old, m_new: m_old / m_new,
        ),
    ),
    hints=(
        Text(
            "Write one old term and the term it should be. What is their quotient?",
            "写出旧的一项和它本该是的那一项，它们的商是多少？",
        ),
        Text(
            "e^(x − m_new) / e^(x − m_old): x cancels.",
            "e^(x − m_new) / e^(x − m_old)：x 消掉了。",
        ),
        Text("math.exp(m_old - m_new)", "math.exp(m_old - m_new)"),
    ),
)

EXERCISES = (FACTOR,)
