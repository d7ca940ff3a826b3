"""Which kernels run a pass of attention on a GPU: the readable ones, or those for Hopper.

Forward and backward are chosen apart. Allocates and computes nothing itself, except copies of
gradients that the copy engine cannot read. Whether a kernel applies: `hopper.availability`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ..errors import BackendUnavailable
from ..problem import AttentionProblem
from . import runtime
from .call import output_like, problem_of
from .configuration import Device, device_of
from .hopper import availability
from .hopper.availability import Asked, Obstacle, Pass, Place, Wish

Run = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
RunBackward = Callable[..., tuple[Tensor | None, ...]]


def place_of(device: torch.device) -> Place:
    """Where tensors on that device find kernels of this process."""
    if device.type != "cuda":
        return Place(None, str(device))
    mode = runtime.mode()
    if mode != "gpu":
        return Place(None, mode.reason)
    return place_named(device_of(device.index), str(device))


def place_named(device: Device, name: str) -> Place:
    """A GPU that need not be here, with the Triton of this process; without one, with a fitting one."""
    if device.capability != availability.HOPPER or not runtime.installed():
        return Place(device.capability, name, device.shared)
    from .hopper import gluon_names

    return Place(device.capability, name, device.shared, gluon_names.why_absent())


def asked_of(
    problem: AttentionProblem,
    *,
    softcap: float | None = None,
    scale: float | None = None,
    sink: object = None,
    dropout_p: float = 0.0,
    deterministic: bool | None = None,
) -> Asked:
    """The options of a call as `availability` asks about them; deterministic=None follows torch."""
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    return Asked(
        problem, bool(softcap), sink is not None, dropout_p > 0, scale is None or scale > 0,
        bool(deterministic),
    )  # fmt: skip


def obstacle(
    asked: Asked, kind: Pass, place: Place, q: Tensor, k: Tensor, v: Tensor
) -> Obstacle | None:
    """The first thing that keeps the Hopper kernel of this pass from the call."""
    return (
        availability.of_place(place)
        or availability.of_call(asked, kind)
        or availability.of_layout(q=q, k=k, v=v)
    )


def refusal(found: Obstacle) -> BackendUnavailable:
    """The error of a call that asks for these kernels by name and cannot have them."""
    return BackendUnavailable(
        'impl="hopper"', expected=found.expected, got=found.got, hint=found.hint
    )


def require_hopper(
    q: Tensor, k: Tensor, v: Tensor, asked: Asked, *, gradients: bool = False
) -> None:
    """Refuse a call that asks for the Hopper kernels by name and cannot have them in every pass.

    Raises:
        BackendUnavailable: with the first thing that does not apply.
    """
    passes: tuple[Pass, ...] = ("forward", "backward") if gradients else ("forward",)
    for kind in passes:
        takes_hopper("hopper", kind, q, k, v, asked)


def takes_hopper(
    wish: Wish, kind: Pass, q: Tensor, k: Tensor, v: Tensor, asked: Asked, *, whole: bool = True
) -> bool:
    """Whether the Hopper kernel runs this pass; see `availability.decide`.

    Raises:
        BackendUnavailable: if it was asked for by name and does not apply.
    """
    problem = asked.problem

    def split() -> bool:
        from .decode_configuration import choose_split

        return choose_split(problem, q.device) is not None

    found = obstacle(asked, kind, place_of(q.device), q, k, v)
    decision = availability.decide(wish, kind, problem, found, whole=whole, split=split)
    if wish == "hopper" and decision.obstacle is not None:
        raise refusal(decision.obstacle)
    return decision.hopper


def prepare_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    impl: Wish,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    **options: Any,
) -> Run:
    """`flash_forward.prepare_forward`, of the kernel that is chosen.

    Raises:
        BackendUnavailable: if `impl` names a kernel that does not apply.
        as `flash_forward` otherwise.
    """
    problem = problem_of(q, k, v, causal, window)
    asked = asked_of(
        problem,
        scale=scale,
        **{name: options.get(name) for name in ("softcap", "sink")},
        dropout_p=options.get("dropout_p", 0.0),
    )
    if takes_hopper(impl, "forward", q, k, v, asked):
        return _hopper_forward(problem, scale, q, k, v)
    readable = importlib.import_module(".flash_forward", __package__).prepare_forward
    run: Run = readable(q, k, v, causal=causal, window=window, scale=scale, **options)
    return run


def _hopper_forward(
    problem: AttentionProblem, scale: float | None, q: Tensor, k: Tensor, v: Tensor
) -> Run:
    """The launcher of the Hopper kernel, with results that lie as those of the readable one."""
    from .launching import on_device_of

    causal = problem.right is not None
    scale = 1 / math.sqrt(problem.head_dim) if scale is None else float(scale)
    same = (q.shape, k.shape, q.stride(), k.stride(), v.stride(), q.dtype, q.device)
    launch = _launch_for("forward", causal, scale, *same)

    def run(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        o = output_like(q)
        lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
        with on_device_of(q):
            launch(q, k, v, o, lse)
        return o, lse

    return run


@lru_cache(maxsize=1024)
def _launch_for(kind: Pass, causal: bool, scale: float, *same: object) -> Callable[..., Any]:
    """One launch for all calls that are alike in `same`, also where autograd calls anew each time."""
    from .hopper.prepared import PreparedBackward, PreparedForward

    prepared = PreparedForward if kind == "forward" else PreparedBackward
    return prepared(causal=causal, scale=scale)


def forward(
    q: Tensor, k: Tensor, v: Tensor, *, impl: Wish, seed: Tensor | None = None, **options: Any
) -> tuple[Tensor, Tensor]:
    """(o, lse) by the kernel that is chosen; keywords as `flash_forward`."""
    return prepare_forward(q, k, v, impl=impl, seed=seed, **options)(q, k, v)


def prepare_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None,
    *,
    impl: Wish,
    deterministic: bool | None = None,
    needs_dq: bool = True,
    needs_dkdv: bool = True,
    **options: Any,
) -> RunBackward:
    """`flash_backward.prepare_backward`, of the kernels that are chosen.

    Raises:
        BackendUnavailable: if `impl` names a kernel that does not apply.
        as `flash_backward` otherwise.
    """
    problem = problem_of(q, k, v, options.get("causal", False), options.get("window"))
    told = {name: options.get(name) for name in ("softcap", "scale", "sink")}
    asked = asked_of(
        problem, **told, dropout_p=options.get("dropout_p", 0.0), deterministic=deterministic
    )
    saved = (q, k, v, o, lse, do, dlse)
    if takes_hopper(impl, "backward", q, k, v, asked, whole=needs_dq and needs_dkdv):
        return _hopper_backward(problem, options.get("scale"), *saved)
    readable = importlib.import_module(".flash_backward", __package__).prepare_backward
    run: RunBackward = readable(*saved, needs_dq=needs_dq, needs_dkdv=needs_dkdv, **options)
    return run


def backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    do: Tensor,
    dlse: Tensor | None = None,
    *,
    impl: Wish,
    **options: Any,
) -> tuple[Tensor | None, ...]:
    """(dq, dk, dv, dsink) by the kernels that are chosen; keywords as `flash_backward`.

    The Hopper kernel adds dQ up in float32, 4 Nq D bytes a head beyond the gradients.

    Raises:
        BackendUnavailable: if `impl` names a kernel that does not apply.
    """
    saved = (q, k, v, o, lse, do, dlse)
    return prepare_backward(*saved, impl=impl, **options)(*saved)


def _hopper_backward(
    problem: AttentionProblem, scale: float | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor,
    lse: Tensor, do: Tensor, dlse: Tensor | None,
) -> RunBackward:  # fmt: skip
    """The launcher of the Hopper kernel; what autograd hands in may lie anyhow and is copied then."""
    from .flash_backward import check_saved
    from .launching import on_device_of, require_kernels

    require_kernels(q, k, v, o, lse, do, *(() if dlse is None else (dlse,)))
    check_saved(problem, o=o, do=do, lse=lse, dlse=dlse)
    causal = problem.right is not None
    scale = 1 / math.sqrt(problem.head_dim) if scale is None else float(scale)

    odd = [availability.of_layout(x=x) is not None for x in (o, do)]
    launches: list[Callable[..., Any]] = []  # the one, once it is known

    def run(
        q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, do: Tensor, dlse: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        o, do = (_dense(x) if copied else x for x, copied in zip((o, do), odd, strict=True))
        lse, dlse = lse.contiguous(), None if dlse is None else dlse.contiguous()
        with on_device_of(q):
            if not launches:
                strides = (x.stride() for x in (q, k, v, o, do))
                # rows are read in pieces of 16 bytes where they begin at one; these two may begin anywhere
                rows = (
                    x is not None and x.data_ptr() % availability.ALIGNMENT for x in (lse, dlse)
                )
                same = (q.shape, k.shape, *strides, *rows, dlse is None, q.dtype, q.device)
                launches.append(_launch_for("backward", causal, scale, *same))
            return *launches[0](q, k, v, o, lse, do, dlse), None

    return run


def _dense(x: Tensor) -> Tensor:
    """A copy that the copy engine can read."""
    return x.clone(memory_format=torch.contiguous_format)
