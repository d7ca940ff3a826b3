"""What q, k, v must look like, and which pairs a mask lets through. Computes no attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ..language import Text
from ..problem import ITEMSIZE, AttentionProblem, Dtype, known_problem

_NAMES: dict[torch.dtype, Dtype] = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


def check_tensors(**named: object) -> None:
    """Refuse what is no ordinary torch tensor, before anything is asked of it.

    Raises:
        DtypeError: naming the argument.
    """
    for name, x in named.items():
        if not isinstance(x, Tensor):
            raise DtypeError(
                name,
                expected=Text("a torch tensor", " torch 张量"),
                got=type(x).__name__,
                hint=f"torch.as_tensor({name})",
            )
        if x.is_nested or x.layout is not torch.strided:
            kind = "nested" if x.is_nested else str(x.layout)
            raise DtypeError(name, expected=Text("a dense tensor", "稠密张量"), got=kind)


def problem_of(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    sink: Tensor | None = None,
) -> AttentionProblem:
    """Check the tensors of one attention call against each other and describe them.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; sink: [Hq].

    Raises:
        ShapeError, DtypeError, DeviceError: naming the tensor that does not fit.
        ArgumentError: if a size or the window is outside what `AttentionProblem` allows.
    """
    check_tensors(q=q, k=k, v=v, **({} if sink is None else {"sink": sink}))
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise ShapeError(name, expected="[B, H, N, D]", got=str(list(x.shape)))
        if x.dtype not in _NAMES:
            raise DtypeError(name, expected=" | ".join(ITEMSIZE), got=str(x.dtype))
        if x.dtype != q.dtype:
            raise DtypeError(
                name,
                expected=Text(f"the dtype of q, {q.dtype}", f"与 q 同为 {q.dtype}"),
                got=str(x.dtype),
                hint=f"{name}.to(q.dtype)",
            )
        if x.device != q.device:
            raise DeviceError(
                name,
                expected=Text(f"the device of q, {q.device}", f"与 q 同在 {q.device}"),
                got=str(x.device),
                hint=f"{name}.to(q.device)",
            )
    batch, heads_q, len_q, head_dim = q.shape
    heads_kv, len_k, head_dim_v = v.shape[1:]
    if k.shape != (batch, heads_kv, len_k, head_dim):
        wanted = str([batch, heads_kv, len_k, head_dim])
        raise ShapeError("k", expected=wanted, got=str(list(k.shape)))
    if v.shape[0] != batch:
        raise ShapeError("v", expected=f"[{batch}, Hkv, Nk, Dv]", got=str(list(v.shape)))
    if head_dim_v == 0:  # AttentionProblem reads 0 as "the same as head_dim"
        raise ShapeError("v", expected="Dv 1..256", got=str(list(v.shape)))
    if sink is not None and sink.shape != (heads_q,):
        raise ShapeError("sink", expected=f"[{heads_q}]", got=str(list(sink.shape)))
    sizes = (batch, heads_q, heads_kv, len_q, len_k, head_dim, head_dim_v)
    try:
        return known_problem(*sizes, _NAMES[q.dtype], causal=causal, window=window)
    except ArgumentError as error:
        if error.name == "heads_q" and len_k and len_q % len_k == 0:
            error.hint = _SWAPPED
        raise


_SWAPPED = Text(
    "q, k and v are [B, H, N, D] (packed: [T, H, D]); x.transpose(1, 2) if yours are [B, N, H, D]",
    "q、k、v 是 [B, H, N, D]（打包时 [T, H, D]）；若是 [B, N, H, D]，先 x.transpose(1, 2)",
)


def check_scalars(
    problem: AttentionProblem, scale: float | None, softcap: float | None
) -> tuple[float, float]:
    """(scale, cap) as numbers: 1/sqrt(D) for no scale, 0 for no cap.

    Raises:
        ArgumentError: if either is no number, not finite where the scores are computed, or the cap
            is negative.
    """
    root = math.sqrt(problem.head_dim)
    scale = 1.0 / root if scale is None else number("scale", scale)
    cap = 0.0 if softcap is None else number("softcap", softcap)
    limits = torch.finfo(torch.float64 if problem.dtype == "float64" else torch.float32)
    if not abs(scale) <= limits.max / 2:  # in base 2 it is 1.44 times as large
        raise ArgumentError("scale", expected=Text("a finite number", "有限的数"), got=repr(scale))
    if not (cap == 0 or limits.tiny <= cap <= limits.max):
        expected = Text("a finite number, 0 or more", "不小于 0 的有限数")
        if 0 < cap < limits.tiny:
            expected = Text(f"0, or at least {limits.tiny:.2g}", f" 0 或不小于 {limits.tiny:.2g}")
        hint = Text("None or 0 switches the cap off", "None 或 0 表示不设上限")
        raise ArgumentError("softcap", expected=expected, got=repr(softcap), hint=hint)
    return scale, cap


def number(name: str, value: object) -> float:
    """`value` as a float.

    Raises:
        ArgumentError: if it is no number, or one that asks for a gradient.
    """
    if getattr(value, "requires_grad", False):
        raise ArgumentError(
            name,
            expected=Text("a number, which has no gradient", "一个数，它没有梯度"),
            got=Text("a tensor that requires one", "要求梯度的张量"),
            hint=Text(f"{name}.item()", f"{name}.item()"),
        )
    shown = " ".join(repr(value).split())[:60]
    if isinstance(value, (str, bytes, bytearray)):  # float() would read them
        raise ArgumentError(name, expected=Text("a number", "一个数"), got=shown)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ArgumentError(name, expected=Text("a number", "一个数"), got=shown) from error


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type arithmetic is done in: float64 for float64, else float32.

    The log-sum-exp comes in this type too.
    """
    return torch.float64 if dtype == torch.float64 else torch.float32


def visible_pairs(
    problem: AttentionProblem,
    rows: tuple[int, int],
    cols: tuple[int, int],
    device: torch.device | str = "cpu",
) -> Tensor:
    """[rows, cols] of bool: may query i see key j? The tile form of `problem.sees`.

    Example:
        >>> visible_pairs(AttentionProblem(len_q=2, len_k=3, causal=True), (0, 2), (0, 3)).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    i = torch.arange(*rows, device=device)[:, None] + problem.diagonal
    j = torch.arange(*cols, device=device)[None, :]
    visible = torch.ones(rows[1] - rows[0], cols[1] - cols[0], dtype=torch.bool, device=device)
    everything = problem.len_q + problem.len_k  # a wider bound hides nothing, and may not fit int64
    if problem.left is not None and problem.left < everything:
        visible &= j >= i - problem.left
    if problem.right is not None and problem.right < everything:
        visible &= j <= i + problem.right
    return visible
