"""Fewer bytes, chapter 02: softmax and output in one phase."""

from __future__ import annotations

from typing import Any

import torch

from ... import io_model
from ...language import Text
from ...problem import AttentionProblem, TileShape
from ..counted import Hbm, with_bytes
from ..spec import Case, Exercise, Output, Passage, Variant, randn

Tensor = torch.Tensor


def attention_problem(n: int, d: int) -> AttentionProblem:
    """One head of N queries and N keys in float32."""
    return AttentionProblem(len_q=n, len_k=n, head_dim=d, dtype="float32")


def _output_phase(n: int, d: int, block: int) -> int:
    """Bytes of a phase that reads an N x N table once, V once a strip, and writes O."""
    phases = io_model.standard_forward_traffic(attention_problem(n, d), TileShape(block, n)).phases
    return sum(phases["output"])


def softmax_output(hbm: Hbm, block: int) -> tuple[Tensor, int]:
    """The dull reference: the result, and the bytes that are enough."""
    s, v = hbm.given["S"].double(), hbm.given["V"].double()
    n, d = v.shape
    return torch.softmax(s, 1) @ v, _output_phase(n, d, block)


def _table(n: int, d: int, block: int) -> tuple[Hbm, int]:
    given = {"S": 2 * randn(n, n, seed=71), "V": randn(n, d, seed=72)}
    room = 3 * block * n + 2 * n * d  # three strips, V twice
    return Hbm(given, {"O": (n, d)}, scratch={"P": (n, n)}, sram=room), block


def _softmax_budget(hbm: Hbm, block: int) -> list[Any]:
    s, v = hbm.given["S"].double(), hbm.given["V"].double()
    eps = torch.finfo(torch.float32).eps
    return [32 * eps * (torch.softmax(s, 1) @ v.abs()) + eps, 0]


def _softmax_variant(bug: str) -> Any:
    def run(hbm: Hbm, block: int) -> None:
        n, _ = hbm.shape("S")
        step = 1 if bug == "row-by-row" else block
        for i in range(0, n, step):
            s = hbm.load("S", i, i + step)
            if bug in ("given", "second-look"):
                s = hbm.load("S", i, i + step)
            if bug == "given":
                s = hbm.load("S", i, i + step)
            p = (s - s.amax(1, keepdim=True)).exp()
            p = p if bug == "not-normalised" else p / p.sum(1, keepdim=True)
            if bug in ("given", "p-stored"):
                hbm.store("P", i, p)
                p = hbm.load("P", i, i + step)
            hbm.store("O", i, p @ hbm.load("V", 0, n))

    return run


LEAN_SOFTMAX = Exercise(
    id="02.lean",
    title=Text("Fewer bytes: softmax meets V", "更少的字节：softmax 接着乘 V"),
    spec=Text(
        "Given: the second and third phase, right and wasteful. S is loaded three times, P goes to "
        "HBM and comes back. Write O with as few bytes as one phase needs: S once, V once for each "
        "strip of rows, O once. The report shows bytes moved and the target.",
        "给出第二、第三阶段，结果对，但浪费：S 读了三遍，P 写到 HBM 又读回来。"
        "用一个阶段该有的字节数写出 O：S 读一遍，每一条行块读一次 V，O 写一遍。"
        "报告会显示搬运的字节数和目标。",
    ),
    formula="bytes ≤ (N·N + ⌈N / block⌉·N·D + N·D) · itemsize",
    passage=Passage(2, Text("What if it were one phase?", "要是只有一个阶段呢？")),
    entry="softmax_and_output",
    call="softmax_and_output(hbm, block); hbm.load(name, start, stop), hbm.store(name, start, rows)",
    reference=softmax_output,
    outputs=(Output("O", dtype=None), Output("bytes", "bytes", None, at_most=True)),
    allowed=_softmax_budget,
    adapt=with_bytes("O"),
    cases=[
        Case("value", "N=16, D=4, block=4", lambda: _table(16, 4, 4)),
        Case("value", "N=24, D=8, block=6", lambda: _table(24, 8, 6)),
        Case("ragged", "N=13, D=4, block=4", lambda: _table(13, 4, 4)),
    ],
    variants=(
        Variant(
            "given",
            Text(
                "It still moves what it moved: S three times, P out and back.",
                "搬的还是那么多：S 三遍，P 一出一进。",
            ),
            _softmax_variant("given"),
        ),
        Variant(
            "p-stored",
            Text(
                "S is read once now. P still goes to HBM and comes back: multiply by V while it "
                "is on chip.",
                "S 只读一遍了。P 还是写出去又读回来：趁它在片上就乘 V。",
            ),
            _softmax_variant("p-stored"),
        ),
        Variant(
            "second-look",
            Text(
                "P stays on chip now. S is loaded twice: keep the strip, maximum and sum need "
                "only what is on chip.",
                "P 留在片上了。S 读了两遍：留着这一条，最大值和总和都能在片上求。",
            ),
            _softmax_variant("second-look"),
        ),
        Variant(
            "row-by-row",
            Text(
                "You take single rows, so V is loaded N times. A strip of `block` rows shares one "
                "load of V.",
                "你一次只取一行，V 就读了 N 遍。`block` 行一条，可以共用一次 V。",
            ),
            _softmax_variant("row-by-row"),
        ),
        Variant(
            "not-normalised",
            Text(
                "The bytes are right; the division by the sum is missing.",
                "字节数对了，漏了除以总和。",
            ),
            _softmax_variant("not-normalised"),
        ),
    ),
    hints=(
        Text(
            "List every load and store of one strip, with its bytes. Which of them bring what is "
            "on chip already?",
            "列出一条行块的每次读写和字节数。哪些读的是片上已经有的？",
        ),
        Text(
            "Nothing needs the whole of P: a strip of O needs a strip of P.",
            "谁也不需要整个 P：O 的一条只需要 P 的一条。",
        ),
        Text(
            's = hbm.load("S", i, i + block); then p, p / p.sum(1, keepdim=True) @ V, one store',
            's = hbm.load("S", i, i + block)；接着 p，p / p.sum(1, keepdim=True) @ V，只写一次',
        ),
    ),
)


EXERCISES = (LEAN_SOFTMAX,)
