"""What a mask asks for: nothing, a causal shape, or a tensor that only the reference computes with."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any, NoReturn

import torch
from torch import Tensor

from ..errors import ArgumentError, BackendUnavailable, DeviceError, DtypeError, ShapeError
from ..language import Text
from ..reference.dropout import check_dropout
from ..reference.inputs import check_scalars, check_tensors, problem_of
from ..reference.masked import masked_attention
from .layout import Layout


def check_bool(name: str, value: object) -> bool:
    """`value`, if it is a bool: torch takes neither 0 nor 1 here.

    Raises:
        DtypeError: naming the argument.
    """
    if not isinstance(value, bool):
        expected = Text("True or False", " True 或 False")
        raise DtypeError(name, expected=expected, got=type(value).__name__)
    return value


def structured(
    mask: Tensor | None, is_causal: object, call: Layout
) -> tuple[Tensor | None, bool, bool]:
    """(mask, top-left, bottom-right): what torch's causal biases and `is_causal` ask for.

    Raises:
        ArgumentError: if a mask comes with `is_causal`, or a bias has other lengths than the call.
        DtypeError: if `is_causal` is no bool.
    """
    is_causal = check_bool("is_causal", is_causal)
    if mask is None:
        return None, is_causal, False
    if is_causal:
        raise ArgumentError(
            "attn_mask",
            expected=Text("None together with is_causal=True", "与 is_causal=True 同用时为 None"),
            got=Text("a mask", "一个掩码"),
            hint=Text("one of the two", "两者只给一个"),
        )
    if type(mask).__name__ != "CausalBias":  # its module would load PyTorch's compiler
        check_tensors(attn_mask=mask)
        return mask, False, False
    bias: Any = mask
    lengths = (call.scores[-2], call.scores[-1])
    if (bias.seq_len_q, bias.seq_len_kv) != lengths:
        raise ShapeError(
            "attn_mask",
            expected=Text(f"a bias of lengths {lengths}", f"长度为 {lengths} 的偏置"),
            got=str((bias.seq_len_q, bias.seq_len_kv)),
        )
    upper = bias.variant.name == "UPPER_LEFT"
    return None, upper, not upper


def says_nothing(mask: Tensor, query: Tensor, call: Layout) -> bool:
    """Whether a mask that fits has no pair to speak of.

    Raises:
        DtypeError, ShapeError, DeviceError: if it does not fit.
    """
    if mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise DtypeError(
            "attn_mask",
            expected=Text(
                f"torch.bool, torch.float32 or the dtype of query, {query.dtype}",
                f" torch.bool、torch.float32 或与 query 同为 {query.dtype}",
            ),
            got=str(mask.dtype),
        )
    if mask.device != query.device:
        raise DeviceError("attn_mask", expected=str(query.device), got=str(mask.device))
    scores = call.scores[-call.axes :]
    fits = 2 <= mask.ndim <= len(scores) and all(
        size in (1, whole)
        for size, whole in zip(reversed(mask.shape), reversed(scores), strict=False)
    )
    if not fits:
        expected = Text(
            f"a shape that broadcasts to {list(scores)}", f"能广播到 {list(scores)} 的形状"
        )
        raise ShapeError("attn_mask", expected=expected, got=str(list(mask.shape)))
    return math.prod(scores) == 0 and not mask.requires_grad


def masked(call: Layout, mask: Tensor, scale: float | None, dropout_p: float) -> Tensor:
    """The reference with a mask; the compiler sees plain torch."""
    q, k, v = call.tensors
    if not torch.compiler.is_compiling():
        scale, _ = check_scalars(problem_of(q, k, v), scale, None)
        check_dropout(0.0 if dropout_p == 1 else dropout_p, 0)
    mask = mask.expand(call.scores).reshape(q.shape[0], *call.scores[-3:])
    known = torch.amp.is_autocast_available(q.device.type)
    with torch.autocast(q.device.type, enabled=False) if known else nullcontext():
        return masked_attention(q, k, v, mask, scale=scale, dropout_p=dropout_p)


def refuse_mask(mask: Tensor, chosen: str) -> NoReturn:
    """Say what to use instead of a mask that nothing tiled takes.

    Raises:
        BackendUnavailable: always.
    """
    kind = "bool" if mask.dtype == torch.bool else "additive"
    raise BackendUnavailable(
        f'attn_mask with impl="{chosen}"',
        expected=Text(
            "None or a causal bias of torch.nn.attention.bias",
            " None，或 torch.nn.attention.bias 的因果偏置",
        ),
        got=Text(
            f"a tensor ({kind}), which a tiled kernel would have to read as N x N",
            f"张量（{'布尔' if kind == 'bool' else '加性'}），分块 kernel 得把它当 N x N 矩阵读一遍",
        ),
        hint=Text(
            "is_causal=True or flash_attention(causal=..., window=...) if it only says that; "
            "flash_attention_varlen for padding; "
            'impl="reference", which takes any mask in N x N memory; or torch\'s own function',
            "若它只表示因果或窗口：is_causal=True 或 flash_attention(causal=..., window=...)；"
            '若是补齐：flash_attention_varlen；impl="reference" 接受任何掩码，占 N x N 显存；'
            "或 torch 自己的函数",
        ),
    )
