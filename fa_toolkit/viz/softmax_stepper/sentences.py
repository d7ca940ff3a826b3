"""Which sentence a step says, with which numbers, and the formula under the picture.

`static/softmax_words.js` makes the same strings in the browser, and a test holds both to it. `?`
stands for the factor while the reader is asked.
"""

from __future__ import annotations

from ...language import Text, say
from ..numbers import plain, subtrahend
from .frames import Frame, Run, View
from .words import SAYS, UI

ROWS = ("m", "factor", "l", "acc", "p")
_LIT = {
    "max": "m", "scan": "m", "own_max": "m", "meet": "m", "correct": "factor", "weigh": "factor",
    "add": "l", "sum": "l", "own_sum": "l", "join": "l", "write": "p", "done": "p",
}  # fmt: skip


def number(value: float | None) -> str:
    """A number of the picture."""
    return "" if value is None else plain(value, 4)


def small(value: float | None) -> str:
    """A label that may be tiny: one digit below 0.0001."""
    if value is None:
        return ""
    return plain(value, 1) if 0 < abs(value) < 1e-4 else plain(value, 4)


def vector(values: list[float] | None) -> str:
    """A row of V or acc: bracketed unless it is one number."""
    if values is None:
        return "0"
    text = ", ".join(small(v) for v in values)
    return f"({text})" if len(values) > 1 else text


def listed(values: list[float]) -> str:
    """The first few of many numbers."""
    shown = [number(v) for v in values]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:5], "…"])


def sentence(run: Run, view: View, frame: Frame, *, asked: bool = False) -> str:
    """The one sentence of a step; `asked` gives the question instead of its answer."""
    return say(SAYS[sentence_name(view, frame, asked=asked)], **_fields(run, frame))


def sentence_name(view: View, frame: Frame, *, asked: bool = False) -> str:
    """The name of that sentence."""
    kind = frame.kind
    if kind in ("start", "done"):
        return kind if view == "online" else f"{kind}_{view}"
    if asked:
        return "ask" if kind == "correct" else "ask_weigh"
    if kind == "max":
        if frame.m_old is None:
            return "max_first"
        return "max_grows" if frame.m != frame.m_old else "max_stays"
    if kind == "correct":
        return "correct_one" if frame.factor == 1 else "correct"
    if kind == "add":
        return "add" if frame.factor is not None else "add_first"
    return kind


def answer(frame: Frame) -> float:
    """The factor a question asks for: that of the part with the smaller maximum."""
    factors = [f for f in (frame.factor, frame.factor_in) if f is not None]
    return min(factors, default=1.0)


def _fields(run: Run, frame: Frame) -> dict[str, str]:
    old = (1.0 if frame.kind == "sum" else frame.factor or 0.0) * (frame.l_old or 0.0)
    lows = [m for m in (frame.m_old, frame.m_in) if m is not None]
    return {
        "count": str(len(run.x)),
        "sizes": ", ".join(map(str, run.blocks)),
        "n": str(frame.block + 1),
        "values": listed(run.x[frame.start : frame.stop]),
        "m": number(frame.m), "m_old": number(frame.m_old), "m_in": number(frame.m_in),
        "m_low": number(min(lows, default=None)),
        "l": number(frame.l), "l_old": number(frame.l_old),
        "acc": vector(frame.acc),
        "factor": number(frame.factor), "factor_in": number(frame.factor_in),
        "added": number((frame.l or 0.0) - old),
        "reads": str(frame.reads),
    }  # fmt: skip


def formula(
    run: Run, view: View, frame: Frame, *, asked: bool = False
) -> list[tuple[str, str, bool]]:
    """Rows (name, text, lit) under the picture; `lit` marks what this step computes.

    The same five rows at every step, so that nothing jumps. At the end acc becomes o.
    """
    lit = _LIT.get(frame.kind, "")
    ends = frame.kind == "done" or view == "three"
    texts = {
        "m": _m(run, frame), "factor": _factor(view, frame, asked), "l": _l(run, frame, asked),
        "acc": _acc(run, view, frame, asked), "p": _p(frame),
    }  # fmt: skip
    return [("o" if n == "acc" and ends else n, texts[n], n == lit) for n in ROWS]


def _m(run: Run, frame: Frame) -> str:
    if frame.m is None:
        return "−∞"
    if frame.kind in ("arrive", "sum", "write", "own_sum", "done"):
        return f"*{number(frame.m)}*"
    if frame.m_in is not None:
        return f"max({number(frame.m_old)}, {number(frame.m_in)}) = *{number(frame.m)}*"
    new = run.x[frame.start : frame.stop]
    inside = listed(new) if len(new) <= 4 else number(max(new))
    old = "" if frame.kind == "own_max" else f"{_or_minus(frame.m_old)}, "
    return f"max({old}{inside}) = *{number(frame.m)}*"


def _or_minus(value: float | None) -> str:
    return "−∞" if value is None else number(value)


def _power(old: float | None, new: float | None) -> str:
    return f"e^({number(old)} − {_signed(new)})"


def _factor(view: View, frame: Frame, asked: bool) -> str:
    if view == "three":
        return _word("none_three")
    if frame.kind in ("own_max", "own_sum"):
        return _word("none_alone")
    if frame.kind in ("start", "arrive"):
        return ""
    if frame.factor is None:
        return _word("none_first")
    if frame.kind in ("max", "meet") or asked:
        return "?"
    text = f"{_power(frame.m_old, frame.m)} = *{number(frame.factor)}*"
    if frame.factor_in is None:
        return text
    return f"{text}    {_power(frame.m_in, frame.m)} = *{number(frame.factor_in)}*"


def _word(name: str) -> str:
    text: Text = UI[name]
    return say(text)


def _l(run: Run, frame: Frame, asked: bool) -> str:
    if frame.kind == "meet":
        return f"{number(frame.l_old)}    {number(frame.l_in)}"
    if frame.l is None:
        return "0"
    if frame.kind in ("arrive", "max", "scan", "write", "done"):
        return f"*{number(frame.l)}*"
    hidden = "?" if asked else number(frame.factor)
    if frame.factor_in is not None:
        return _two(frame, asked, number(frame.l_old), number(frame.l_in), number(frame.l))
    old = "" if frame.factor is None else f"{hidden} · {number(frame.l_old)}"
    if frame.kind == "correct":
        return f"{old} = ?" if asked else f"{old} = *{number(frame.l)}*"
    if frame.kind == "sum" and frame.l_old is not None:
        old = number(frame.l_old)
    added = _sum(run, frame, "")
    return f"{old} + {added} = *{number(frame.l)}*" if old else f"{added} = *{number(frame.l)}*"


def _two(frame: Frame, asked: bool, old: str, new: str, total: str) -> str:
    """Both parts times their factors; added only when they join."""
    mine, theirs = ("?", "?") if asked else (number(frame.factor), number(frame.factor_in))
    if frame.kind == "join":
        return f"{mine} · {old} + {theirs} · {new} = *{total}*"
    return f"{mine} · {old}    {theirs} · {new}"


def _sum(run: Run, frame: Frame, v: str) -> str:
    """The new terms one by one while they are few; with `v`, each times its row of V."""
    span = range(frame.start, frame.stop)
    m = _signed(frame.m)
    if len(span) > (2 if v else 3):
        return f"Σ e^(x − {m}){v}"
    times = {i: f" · {vector(run.v[i])}" if v else "" for i in span}
    return " + ".join(f"e^({number(run.x[i])} − {m}){times[i]}" for i in span)


def _acc(run: Run, view: View, frame: Frame, asked: bool) -> str:
    if frame.kind == "done" and view != "three":
        return f"{vector(frame.acc)} / {number(frame.l)} = *{vector(frame.out)}*"
    if frame.kind == "meet":
        return f"{vector(frame.acc_old)}    {vector(frame.acc_in)}"
    if frame.acc is None:
        return "0"
    if frame.kind == "write":
        old = "" if frame.acc_old is None else f"{vector(frame.acc_old)} + "
        return f"{old}Σ p · v = *{vector(frame.acc)}*"
    if frame.kind in ("arrive", "max", "done"):
        return f"*{vector(frame.acc)}*"
    if frame.factor_in is not None:
        old, new = vector(frame.acc_old), vector(frame.acc_in)
        return _two(frame, asked, old, new, vector(frame.acc))
    old = ""
    if frame.factor is not None:
        old = f"{'?' if asked else number(frame.factor)} · {vector(frame.acc_old)}"
    if frame.kind == "correct":
        return f"{old} = ?" if asked else f"{old} = *{vector(frame.acc)}*"
    added = _sum(run, frame, " · v")
    return f"{old} + {added} = *{vector(frame.acc)}*" if old else f"{added} = *{vector(frame.acc)}*"


def _p(frame: Frame) -> str:
    if frame.kind not in ("done", "write"):
        return ""
    parts = [small(p) for p in frame.terms if p is not None]
    shown = ", ".join(parts if len(parts) <= 6 else [*parts[:5], "…"])
    return f"e^(x − {_signed(frame.m)}) / {number(frame.l)} = *{shown}*"


def _signed(value: float | None) -> str:
    return "" if value is None else subtrahend(value, 4)
