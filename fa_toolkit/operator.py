"""The operator `fa_toolkit::attention` and its backward, as PyTorch's compiler and autograd see them.

A batch [B, H, N, D] and packed sequences [T, H, D], which come with offsets, are calls of the same
operator. Every implementation runs behind the same two operators, so shapes for tracing, gradients and
refusals exist once. Checks no arguments and chooses nothing: that is `attention`.
"""

from __future__ import annotations

import functools
import importlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import torch
from torch import Tensor

from .door import has_tangent, refuse_hopper
from .errors import BackendUnavailable
from .language import Text
from .launches import Options, ready_backward, ready_forward
from .reference.varlen import each_backward, each_forward
from .repeated import Ready, is_only_recorded, is_plain, is_recorded

# what is not a tensor, in the order of both schemas and of `Options`
_OPTIONS = (
    "bool causal, SymInt left, SymInt right, float softcap, float? scale, float dropout_p, str impl, "
    "bool? deterministic=None"
)
_MORE = "Tensor? sink, Tensor? seed, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k"
_TENSORS = 7  # q, k, v and those of _MORE
_KERNELS = ("auto", "hopper", "triton")  # what runs on the kernels floor, once `_settled`
_FORWARD = f"(Tensor q, Tensor k, Tensor v, {_MORE}, {_OPTIONS})"
_BACKWARD = (
    "(Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor do, Tensor? dlse, "
    f"{_MORE}, bool needs_dq, bool needs_dkdv, {_OPTIONS})"
)


def _uncast(device: str) -> AbstractContextManager[Any]:
    """Autocast off: the door has cast the tensors already."""
    if torch.is_autocast_enabled(device):
        return torch.autocast(device, enabled=False)
    return nullcontext()


def _settled(impl: str, q: Tensor, packed: bool) -> str:
    """ "auto" stays open for a batch on a GPU only."""
    if impl != "auto":
        return impl
    if not q.is_cuda:
        return "tiled"
    return "triton" if packed else "auto"


@functools.cache
def _functions(impl: str, packed: bool) -> tuple[Any, Any]:
    """(forward, backward) of an implementation, for a batch or for packed sequences."""
    if impl == "hopper" and packed:
        refuse_hopper("flash_attention_varlen", Text("packed sequences", "打包序列"))
    if impl in ("auto", "hopper"):
        routing = importlib.import_module(".kernels.routing", __package__)
        return (
            functools.partial(routing.forward, impl=impl),
            functools.partial(routing.backward, impl=impl),
        )
    home, forward, backward = {
        "reference": ("reference", "attention", "attention_backward"),
        "tiled": ("tiled", "flash_forward", "flash_backward"),
        "triton": ("kernels", "flash_forward", "flash_backward"),
    }[impl]
    module = importlib.import_module(f".{home}", __package__)
    if not packed:
        return getattr(module, forward), getattr(module, backward)
    if impl == "triton":
        return module.flash_forward_varlen, module.flash_backward_varlen
    return (
        functools.partial(each_forward, getattr(module, forward)),
        functools.partial(each_backward, getattr(module, backward)),
    )


def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor | None,
    seed: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    *options: Any,
) -> tuple[Tensor, Tensor]:
    """(o, lse), whichever implementation runs."""
    settings = Options(*options)
    offsets = () if cu_seqlens_q is None else (cu_seqlens_q, cu_seqlens_k)
    impl = _settled(settings.impl, q, bool(offsets))
    forward, _ = _functions(impl, bool(offsets))
    with _uncast(q.device.type):
        run = None
        if impl in _KERNELS and sink is seed is cu_seqlens_q is None:
            run = ready_forward((q, k, v), settings)
        if run is None:
            run = functools.partial(forward, sink=sink, seed=seed, **settings.keywords)
        found: tuple[Tensor, Tensor] = run(q, k, v, *offsets)
    return found


def _backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None,
    sink: Tensor | None,
    seed: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    needs_dq: bool,
    needs_dkdv: bool,
    *options: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(dq, dk, dv, dsink); an empty tensor for what was not asked for."""
    settings = Options(*options)
    offsets = () if cu_seqlens_q is None else (cu_seqlens_q, cu_seqlens_k)
    impl = _settled(settings.impl, q, bool(offsets))
    _, backward = _functions(impl, bool(offsets))
    more: dict[str, bool | None] = {}
    if impl in _KERNELS:
        more = {"needs_dq": needs_dq, "needs_dkdv": needs_dkdv}
    if impl in ("auto", "hopper"):
        more["deterministic"] = settings.deterministic
    saved = (q, k, v, o, lse, do, dlse)
    with _uncast(q.device.type):
        run = None
        if impl in _KERNELS and sink is seed is cu_seqlens_q is None:
            run = ready_backward(saved, needs_dq, needs_dkdv, settings)
        if run is None:
            keywords = {**settings.keywords, **more}
            found = backward(*saved, *offsets, sink=sink, seed=seed, **keywords)
        else:
            found = run(*saved)
    dq, dk, dv, dsink = found
    return (
        dq if needs_dq else q.new_empty(0),
        dk if needs_dkdv else k.new_empty(0),
        dv if needs_dkdv else v.new_empty(0),
        q.new_empty(0) if dsink is None else dsink,
    )


def _shaped_like(x: Tensor, width: Any, impl: str) -> Tensor:
    """What the implementation allocates for a result that belongs to `x`."""
    if _settled(impl, x, False) not in _KERNELS:
        return x.new_empty(*x.shape[:-1], width)
    kernels_call = importlib.import_module(".kernels.call", __package__)
    shaped: Tensor
    if x.ndim == 3:  # packed: one batch of [1, H, T, D]
        shaped = kernels_call.output_like(x.transpose(0, 1)[None], width)[0].transpose(0, 1)
    else:
        shaped = kernels_call.output_like(x, width)
    return shaped


def _fake_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor | None,
    seed: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    *options: Any,
) -> tuple[Tensor, Tensor]:
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    o = _shaped_like(q, v.shape[-1], Options(*options).impl)
    rows = q.shape[:3] if cu_seqlens_q is None else (q.shape[1], q.shape[0])
    return o, q.new_empty(rows, dtype=kind)


def _fake_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None,
    sink: Tensor | None,
    seed: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    needs_dq: bool,
    needs_dkdv: bool,
    *options: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    impl = Options(*options).impl

    def grad(x: Tensor, needed: bool) -> Tensor:
        return _shaped_like(x, x.shape[-1], impl) if needed else x.new_empty(0)

    dsink = q.new_empty(0) if sink is None else sink.new_empty(sink.shape)
    return grad(q, needs_dq), grad(k, needs_dkdv), grad(v, needs_dkdv), dsink


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, sink, seed, cu_seqlens_q, cu_seqlens_k, *options = inputs
    ctx.save_for_backward(q, k, v, *output, sink, seed, cu_seqlens_q, cu_seqlens_k)
    ctx.options = options
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
    return _gradients(ctx, ctx.saved_tensors, do, dlse)


def _gradients(
    ctx: Any, saved: tuple[Any, ...], do: Tensor | None, dlse: Tensor | None
) -> tuple[Any, ...]:
    """What `_differentiate` gives; `saved` may be asked for once (a checkpoint makes it then)."""
    q, k, v, o, lse, *more = saved
    rest = (None,) * (3 + len(ctx.options))
    if do is None and dlse is None:
        return (None,) * 4 + rest
    if any(x is not None and _is_differentiated(x) for x in (do, dlse)):
        refuse_transforms()
    needs_q, needs_k, needs_v, needs_sink = ctx.needs_input_grad[:4]
    do = torch.zeros_like(o) if do is None else do
    tensors = (q, k, v, o, lse, do, dlse, *more)
    plain = is_plain(*(x for x in tensors if x is not None))
    run = _backward if plain else attention_backward_op
    dq, dk, dv, dsink = run(*tensors, needs_q, needs_k or needs_v, *ctx.options)
    grads = ((dq, needs_q), (dk, needs_k), (dv, needs_v), (dsink, needs_sink))
    return (*(grad if needed else None for grad, needed in grads), *rest)


def _is_differentiated(x: Tensor) -> bool:
    """Whether torch.func or forward mode differentiates by x: neither asks the operator."""
    return torch._C._functorch.is_gradtrackingtensor(x) or has_tangent(x)


def _refuse_second_derivative(ctx: Any, *grads: Any) -> NoReturn:
    raise BackendUnavailable(
        "flash_attention",
        expected=Text("gradients of first order", "一阶梯度"),
        got=Text("a gradient of its gradient", "对梯度再求梯度"),
        hint=Text(
            "reference.attention, which autograd can differentiate twice",
            "reference.attention，autograd 可以对它求二阶导",
        ),
    )


def refuse_transforms() -> NoReturn:
    """Say that vmap, forward-mode differentiation and the transforms of torch.func stop here.

    Raises:
        BackendUnavailable: always.
    """
    raise BackendUnavailable(
        "flash_attention",
        expected=Text("a plain call", "普通调用"),
        got=Text(
            "a call inside vmap, forward-mode AD or another transform of torch.func",
            "在 vmap、前向模式微分或 torch.func 变换中调用",
        ),
        hint=Text(
            "batch and heads as axes of the tensors; reference.attention can be transformed",
            "把批次和头作为张量的维度；reference.attention 可以变换",
        ),
    )  # fmt: skip


# `torch.library.custom_op` would say the same, but its first call imports PyTorch's compiler and
# with it Triton, before it is settled whether kernels are interpreted here
_LIBRARY: Any = torch.library.Library("fa_toolkit", "DEF")  # type: ignore[no-untyped-call]
_TAGS = (torch.Tag.pt2_compliant_tag,)
_LIBRARY.define(f"attention{_FORWARD} -> (Tensor, Tensor)", tags=_TAGS)
_LIBRARY.define(f"attention_backward{_BACKWARD} -> (Tensor, Tensor, Tensor, Tensor)", tags=_TAGS)
_LIBRARY.impl("attention", _forward, "CompositeExplicitAutograd")
_LIBRARY.impl("attention_backward", _backward, "CompositeExplicitAutograd")
torch.library.register_fake("fa_toolkit::attention", _fake_forward, lib=_LIBRARY)
torch.library.register_fake("fa_toolkit::attention_backward", _fake_backward, lib=_LIBRARY)
torch.library.register_autograd(
    "fa_toolkit::attention", _differentiate, setup_context=_remember, lib=_LIBRARY
)
torch.library.register_autograd(
    "fa_toolkit::attention_backward", _refuse_second_derivative, lib=_LIBRARY
)
attention_op = torch.ops.fa_toolkit.attention.default
attention_backward_op = torch.ops.fa_toolkit.attention_backward.default


class _Recorded(torch.autograd.Function):
    """What the operator does where autograd alone looks on."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        found = _forward(*arguments)
        _remember(ctx, arguments, found)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        return _differentiate(ctx, *grads)


class _RecordedAgain(torch.autograd.Function):
    """What `_Recorded` does for a call like one before, whose launch is known."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, launch: Ready, settings: Options
    ) -> tuple[Tensor, Tensor]:
        o, lse = launch(q, k, v)
        ctx.settings = settings
        _remember(ctx, (q, k, v, None, None, None, None, *settings), (o, lse))
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
        needs_q, needs_k, needs_v, *_ = ctx.needs_input_grad
        saved = ctx.saved_tensors
        given, run = (*saved[:5], do, dlse), None
        if do is not None:
            run = ready_backward(given, needs_q, needs_k or needs_v, ctx.settings)
        if run is None:
            return *_gradients(ctx, saved, do, dlse)[:3], None, None
        dq, dk, dv, _ = run(*given)
        return dq, dk if needs_k else None, dv if needs_v else None, None, None


def ready_recorded(tensors: tuple[Tensor, Tensor, Tensor], settings: Options) -> Ready | None:
    """What answers calls like this one that autograd records; see `ready_forward`."""
    launch = ready_forward(tensors, settings, recorded=True)
    if launch is None:
        return None
    return lambda q, k, v: _RecordedAgain.apply(q, k, v, launch, settings)  # type: ignore[no-untyped-call]


def run_attention(*arguments: Any) -> tuple[Tensor, Tensor]:
    """The operator or, where nobody traces, transforms or wraps the call, what it runs.

    PyTorch's way to the operator takes longer than the kernel at a few hundred tokens.
    """
    tensors = [x for x in arguments[:_TENSORS] if x is not None]
    run: Any = attention_op
    if is_only_recorded(*tensors):
        run = _Recorded.apply if is_recorded(*tensors) else _forward
    o, lse = run(*arguments)
    return o, lse
