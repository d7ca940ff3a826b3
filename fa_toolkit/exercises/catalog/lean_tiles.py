"""Fewer bytes, chapter 04: the order of the two loops."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

from typing import Any

import torch

from ... import io_model
from ...language import Text
from ...problem import TileShape
from ..counted import Hbm, with_bytes
from ..spec import Case, Exercise, Output, Passage, Rule, Variant, attention_budget, randn
from .lean import attention_problem

Tensor = torch.Tensor


def flash_forward(hbm: Hbm, block: int) -> tuple[Tensor, Tensor, int]:
    """The dull reference, and the bytes of the flash forward pass in the I/O model."""
    q, k, v = (hbm.given[name].double() for name in "QKV")
    s = q @ k.T * q.shape[1] ** -0.5  # [N, N]
    target = io_model.flash_forward_traffic(
        attention_problem(*q.shape), TileShape(block, block)
    ).total
    return torch.softmax(s, 1) @ v, torch.logsumexp(s, 1), target


def _head(n: int, d: int, block: int, *, rising: bool = False) -> tuple[Hbm, int]:
    given = {name: randn(n, d, seed=80 + i) for i, name in enumerate("QKV")}
    if rising:
        given["Q"] = given["Q"].abs()
        given["K"] = given["K"] * torch.arange(1, n + 1)[:, None] / 8
    room = 6 * block * d + 4 * block  # six blocks, and the rows of m and l
    results = {"O": (n, d), "lse": (n,)}
    return Hbm(given, results, scratch={"m": (n,), "l": (n,)}, sram=room), block


def _head_budget(hbm: Hbm, block: int) -> list[Any]:
    return [*attention_budget(*(hbm.given[name] for name in "QKV")), 0]


def _loops(bug: str) -> Any:
    """Rows outside, keys inside, with one kind of waste or one mistake."""

    def run(hbm: Hbm, block: int) -> None:
        n, d = hbm.shape("Q")
        for i in range(0, n, block):
            q = hbm.load("Q", i, i + block)
            m, l, acc = torch.full([block], -torch.inf), torch.zeros(block), torch.zeros(block, d)
            for j in range(0, n, block):
                if bug == "q-again" and j:
                    q = hbm.load("Q", i, i + block)
                if bug == "keys-and-values-again":
                    hbm.load("K", j, j + block)
                    hbm.load("V", j, j + block)
                s = q @ hbm.load("K", j, j + block).T * d**-0.5
                new = torch.maximum(m, s.amax(1))
                alpha, p = (m - new).exp(), (s - new[:, None]).exp()
                l = l * alpha + p.sum(1)
                old = acc if bug == "acc-not-rescaled" else acc * alpha[:, None]
                acc, m = old + p @ hbm.load("V", j, j + block), new
                if bug == "output-each-tile":
                    hbm.store("O", i, acc / l[:, None])
                if bug == "state-spilled":
                    acc, m, l = _there_and_back(hbm, i, block, acc=acc, m=m, l=l)
            if bug == "divided-later":
                hbm.store("O", i, acc)
                acc = hbm.load("O", i, i + block)
            hbm.store("O", i, acc / l[:, None])
            hbm.store("lse", i, m + l.log())

    return run


def _there_and_back(
    hbm: Hbm, i: int, block: int, *, acc: Tensor, m: Tensor, l: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    for name, rows in (("O", acc), ("m", m), ("l", l)):
        hbm.store(name, i, rows)
    acc, m, l = (hbm.load(name, i, i + block) for name in ("O", "m", "l"))
    return acc, m, l


def _keys_outside(hbm: Hbm, block: int) -> None:
    """The code as given: K and V outside."""
    n, d = hbm.shape("Q")
    for i in range(0, n, block):
        hbm.store("O", i, torch.zeros(block, d))
        hbm.store("m", i, torch.full([block], -torch.inf))
        hbm.store("l", i, torch.zeros(block))
    for j in range(0, n, block):
        k, v = hbm.load("K", j, j + block), hbm.load("V", j, j + block)
        for i in range(0, n, block):
            q, acc = hbm.load("Q", i, i + block), hbm.load("O", i, i + block)
            m, l = hbm.load("m", i, i + block), hbm.load("l", i, i + block)
            s = q @ k.T * d**-0.5
            new = torch.maximum(m, s.amax(1))
            alpha, p = (m - new).exp(), (s - new[:, None]).exp()
            hbm.store("O", i, acc * alpha[:, None] + p @ v)
            hbm.store("m", i, new)
            hbm.store("l", i, l * alpha + p.sum(1))
    for i in range(0, n, block):
        acc, l = hbm.load("O", i, i + block), hbm.load("l", i, i + block)
        hbm.store("O", i, acc / l[:, None])
        hbm.store("lse", i, hbm.load("m", i, i + block) + l.log())


def _variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), _loops(bug))


LEAN_FORWARD = Exercise(
    id="04.lean",
    title=Text("Fewer bytes: which loop is outside", "更少的字节：哪个循环在外面"),
    spec=Text(
        "Given: Flash Attention with the loop over keys outside, right and wasteful. For every tile "
        "acc, m and l come from HBM and go back. Turn the loops round, keep the state of a block of "
        "rows on chip, and meet the bytes of the I/O model for this block. About six blocks fit on "
        "chip at a time. N is a multiple of the block.",
        "给出 key 循环在外面的 Flash Attention，结果对，但浪费：每个块都要把 acc、m、l 从 HBM 取来再放回去。"
        "把两个循环换过来，让一块行的状态留在片上，达到 I/O 模型在这个块大小下的字节数。"
        "片上大约同时放得下六个块。N 是块大小的整数倍。",
    ),
    formula="bytes ≤ ((1 + 2·N / block)·N·D + N·D) · itemsize + 4·N",
    passage=Passage(4, Text("What really moved", "真正搬了什么")),
    widget="fa.viz.tile_player()",
    entry="lean_forward",
    call="lean_forward(hbm, block); hbm.load(name, start, stop), hbm.store(name, start, rows)",
    reference=flash_forward,
    outputs=(
        Output("O", dtype=None),
        Output("lse", "lse", None),
        Output("bytes", "bytes", None, at_most=True),
    ),
    allowed=_head_budget,
    adapt=with_bytes("O", "lse"),
    cases=[
        Case("value", "N=16, D=8, block=4", lambda: _head(16, 8, 4)),
        Case("value", "N=32, D=8, block=8", lambda: _head(32, 8, 8)),
        Case("value", Text("rising scores", "分数递增"), lambda: _head(16, 8, 4, rising=True)),
    ],
    rules=(Rule("one-block", lambda: _head(32, 8, 8), limit=8 * 8),),
    variants=(
        Variant(
            "keys-outside",
            Text(
                "The loop over keys is still outside: acc, m and l cross the boundary once a tile.",
                "key 循环还在外面：acc、m、l 每个块都要进出一次。",
            ),
            _keys_outside,
        ),
        _variant(
            "state-spilled",
            "The loops are right; acc, m and l are still stored and loaded at every tile.",
            "循环的顺序对了；acc、m、l 还是每个块都存一次、取一次。",
        ),
        _variant(
            "q-again",
            "Q is loaded at every tile. It does not change in the inner loop.",
            "每个块都重读了 Q。内层循环里 Q 不变。",
        ),
        _variant(
            "output-each-tile",
            "O is stored at every tile of keys. Store it once, after the last.",
            "每个 key 块都写了一次 O。最后写一次就够。",
        ),
        _variant(
            "keys-and-values-again",
            "K and V are loaded twice a tile. One pass over the keys is enough.",
            "每个块的 K 和 V 都读了两次。走一遍 key 就够。",
        ),
        _variant(
            "divided-later",
            "acc goes to HBM un-normalised and comes back for the division. Divide before the store.",
            "acc 没归一化就写回 HBM，再取回来做除法。先除再写。",
        ),
        _variant(
            "acc-not-rescaled",
            "The bytes are right; acc is not rescaled when m grows.",
            "字节数对了；m 变大时 acc 没有修正。",
        ),
    ),
    hints=(
        Text(
            "Count for one tile what crosses the boundary. What of it has been on chip a moment ago?",
            "数一数一个块有哪些东西进出。其中哪些刚刚还在片上？",
        ),
        Text(
            "With rows outside, m, l and acc live from the first block of keys to the last, and Q is "
            "loaded once a row block.",
            "行在外面时，m、l、acc 从第一块 key 活到最后一块，Q 每个行块只读一次。",
        ),
        Text(
            "for i: q = load Q; m, l, acc = empty; for j: load K, V and update; then store O and lse",
            "for i：q = 读 Q；m, l, acc = 空；for j：读 K、V 并更新；最后写 O 和 lse",
        ),
    ),
)

EXERCISES = (LEAN_FORWARD,)
