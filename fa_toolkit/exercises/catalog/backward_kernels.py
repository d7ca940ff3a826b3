"""Exercises of chapter 07, the kernels: Delta, dK and dV, dQ in Triton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...language import Text
from ..spec import (
    TORCH_MATHS,
    Case,
    Exercise,
    Output,
    Passage,
    Rule,
    Variant,
    randn,
)
from .backward_rows import row_delta
from .backward_steps import Saved, Step, dull, finished, left, planted, step_budget
from .devices import here
from .extremes import FAR_BELOW, far_below

_EPS = torch.finfo(torch.float32).eps


def _o_do(len_q: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    return here(*(randn(len_q, 32, seed=seed).to(dtype) for seed in (25, 26)))


def _of_sum() -> tuple[torch.Tensor, ...]:
    o, _ = _o_do(20)
    return o, torch.ones((), device=o.device).expand(o.shape)


def _columns() -> tuple[torch.Tensor, ...]:
    o, do = _o_do(20)
    return o, do.T.contiguous().T


DELTA = Exercise(
    id="07.delta_kernel",
    title=Text("Delta in Triton", "用 Triton 算 Delta"),
    spec=Text(
        "A program owns 16 rows. Load its tiles of o (contiguous, D wide) and of do (through its two "
        "strides, which may be 0), multiply and sum in float32, store one number a row. Rows past "
        "len_q are neither read nor written.",
        "一个程序实例负责 16 行。读入 o（连续，宽 D）和 do（用它的两个步长，步长可能是 0）的块，"
        "用 float32 相乘、求和，每行写一个数。超出 len_q 的行不读也不写。",
    ),
    formula="Delta_i = Σ_d do[i, d] · o[i, d]",
    entry="delta_by_kernel",
    call="delta_by_kernel(o, do) -> delta",
    reference=row_delta,
    outputs=(Output("delta", dtype="float32"),),
    allowed=lambda o, do: [16 * _EPS * (o.double() * do.double()).abs().sum(-1) + _EPS],
    cases=[
        Case("value", "Nq=32", lambda: _o_do(32)),
        Case("ragged", "Nq=21", lambda: _o_do(21)),
        Case("sum-gradient", Text("dO of ones, stride 0", "dO 全 1，步长 0"), _of_sum),
        Case("strides", Text("do stored by columns", "do 按列存放"), _columns),
        Case("dtype", "float16", lambda: _o_do(16, torch.float16)),
    ],
    rules=(Rule("own-work", lambda: _o_do(16), forbidden=TORCH_MATHS),),
    variants=(
        Variant("delta-mean", Text("You divide by the width. Delta is the sum.", "你除以了宽度，Delta 是和。"),
                lambda o, do: row_delta(o.double(), do.double()) / o.shape[1]),
        Variant("delta-of-o", Text("You multiply o with itself. One factor is do.",
                                   "你让 o 与自己相乘，其中一个应是 do。"),
                lambda o, do: row_delta(o.double(), o.double())),
        Variant("delta-of-do", Text("You multiply do with itself. One factor is o.",
                                    "你让 do 与自己相乘，其中一个应是 o。"),
                lambda o, do: row_delta(do.double(), do.double())),
        Variant("half-products", Text("The products are rounded to half precision before they are summed.",
                                      "乘积在求和之前被舍入成了半精度。"),
                lambda o, do: (o * do).float().sum(-1)),
        Variant("do-contiguous", Text("do is read as if it were contiguous. Use its two strides.",
                                      "你把 do 当成连续的来读了，应使用它的两个步长。"),
                lambda o, do: row_delta(o.double(), _as_if_contiguous(do).double())),
    ),
    hints=(
        Text("Take Nq = 16 and a contiguous do first.", "先看 Nq = 16、do 连续的情形。"),
        Text("An address is a base plus row × stride plus column × stride, whatever the strides are.",
             "地址 = 起点 + 行 × 步长 + 列 × 步长，步长是多少都一样。"),
        Text("delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)",
             "delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)"),
    ),
    needs_triton=True,
    passage=Passage(7, Text("First launch: Delta", "第一次启动：Delta")),
)  # fmt: skip


def _as_if_contiguous(do: torch.Tensor) -> torch.Tensor:
    """The same memory, read row by row; past its end 0."""
    flat = do.as_strided((do.untyped_storage().nbytes() // do.element_size(),), (1,))
    padded = torch.zeros(do.numel(), dtype=do.dtype, device=do.device)
    padded[: len(flat)] = flat[: do.numel()]
    return padded.view(do.shape)


def _saved(len_q: int, len_k: int, size: float = 1.0) -> tuple[Any, ...]:
    tensors = (x.contiguous() for x in left(len_q, len_k, d=16, d_v=16, size=size))
    return (*here(*tensors), 0.25)


def _below() -> tuple[Any, ...]:
    """lse far below 0 too, so that e^(s − lse) is infinite for a key that does not exist."""
    q, k, v, do, _, _ = left(21, 37, d=16, d_v=16)
    return (*here(*(x.contiguous() for x in finished((*far_below(q, k), v, do)))), 0.25)


_CASES = [
    Case("value", "Nq=Nk=16", lambda: _saved(16, 16)),
    Case("value", "Nq=48, Nk=32", lambda: _saved(48, 32)),
    Case("ragged", "Nq=21, Nk=37", lambda: _saved(21, 37)),
    Case("extreme-logits", "q, k × 20", lambda: _saved(32, 32, 20.0)),
    Case("extreme-logits", FAR_BELOW, _below),
]


def _args(args: tuple[Any, ...]) -> tuple[Saved, float]:
    return (args[0], args[1], args[2], args[3], args[4], args[5]), args[6]


def _keys_unhidden(*args: Any) -> torch.Tensor:
    """dq where a key that does not exist has p = e^(0 − lse), times the 0 of its k."""
    dq, lse, absent = Step("")(*_args(args), 16, 16)[0], args[4], -len(args[1]) % 16
    return dq + (torch.exp(-lse) * 0.0)[:, None] if absent else dq


def _variant(bug: str, which: slice | int) -> Variant:
    return planted(bug, lambda *args: Step(bug)(*_args(args), 16, 16)[which])


def _exercise(
    name: str,
    which: slice | int,
    bugs: tuple[str, ...],
    more: tuple[Variant, ...] = (),
    **fields: Any,
) -> Exercise:
    budget: Callable[..., Any] = lambda *args: step_budget(*_args(args))  # noqa: E731
    several = isinstance(which, slice)
    return Exercise(
        id=f"07.{name}_kernel",
        entry=f"{name}_by_kernel",
        reference=lambda *args: dull(*_args(args))[which],
        allowed=lambda *args: budget(*args)[which] if several else [budget(*args)[which]],
        cases=_CASES,
        rules=(Rule("own-work", lambda: _saved(16, 16), forbidden=TORCH_MATHS),),
        variants=(*(_variant(bug, which) for bug in bugs), *more),
        needs_triton=True,
        **fields,
    )


DKDV = _exercise(
    "dkdv",
    slice(1, 3),
    ("no-lse", "exp2-mismatch", "no-delta", "delta-sign", "ds-without-p", "not-scaled",
     "scaled-twice", "dv-from-ds", "dv-scaled", "rows-overwritten", "tail-queries-dropped"),
    title=Text("dK and dV in Triton", "用 Triton 算 dK 和 dV"),
    spec=Text(
        "A program owns 16 keys and streams all queries past them; the loads are written. From q, do, "
        "lse and delta of a tile rebuild p and add to dv and dk. s and lse are in natural units; "
        "`tl.dot` with input_precision=\"ieee\".",
        "一个程序实例负责 16 个 key，所有 query 依次经过；读入部分已写好。"
        "由一块的 q、do、lse、delta 重算 p，累加到 dv 和 dk。s 和 lse 用自然单位；"
        "`tl.dot` 要带 input_precision=\"ieee\"。",
    ),
    formula="p = e^(s − lse)   dv += pᵀ·do   ds = p · (do·vᵀ − Delta)   dk += scale · dsᵀ·q",
    call="dkdv_by_kernel(q, k, v, do, lse, delta, scale) -> (dk, dv)",
    outputs=(Output("dk", "gradients"), Output("dv", "gradients")),
    hints=(
        Text("dv first: it needs p alone. Then dk.", "先写 dv，它只用到 p。再写 dk。"),
        Text("Rows past the end have q, do, lse and delta 0, so p is 1 there and adds 0 · 1 to both.",
             "超出末尾的行 q、do、lse、delta 都是 0，p 是 1，加到两边的都是 0。"),
        Text("ds = p * (tl.dot(do, tl.trans(v), input_precision=\"ieee\") - delta[:, None])",
             "ds = p * (tl.dot(do, tl.trans(v), input_precision=\"ieee\") - delta[:, None])"),
    ),
    passage=Passage(7, Text("Second launch: dK and dV", "第二次启动：dK 和 dV")),
    then="07.dq_kernel",
)  # fmt: skip

DQ = _exercise(
    "dq",
    0,
    ("no-lse", "exp2-mismatch", "no-delta", "delta-sign", "ds-without-p", "not-scaled",
     "scaled-twice", "keys-overwritten", "tail-keys-dropped"),
    (Variant("absent-keys", Text(
        "Keys past the end are not hidden. Their k is 0, but p = e^(0 − lse) is infinite where lse is far "
        "below 0, and ∞ · 0 is NaN.",
        "超出末尾的 key 没有遮掉。它们的 k 是 0，但 lse 远低于 0 时 p = e^(0 − lse) 是无穷大，∞ · 0 就是 NaN。",
    ), _keys_unhidden),),
    title=Text("dQ in Triton", "用 Triton 算 dQ"),
    spec=Text(
        "A program owns 16 queries; q, do, lse and delta are loaded. Write the loop over the keys: "
        "load k and v, rebuild p, form ds, add to dq.",
        "一个程序实例负责 16 个 query，q、do、lse、delta 已读入。"
        "写出沿 key 的循环：读 k、v，重算 p，求 ds，累加到 dq。",
    ),
    formula="p = e^(s − lse)   ds = p · (do·vᵀ − Delta)   dq += scale · ds·k",
    call="dq_by_kernel(q, k, v, do, lse, delta, scale) -> dq",
    outputs=(Output("dq", "gradients"),),
    hints=(
        Text("Nk = 16 is one step of the loop; begin there.", "Nk = 16 只有一步，从那里开始。"),
        Text("Keys past the end load as 0. They add 0 to dq, unless e^(0 − lse) is infinite: hide them.",
             "超出末尾的 key 读成 0，给 dq 加的是 0；除非 e^(0 − lse) 是无穷大：要把它们遮掉。"),
        Text("dq += tl.dot(ds, k, input_precision=\"ieee\") * scale",
             "dq += tl.dot(ds, k, input_precision=\"ieee\") * scale"),
    ),
    passage=Passage(7, Text("Third launch: dQ", "第三次启动：dQ")),
    then="07.full",
)  # fmt: skip

EXERCISES = (DELTA, DKDV, DQ)
