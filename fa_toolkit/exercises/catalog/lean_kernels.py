"""Fewer bytes, chapters 05 and 06: what a mask need not load, and heads that share their keys."""

from __future__ import annotations

from typing import Any

import torch

from ...language import Text
from ..counted import with_kernel_bytes
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here

Tensor = torch.Tensor
_EPS = torch.finfo(torch.float32).eps


def causal_rows(x: Tensor) -> tuple[Tensor, int]:
    """The dull reference, and the bytes that are enough."""
    n = len(x)
    hidden = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
    p = torch.softmax(x.masked_fill(hidden, -torch.inf), 1)  # [N, N]
    return p, 4 * (n * (n + 1) // 2 + n * n)  # the visible half in, everything out


def _program(name: str, **flags: Any) -> Any:
    """A wasteful or wrong kernel; its module needs Triton, so it is imported when it runs."""

    def run(*args: Tensor) -> Tensor:
        from . import lean_programs

        result: Tensor = getattr(lean_programs, name)(*args, **flags)
        return result

    return run


def _square(n: int, size: float = 1.0) -> tuple[Tensor, ...]:
    return here(size * randn(n, n, seed=101))


LEAN_ROWS = Exercise(
    id="05.lean",
    title=Text("Fewer bytes: masked lanes move nothing", "更少的字节：被屏蔽的位置不搬运"),
    spec=Text(
        "Given: softmax of each row of a causal N × N table, right and wasteful. Each row is loaded "
        "three times, and its hidden half as well. Load what is visible, once; write the whole row. "
        "The interpreter counts the bytes that unmasked lanes move.",
        "给出因果 N × N 表逐行的 softmax，结果对，但浪费：每行读了三遍，看不到的一半也读了。"
        "只读看得到的，只读一遍；整行都要写。解释器会数未被屏蔽的位置搬运的字节。",
    ),
    formula="bytes ≤ 4 · (N·(N + 1) / 2 + N·N)",
    passage=Passage(5, Text("A row at a time", "一次一行")),
    entry="causal_rows",
    call="causal_rows(x) -> out [N, N]",
    reference=causal_rows,
    outputs=(Output("out"), Output("bytes", "bytes", None, at_most=True)),
    allowed=lambda x: [32 * _EPS * causal_rows(x.double())[0] + _EPS, 0],
    adapt=with_kernel_bytes,
    cases=[
        Case("value", "N=8", lambda: _square(8)),
        Case("ragged", "N=13", lambda: _square(13)),
        Case("ragged", "N=1", lambda: _square(1)),
        Case("extreme-logits", "× 300", lambda: _square(8, 300.0)),
    ],
    rules=(Rule("own-work", lambda: _square(4), forbidden=TORCH_MATHS | {"tril", "triu"}),),
    variants=(
        Variant(
            "three-loads",
            Text(
                "Every row is still loaded three times, and all of it.",
                "每行还是读了三遍，而且整行都读。",
            ),
            _program("rows", loads=3, half=False),
        ),
        Variant(
            "whole-rows",
            Text(
                "One load now, of the whole row. Mask it with what the row sees: masked lanes move "
                "nothing.",
                "只读一遍了，但读的是整行。用这一行看得到的范围做掩码：被屏蔽的位置不搬运。",
            ),
            _program("rows", half=False),
        ),
        Variant(
            "visible-half-thrice",
            Text(
                "Only the visible half is loaded now, but three times. Keep x.",
                "只读看得到的一半了，但读了三遍。把 x 留着。",
            ),
            _program("rows", loads=3),
        ),
        Variant(
            "visible-half-twice",
            Text("The visible half is loaded twice. Keep x.", "看得到的一半读了两遍。把 x 留着。"),
            _program("rows", loads=2),
        ),
        Variant(
            "hidden-as-zero",
            Text(
                "The bytes are right; hidden lanes hold 0 and count as e^0. They must be −inf.",
                "字节数对了；看不到的位置是 0，会按 e^0 计入。应为 −inf。",
            ),
            _program("rows", fill=0.0),
        ),
        Variant(
            "hidden-not-written",
            Text(
                "The hidden half of the result is never written; it should be 0.",
                "结果中看不到的一半没有写；应为 0。",
            ),
            _program("rows", skip=True),
        ),
    ),
    hints=(
        Text(
            "The report names bytes. How many would one load of a whole row be?",
            "报告给出了字节数。整行读一遍是多少？",
        ),
        Text(
            "A lane that is masked off in the load gets `other` and costs nothing.",
            "load 里被屏蔽的位置得到 `other`，一个字节也不搬。",
        ),
        Text(
            'x = tl.load(x_ptrs, mask=seen & inside, other=-float("inf")), once',
            'x = tl.load(x_ptrs, mask=seen & inside, other=-float("inf"))，只读一遍',
        ),
    ),
    needs_triton=True,
)


def grouped(q: Tensor, k: Tensor) -> tuple[Tensor, int]:
    """The dull reference, and the bytes that are enough: Q, K and S once each."""
    group = len(q) // len(k)
    s = torch.einsum("hd,hnd->hn", q, k.repeat_interleave(group, 0))  # [Hq, N]
    return s, 4 * (q.numel() + k.numel() + s.numel())


def _cache(heads_q: int, heads_kv: int, len_k: int) -> tuple[Tensor, ...]:
    return here(randn(heads_q, 16, seed=102), randn(heads_kv, len_k, 16, seed=103))


LEAN_HEADS = Exercise(
    id="06.lean",
    title=Text("Fewer bytes: one cache for a group of heads", "更少的字节：一组头共读一份缓存"),
    spec=Text(
        "Given: the scores of one new token over a KV cache, one program for each query head, right "
        "and wasteful: the GROUP query heads that share a key head each load it. Let one program "
        "serve the group, its query heads as rows of a tile, and load K once.",
        "给出一个新 token 对 KV 缓存的分数，每个 query 头一个程序实例，结果对，但浪费："
        "共用一个 key 头的 GROUP 个 query 头各读了一遍。"
        "让一个程序实例服务一组，把组里的 query 头当作一个块的各行，K 只读一遍。",
    ),
    formula="bytes ≤ 4 · (Hq·D + Hkv·N·D + Hq·N)",
    passage=Passage(6, Text("The bill of the real kernel", "真正的 kernel 的账单")),
    entry="grouped_scores",
    call="grouped_scores(q, k) -> s [Hq, N]",
    reference=grouped,
    outputs=(Output("s", dtype="float32"), Output("bytes", "bytes", None, at_most=True)),
    allowed=lambda q, k: [16 * _EPS * grouped(q.double().abs(), k.double().abs())[0] + _EPS, 0],
    adapt=with_kernel_bytes,
    cases=[
        Case("value", "Hq=8, Hkv=2, N=32", lambda: _cache(8, 2, 32)),
        Case("ragged", "Hq=6, Hkv=2, N=21", lambda: _cache(6, 2, 21)),
        Case("heads", "Hq=3, Hkv=3, N=16", lambda: _cache(3, 3, 16)),
        Case("heads", "Hq=16, Hkv=1, N=7", lambda: _cache(16, 1, 7)),
    ],
    rules=(Rule("own-work", lambda: _cache(4, 2, 16), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "a-program-a-query-head",
            Text(
                "Each query head still loads the keys of its group by itself.",
                "每个 query 头还是各自读一遍本组的 key。",
            ),
            _program("heads"),
        ),
        Variant(
            "q-again",
            Text(
                "K is loaded once now, Q at every block of keys. Load it before the loop.",
                "K 只读一遍了，但每块 key 都重读了 Q。在循环之前读一次。",
            ),
            _program("groups", again=True),
        ),
        Variant(
            "heads-not-neighbours",
            Text(
                "The bytes are right, the heads are not: a group is GROUP heads in a row, "
                "h_kv · GROUP and the next ones.",
                "字节数对了，头配错了：一组是相邻的 GROUP 个头，从 h_kv · GROUP 开始。",
            ),
            _program("groups", in_a_row=False),
        ),
        Variant(
            "modulo",
            Text(
                "You take h % Hkv, and K is still loaded for every query head.",
                "你用了 h % Hkv，而且每个 query 头还是各读一遍 K。",
            ),
            _program("heads", modulo=True),
        ),
    ),
    hints=(
        Text(
            "With Hq = 8 and Hkv = 2, how often is each key loaded?",
            "Hq = 8、Hkv = 2 时，每个 key 读了几遍？",
        ),
        Text(
            "The grid shrinks to Hkv programs; q becomes a tile [16, D] whose first GROUP rows exist.",
            "网格缩到 Hkv 个程序实例；q 变成块 [16, D]，只有前 GROUP 行存在。",
        ),
        Text(
            "heads = h_kv * GROUP + tl.arange(0, 16), masked below GROUP; s = tl.dot(q, tl.trans(k), "
            'input_precision="ieee")',
            "heads = h_kv * GROUP + tl.arange(0, 16)，小于 GROUP 的才有效；"
            's = tl.dot(q, tl.trans(k), input_precision="ieee")',
        ),
    ),
    needs_triton=True,
)

EXERCISES = (LEAN_ROWS, LEAN_HEADS)
