"""The public door: `flash_attention` checks its arguments, chooses an implementation, runs it.

Every implementation offers the same two functions, forward and backward, so autograd, validation
and the choice exist once. Computes nothing itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args, overload

import torch
from torch import Tensor
from torch.amp.autocast_mode import is_autocast_available

from .errors import ArgumentError, BackendUnavailable, DeviceError, DtypeError
from .language import Text
from .problem import AttentionProblem
from .reference.inputs import check_scalars, check_tensors, problem_of
from .tiled import merge_partials

Impl = Literal["auto", "triton", "tiled", "reference"]
Implementation = Literal["triton", "tiled", "reference"]
Gradients = tuple[Tensor, Tensor, Tensor, Tensor | None]

__all__ = ["flash_attention", "merge_partials"]


@dataclass(frozen=True)
class _Call:
    """The checked arguments of one call that are not tensors."""

    problem: AttentionProblem
    scale: float
    softcap: float

    @property
    def keywords(self) -> dict[str, Any]:
        """As `reference` and `tiled` take them."""
        return {
            "causal": self.problem.causal,
            "window": self.problem.window,
            "softcap": self.softcap,
            "scale": self.scale,
        }


class _Backend(NamedTuple):
    """One implementation. `refuse` raises BackendUnavailable for what it cannot do."""

    forward: Callable[[_Call, Tensor, Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]
    backward: Callable[..., Gradients] | None
    refuse: Callable[[_Call, bool, bool], None]


def _reference_forward(
    call: _Call, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None
) -> tuple[Tensor, Tensor]:
    from .reference import attention

    return attention(q, k, v, sink=sink, **call.keywords)


def _reference_backward(call: _Call, *saved: Tensor, sink: Tensor | None) -> Gradients:
    from .reference import attention_backward

    return attention_backward(*saved, sink=sink, **call.keywords)


def _tiled_forward(
    call: _Call, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None
) -> tuple[Tensor, Tensor]:
    from .tiled import flash_forward

    return flash_forward(q, k, v, sink=sink, **call.keywords)


def _tiled_backward(call: _Call, *saved: Tensor, sink: Tensor | None) -> Gradients:
    from .tiled import flash_backward

    return flash_backward(*saved, sink=sink, **call.keywords)


def _triton_forward(
    call: _Call, q: Tensor, k: Tensor, v: Tensor, sink: Tensor | None
) -> tuple[Tensor, Tensor]:
    kernels = importlib.import_module(".kernels", __package__)
    result: tuple[Tensor, Tensor] = kernels.flash_forward(
        q, k, v, causal=call.problem.causal, scale=call.scale
    )
    return result


def _refuse_nothing(call: _Call, has_sink: bool, needs_grad: bool) -> None:
    """Plain torch runs everywhere and does everything."""


def _refuse_triton(call: _Call, has_sink: bool, needs_grad: bool) -> None:
    lacking = {
        Text("float64", "float64"): call.problem.dtype == "float64",
        Text("window", "window"): call.problem.window not in (None, (-1, -1)),
        Text("softcap", "softcap"): bool(call.softcap),
        Text("sink", "sink"): has_sink,
        Text("gradients", "梯度"): needs_grad,
    }
    missing = [name for name, wanted in lacking.items() if wanted]
    if missing:
        raise BackendUnavailable(
            'impl="triton"',
            expected=Text(
                "a call the Triton kernel can do: forward, full or causal",
                "Triton kernel 能完成的调用：前向，无掩码或因果掩码",
            ),
            got=Text(", ".join(m.en for m in missing), "、".join(m.zh for m in missing)),
            hint=Text(
                'impl="tiled"' + (", or torch.no_grad()" if needs_grad else ""),
                'impl="tiled"' + ("，或 torch.no_grad()" if needs_grad else ""),
            ),
        )


_BACKENDS: dict[str, _Backend] = {
    "reference": _Backend(_reference_forward, _reference_backward, _refuse_nothing),
    "tiled": _Backend(_tiled_forward, _tiled_backward, _refuse_nothing),
    "triton": _Backend(_triton_forward, None, _refuse_triton),
}


class _Attention(torch.autograd.Function):
    """(o, lse) with gradients through both, whichever implementation runs."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        sink: Tensor | None,
        call: _Call,
        backend: _Backend,
    ) -> tuple[Tensor, Tensor]:
        o, lse = backend.forward(call, q, k, v, sink)
        ctx.save_for_backward(q, k, v, o, lse, sink)
        ctx.call, ctx.backend = call, backend
        ctx.set_materialize_grads(False)
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
        q, k, v, o, lse, sink = ctx.saved_tensors
        if do is None and dlse is None:
            return (None,) * 6
        with torch.no_grad():
            filled = torch.zeros_like(o) if do is None else do
            grads = ctx.backend.backward(ctx.call, q, k, v, o, lse, filled, dlse, sink=sink)
        if torch.is_grad_enabled():  # create_graph=True
            sources = [x for x in (q, k, v, sink, do, dlse) if x is not None]
            grads = _no_second_derivative(sources, grads)
        wanted = zip(grads, ctx.needs_input_grad, strict=False)
        return (*(grad if needed else None for grad, needed in wanted), None, None)


class _NoSecondDerivative(torch.autograd.Function):
    """Passes a gradient through; whoever differentiates it again is told that it cannot be."""

    @staticmethod
    def forward(ctx: Any, grad: Tensor, *sources: Tensor) -> Tensor:
        return grad.view_as(grad)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise BackendUnavailable(
            "flash_attention",
            expected=Text("gradients of first order", "一阶梯度"),
            got=Text("a gradient of its gradient", "对梯度再求梯度"),
            hint=Text(
                "reference.attention, which autograd can differentiate twice",
                "reference.attention，autograd 可以对它求二阶导",
            ),
        )


def _no_second_derivative(sources: list[Tensor], grads: Gradients) -> Gradients:
    def guard(grad: Tensor) -> Tensor:
        guarded: Tensor = _NoSecondDerivative.apply(grad, *sources)  # type: ignore[no-untyped-call]
        return guarded

    dq, dk, dv, dsink = grads
    return guard(dq), guard(dk), guard(dv), None if dsink is None else guard(dsink)


def _choose(impl: str, q: Tensor) -> Implementation:
    if impl not in get_args(Impl):
        raise ArgumentError(
            "impl", expected=" | ".join(f'"{name}"' for name in get_args(Impl)), got=repr(impl)
        )
    if impl != "auto":
        return impl  # type: ignore[return-value]
    return "triton" if q.is_cuda else "tiled"


def _autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors in the dtype autocast asks for on their device; float64 stays, as in torch."""
    device = tensors[0].device.type
    if not is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    castable = [x.is_floating_point() and x.dtype != torch.float64 for x in tensors]
    return tuple(x.to(dtype) if ok else x for x, ok in zip(tensors, castable, strict=True))


def _without_autocast(q: Tensor) -> AbstractContextManager[Any]:
    """A device such as meta has no autocast that could be switched off."""
    device = q.device.type
    return torch.autocast(device, enabled=False) if is_autocast_available(device) else nullcontext()


def _check_sink(sink: Tensor | None, q: Tensor) -> None:
    if sink is not None and not sink.is_floating_point():
        raise DtypeError(
            "sink",
            expected=Text("a floating point type", "浮点类型"),
            got=str(sink.dtype),
            hint=Text("sink.float()", "sink.float()"),
        )
    if sink is not None and sink.device != q.device:
        raise DeviceError("sink", expected=str(q.device), got=str(sink.device))


@overload
def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    return_lse: Literal[False] = ...,
    impl: Impl = ...,
) -> Tensor: ...
@overload
def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    return_lse: Literal[True],
    impl: Impl = ...,
) -> tuple[Tensor, Tensor]: ...
def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    return_lse: bool = False,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ) v, exactly, in memory that grows with N and not with N².

    Keys and values are streamed in tiles past each tile of queries. What the scores of earlier
    tiles add up to is carried along as (m, l, acc), so no tile is ever looked at twice.

        s = scale * q k^T,  capped,  masked         lse = log(sum_j e^(s_ij) + e^sink)
        p = e^(s - lse)                             o   = p v

    Query i stands at key position i + Nk - Nq: the last query sees the last key. A row that sees
    no key gives o = 0 and lse = -inf (or lse = sink).

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; Hq a multiple of Hkv;
        o: [B, Hq, Nq, Dv]; lse: [B, Hq, Nq].

    Args:
        window: (left, right) keys around a query's own position, inclusive; -1 is unbounded.
        softcap: scores become cap * tanh(s / cap); None or 0 is off.
        scale: 1 / sqrt(D) if None.
        sink: [Hq], one extra logit per query head, in the denominator only.
        return_lse: also return the log-sum-exp (natural logarithm), differentiable.
        impl: "auto" runs the Triton kernel for CUDA tensors and the tiled algorithm otherwise;
            "triton", "tiled" or "reference" run just that.

    Returns:
        o in the dtype of q, or (o, lse) with lse in float32 (float64 for float64 inputs).

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
        BackendUnavailable: if the implementation cannot do this call here, with what can.

    Example:
        >>> q = k = v = torch.ones(1, 2, 3, 16)
        >>> o, lse = flash_attention(q, k, v, causal=True, return_lse=True)
        >>> bool((o == 1).all()), [round(x, 4) for x in (lse[0, 0] - 4).tolist()]
        (True, [0.0, 0.6931, 1.0986])
    """
    check_tensors(q=q, k=k, v=v)
    q, k, v = _autocast(q, k, v)
    problem = problem_of(q, k, v, causal=causal, window=window, sink=sink)
    _check_sink(sink, q)
    call = _Call(problem, *check_scalars(problem, scale, softcap))
    backend = _BACKENDS[_choose(impl, q)]
    tensors = [q, k, v] if sink is None else [q, k, v, sink]
    needs_grad = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    backend.refuse(call, sink is not None, needs_grad)
    with _without_autocast(q):
        o, lse = _Attention.apply(q, k, v, sink, call, backend)  # type: ignore[no-untyped-call]
    return (o, lse) if return_lse else o
