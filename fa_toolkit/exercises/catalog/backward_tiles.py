"""Exercises of chapter 07, the tiles: dV, dK and dQ of one head from what forward saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Passage, Rule
from .backward_steps import Saved, Step, dull, left, left_strided, planted, step_budget

_WHICH = {"dq": 0, "dk": 1, "dv": 2}
_AUTOGRAD = frozenset(["grad", "backward", "vjp"])
_SHARED = Text(
    "One head. lse [Nq] and delta [Nq] are float32. Rebuild P tile by tile; nothing of Nq × Nk "
    "elements may exist. Any lengths; the sum in float32.",
    "一个头。lse [Nq]、delta [Nq] 为 float32。P 逐块重算，不能出现 Nq × Nk 个元素的张量。"
    "长度任意，累加用 float32。",
)


def _split(name: str, args: tuple[Any, ...]) -> tuple[Saved, float, int, int]:
    """The arguments of an exercise as `dull` takes them; dV needs neither v nor delta."""
    if name == "dv":
        q, k, lse, do, block_m, block_n = args
        v, delta = torch.zeros(len(k), do.shape[1]).to(do), torch.zeros_like(lse)
    else:
        q, k, v, do, lse, delta, block_m, block_n = args
    return (q, k, v, do, lse, delta), q.shape[1] ** -0.5, block_m, block_n


def _args(name: str, saved: Saved, block_m: int, block_n: int) -> tuple[Any, ...]:
    q, k, v, do, lse, delta = saved
    needed = (q, k, lse, do) if name == "dv" else (q, k, v, do, lse, delta)
    return (*needed, block_m, block_n)


def _cases(name: str) -> list[Case]:
    def made(make: Callable[[], Saved], bm: int, bn: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: _args(name, make(), bm, bn)

    return [
        Case("value", "Nq=Nk=16, block 8 × 4", made(lambda: left(16, 16), 8, 4)),
        Case("value", "Nq=32, Nk=24, Dv=5, block 8 × 8", made(lambda: left(32, 24, d_v=5), 8, 8)),
        Case("ragged", "Nq=19, Nk=13, block 8 × 4", made(lambda: left(19, 13), 8, 4)),
        Case("ragged", "Nq=1, Nk=3, block 16 × 16", made(lambda: left(1, 3), 16, 16)),
        Case("extreme-logits", "q, k × 30", made(lambda: left(16, 16, size=30.0), 4, 8)),
        Case("strides", Text("any strides, dO of stride 0", "任意步长，dO 的步长为 0"),
             made(left_strided, 8, 8)),
    ]  # fmt: skip


def _variant(name: str, bug: str) -> Any:
    return planted(bug, lambda *args: Step(bug)(*_split(name, args))[_WHICH[name]])


def _exercise(name: str, bugs: tuple[str, ...], **texts: Any) -> Exercise:
    """One of the three; `texts` are title, spec, formula, call, hints."""
    spec = texts.pop("spec")
    return Exercise(
        id=f"07.{name}",
        entry=f"grad_{name[1]}",
        spec=Text(f"{spec.en} {_SHARED.en}", f"{spec.zh}{_SHARED.zh}"),
        reference=lambda *args: dull(*_split(name, args)[:2])[_WHICH[name]],
        outputs=(Output(name, "gradients", None),),
        allowed=lambda *args: [step_budget(*_split(name, args)[:2])[_WHICH[name]]],
        cases=_cases(name),
        rules=(
            Rule("no-n-by-n", lambda: _args(name, left(96, 96), 16, 16), limit=96 * 96),
            Rule("own-work", lambda: _args(name, left(8, 8), 4, 4), forbidden=READY_MADE | _AUTOGRAD),
        ),
        variants=tuple(_variant(name, bug) for bug in bugs),
        passage=Passage(7, Text("dV, dK and dQ", "dV、dK 和 dQ")),
        widget="fa.viz.tile_player(fa.AttentionProblem(len_q=16, len_k=16, head_dim=8), backward=True)",
        **texts,
    )  # fmt: skip


DV = _exercise(
    "dv",
    ("no-scale", "no-lse", "exp2-mismatch", "dv-scaled", "rows-overwritten", "tail-queries-dropped",
     "tail-keys-dropped"),
    title=Text("dV in tiles", "分块算 dV"),
    spec=Text("Return dV [Nk, Dv]. It needs P and dO, and neither V nor Delta.",
              "返回 dV [Nk, Dv]。它用到 P 和 dO，用不到 V 和 Delta。"),
    formula="P = e^(q·kᵀ/√D − lse)   dV = Pᵀ·dO",
    call="grad_v(q, k, lse, do, block_m, block_n) -> dv",
    hints=(
        Text("Begin with one tile, block_m ≥ Nq. Then let the rows come in two.",
             "先只用一块（block_m ≥ Nq），再让行分两块来。"),
        Text("Every row of P sums to 1 over all tiles of keys: add it up.",
             "P 的每一行在所有 key 块上加起来是 1，加加看。"),
        Text("p = (s - lse[rows, None]).exp(); dv[keys] += p.T @ do[rows]",
             "p = (s - lse[rows, None]).exp()；dv[keys] += p.T @ do[rows]"),
    ),
    then="07.dk",
)  # fmt: skip

_OF_S = ("no-lse", "exp2-mismatch", "no-delta", "delta-sign", "ds-without-p", "not-scaled",
         "scaled-twice", "scaled-again", "tail-queries-dropped", "tail-keys-dropped")  # fmt: skip

DK = _exercise(
    "dk",
    (*_OF_S, "rows-overwritten"),
    title=Text("dK in tiles", "分块算 dK"),
    spec=Text("Return dK [Nk, D]. One loop over the keys whose gradient you write, inside it one over "
              "the queries that send something.",
              "返回 dK [Nk, D]。外层走要写梯度的 key，内层走所有送来贡献的 query。"),
    formula="dS = P · (dO·vᵀ − Delta)   dK = dSᵀ·q/√D",
    call="grad_k(q, k, v, do, lse, delta, block_m, block_n) -> dk",
    hints=(
        Text("If only “ragged” fails, look at the last slice; if only sizes with several tiles of "
             "queries fail, at what is carried over.",
             "若只有“长度不整除”错，看最后一段；若只在 query 有多块时错，看跨块累加的量。"),
        Text("Every row of dS sums to 0 over all keys.", "dS 的每一行在所有 key 上加起来是 0。"),
        Text("ds = p * (do[rows] @ v[keys].T - delta[rows, None]); dk[keys] += scale * ds.T @ q[rows]",
             "ds = p * (do[rows] @ v[keys].T - delta[rows, None])；dk[keys] += scale * ds.T @ q[rows]"),
    ),
    then="07.dq",
)  # fmt: skip

DQ = _exercise(
    "dq",
    (*_OF_S, "keys-overwritten"),
    title=Text("dQ in tiles", "分块算 dQ"),
    spec=Text("Return dQ [Nq, D]. The same dS, and the loops the other way round: queries outside, "
              "keys inside.",
              "返回 dQ [Nq, D]。dS 相同，循环反过来：外层走 query，内层走 key。"),
    formula="dS = P · (dO·vᵀ − Delta)   dQ = dS·k/√D",
    call="grad_q(q, k, v, do, lse, delta, block_m, block_n) -> dq",
    hints=(
        Text("Compare with your dK: the same ds, another operand, no transpose.",
             "和你的 dK 对照：ds 相同，换一个操作数，不转置。"),
        Text("A row's dQ is a sum over all its keys; it is complete after the last tile only.",
             "一行的 dQ 是对它所有 key 的和，走完最后一块才完整。"),
        Text("dq[rows] += scale * ds @ k[keys]", "dq[rows] += scale * ds @ k[keys]"),
    ),
    then="07.full",
)  # fmt: skip

EXERCISES = (DV, DK, DQ)
