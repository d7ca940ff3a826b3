"""The stepper's sentences and formulas, in both languages. Numbers come from the frames.

`*…*` marks the number a sentence is about; `?` stands for the factor while the reader is asked.
"""

from __future__ import annotations

from ...language import Text, say
from ..numbers import plain, subtrahend
from .frames import Frame, Run

UI: dict[str, Text] = {
    "title": Text("Softmax, block by block", "softmax，一块一块来"),
    "step": Text("step {n} of {total}", "第 {n} 步，共 {total} 步"),
    "scores": Text("x, the scores", "x：分数"),
    "terms": Text("e^(x − m), the terms gathered in l", "e^(x − m)：已并入 l 的各项"),
    "probabilities": Text("e^(x − m) / l, the probabilities", "e^(x − m) / l：概率"),
    "whole": Text("tick: softmax of the whole row", "短横线：整行一次算出的 softmax"),
    "block": Text("block {n}", "第 {n} 块"),
    "kept": Text("Kept between blocks", "块与块之间只留这两个数"),
    "nothing": Text("nothing yet", "还没有"),
    "rules": Text("The sum by three rules", "同一个和，三种规则"),
    "multiply": Text("multiply by the factor", "乘以修正因子"),
    "subtract": Text("subtract the rise of m", "逐项减去 m 的增量"),
    "no_max": Text("no maximum at all", "完全不减最大值"),
    "play": Text("Play", "播放"),
    "pause": Text("Pause", "暂停"),
    "back": Text("One step back", "后退一步"),
    "next": Text("One step on", "前进一步"),
    "reset": Text("Back to the start", "回到开头"),
    "position": Text("Step", "步骤"),
    "keys": Text("play|step|first, last", "播放|逐步|首尾"),
    "factor": Text("Your factor", "你猜的因子"),
    "check": Text("Check", "核对"),
    "show": Text("Show me", "看答案"),
    "row": Text("Row", "行"),
    "blocks": Text("Blocks", "分块"),
    "use": Text("Use", "换上"),
    "presets": Text("or", "或选"),
    "unreadable": Text(
        "A number, please: 0.5, 1/2, 13.5% or e^(1-2).", "请写一个数：0.5、1/2、13.5% 或 e^(1-2)。"
    ),
    "right": Text("✓ you said {guess}", "✓ 你猜的是 {guess}"),
    "wrong": Text("✗ you said {guess}. {why}", "✗ 你猜的是 {guess}。{why}"),
    "shown": Text("shown without a guess", "没有猜，直接看的"),
    "difference": Text(
        "That is the difference; each term changes by a ratio.", "这是差；每一项变的是倍数。"
    ),
    "inverse": Text("The other way round: the terms shrink.", "反了：各项要变小。"),
    "unchanged": Text("1 would leave the sum as it was.", "乘 1 等于没改。"),
    "other": Text("e^(x − old m) becomes e^(x − new m).", "e^(x − 旧 m) 要变成 e^(x − 新 m)。"),
    "offline": Text(
        "A new row needs the running kernel; this page shows the saved one.",
        "换一行数需要运行中的 Jupyter 内核；这里显示的是保存下来的那一行。",
    ),
}

_CAPTIONS: dict[str, Text] = {
    "start": Text(
        "{count} numbers will arrive in {blocks}. How much of softmax can be done before the last?",
        "{count} 个数将分{blocks}到来。最后一块到之前，softmax 能算到哪一步？",
    ),
    "arrive": Text("Block {n} arrives: *{values}*.", "第 {n} 块到了：*{values}*。"),
    "max_first": Text(
        "The largest number so far is *{m}*: right for a row that ends here.",
        "到目前为止最大的是 *{m}*：如果这一行到此为止，它就是对的。",
    ),
    "max_grows": Text(
        "The maximum grows from {m_old} to *{m}*, and the sum so far was measured from {m_old}.",
        "最大值从 {m_old} 变成 *{m}*，而之前的和是以 {m_old} 为基准算的。",
    ),
    "max_stays": Text(
        "The maximum stays *{m}*: nothing in this block is larger.",
        "最大值仍是 *{m}*：这一块里没有更大的数。",
    ),
    "ask": Text(
        "The sum {l_old} belongs to maximum {m_old}. Which factor makes it right for {m}?",
        "和 {l_old} 对应最大值 {m_old}。乘以多少，才对应最大值 {m}？",
    ),
    "correct": Text(
        "Every old term was too large by the same factor, so the sum is multiplied by *{factor}*.",
        "旧的每一项都大了同样的倍数，所以整个和乘以 *{factor}* 就改对了。",
    ),
    "correct_one": Text(
        "The maximum did not move, so the factor is *1* and the sum stays {l}.",
        "最大值没有变，所以因子是 *1*，和仍是 {l}。",
    ),
    "add": Text(
        "The block adds its own terms, *{added}*, and the sum is {l}.",
        "这一块加上自己的各项 *{added}*，和变成 {l}。",
    ),
    "add_first": Text(
        "Measured from {m}, the terms of this block sum to *{l}*: that is l so far.",
        "以 {m} 为基准，这一块各项之和是 *{l}*：这就是目前的 l。",
    ),
    "done": Text(
        "Divide by *{l}*: the same probabilities as softmax of the whole row, apart by at most {gap}.",
        "除以 *{l}*：与整行一次算出的 softmax 相同，最大相差 {gap}。",
    ),
    "done_exact": Text(
        "Divide by *{l}*: exactly the probabilities that softmax of the whole row gives.",
        "除以 *{l}*：与整行一次算出的 softmax 完全相同。",
    ),
}


def _list(values: list[float]) -> str:
    shown = [plain(v, 4) for v in values]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:5], "…"])


def _count_blocks(run: Run) -> str:
    n = len(run.blocks)
    return say(Text("{n} block{s}", " {n} 块"), n=n, s="" if n == 1 else "s")


def caption(run: Run, frame: Frame, *, asked: bool = False) -> str:
    """The one sentence of a step; `asked` gives the question instead of its answer."""
    key = _caption_key(run, frame, asked)
    added = (frame.l or 0.0) - (frame.factor or 0.0) * (frame.l_old or 0.0)
    return say(
        _CAPTIONS[key],
        count=len(run.x),
        blocks=_count_blocks(run),
        n=frame.block + 1,
        values=_list(run.x[frame.start : frame.stop]),
        m=_number(frame.m),
        m_old=_number(frame.m_old),
        l=_number(frame.l),
        l_old=_number(frame.l_old),
        factor=_number(frame.factor),
        added=_number(added),
        gap=f"{run.gap:.0e}",
    )


def _caption_key(run: Run, frame: Frame, asked: bool) -> str:
    if frame.kind == "max":
        if frame.m_old is None:
            return "max_first"
        return "max_grows" if frame.m != frame.m_old else "max_stays"
    if frame.kind == "correct":
        return "ask" if asked else "correct_one" if frame.factor == 1 else "correct"
    if frame.kind == "add":
        return "add" if frame.factor is not None else "add_first"
    if frame.kind == "done":
        return "done_exact" if run.gap == 0 else "done"
    return frame.kind


def _number(value: float | None) -> str:
    return "" if value is None else plain(value, 4)


def formula(run: Run, frame: Frame, *, asked: bool = False) -> list[tuple[str, str, bool]]:
    """Rows (name, text, lit) under the picture; `lit` marks what this step computes.

    The same four rows at every step, so that nothing jumps.
    """
    lit = {"max": "m", "correct": "factor", "add": "l", "done": "p"}.get(frame.kind, "")
    rows = {
        "m": _formula_m(run, frame),
        "factor": _formula_factor(frame, asked),
        "l": _formula_l(run, frame, asked),
        "p": _formula_p(frame),
    }
    return [(name, text, name == lit) for name, text in rows.items()]


def _formula_m(run: Run, frame: Frame) -> str:
    if frame.m is None:
        return "−∞"
    if frame.kind == "arrive":
        return f"*{_number(frame.m)}*"
    new = run.x[frame.start : frame.stop]
    old = "−∞" if frame.m_old is None else _number(frame.m_old)
    inside = _list(new) if len(new) <= 4 else _list([max(new)])
    return f"max({old}, {inside}) = *{_number(frame.m)}*"


def _formula_factor(frame: Frame, asked: bool) -> str:
    if frame.kind in ("start", "arrive"):
        return ""
    if frame.factor is None:
        return say(Text("no earlier sum to correct", "之前没有和，不用修正"))
    if frame.kind == "max" or asked:
        return "?"
    power = f"e^({_number(frame.m_old)} − {_signed(frame.m)})"
    return f"{power} = *{_number(frame.factor)}*"


def _formula_l(run: Run, frame: Frame, asked: bool) -> str:
    if frame.l is None:
        return "0"
    if frame.kind in ("arrive", "max"):
        return f"*{_number(frame.l)}*"
    old = ""
    if frame.factor is not None:
        factor = "?" if asked else _number(frame.factor)
        old = f"{factor} · {_number(frame.l_old)}"
    if frame.kind == "correct":
        return f"{old} = ?" if asked else f"{old} = *{_number(frame.l)}*"
    new = run.x[frame.start : frame.stop]
    m = _signed(frame.m)
    terms = [f"e^({_number(v)} − {m})" for v in new]
    added = " + ".join(terms) if len(terms) <= 3 else f"Σ e^(x − {m})"
    return f"{old} + {added} = *{_number(frame.l)}*" if old else f"{added} = *{_number(frame.l)}*"


def _formula_p(frame: Frame) -> str:
    if frame.kind != "done":
        return ""
    parts = [_number(p) if p is None or p >= 1e-4 or p == 0 else f"{p:.0e}" for p in frame.terms]
    shown = ", ".join(parts if len(parts) <= 6 else [*parts[:5], "…"])
    return f"e^(x − {_signed(frame.m)}) / {_number(frame.l)} = *{shown}*"


def _signed(value: float | None) -> str:
    return "" if value is None else subtrahend(value, 4)
