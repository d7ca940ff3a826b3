"""What q, k, v must look like, and which pairs a mask lets through. Computes no attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ..language import Text
from ..problem import ITEMSIZE, AttentionProblem, Dtype

_NAMES: dict[torch.dtype, Dtype] = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


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
    return AttentionProblem(*sizes, _NAMES[q.dtype], causal, window)


def check_scalars(
    problem: AttentionProblem, scale: float | None, softcap: float | None
) -> tuple[float, float]:
    """(scale, cap) as numbers: 1/sqrt(D) for no scale, 0 for no cap.

    Raises:
        ArgumentError: if the cap is negative or either is not finite.
    """
    scale = 1.0 / math.sqrt(problem.head_dim) if scale is None else float(scale)
    cap = 0.0 if softcap is None else float(softcap)
    if not math.isfinite(scale):
        raise ArgumentError("scale", expected=Text("a finite number", "有限的数"), got=repr(scale))
    if not (math.isfinite(cap) and cap >= 0):
        expected = Text("a finite number, 0 or more", "不小于 0 的有限数")
        hint = Text("None or 0 switches the cap off", "None 或 0 表示不设上限")
        raise ArgumentError("softcap", expected=expected, got=repr(softcap), hint=hint)
    return scale, cap


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
    if problem.left is not None:
        visible &= j >= i - problem.left
    if problem.right is not None:
        visible &= j <= i + problem.right
    return visible
