"""Flash Attention backward in three launches: Delta, then dK and dV, then dQ. P is rebuilt from lse.

One program owns the keys or the queries whose gradient it writes, so nothing is added atomically
and two runs agree to the last bit. Gradients of the sink are summed from Delta afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ..errors import DtypeError, ShapeError
from ..language import Text
from ..problem import AttentionProblem, TileShape
from .backward_delta import DeltaLaunch, empty_delta
from .backward_dkdv import DkdvLaunch
from .backward_dq import DqLaunch
from .call import Call
from .configuration import choose_launch, readable
from .launching import on_device_of, require_kernels


class Gradients(NamedTuple):
    """What backward returns; None for what was not asked for, and for no sink."""

    dq: torch.Tensor | None
    dk: torch.Tensor | None
    dv: torch.Tensor | None
    dsink: torch.Tensor | None


def check_saved(problem: AttentionProblem, **saved: torch.Tensor | None) -> None:
    """Refuse what the kernels would read past its end, or as numbers of another type; None is absent."""
    p = problem
    rows = (p.batch, p.heads_q, p.len_q)
    for name, x in saved.items():
        if x is None:
            continue
        of_rows = name in ("lse", "dlse")
        fitting = rows if of_rows else (*rows, p.head_dim_v)
        if x.shape != fitting:
            raise ShapeError(name, expected=str(list(fitting)), got=str(list(x.shape)))
        kind, given = "float32" if of_rows else p.dtype, str(x.dtype).removeprefix("torch.")
        if given != kind:
            raise DtypeError(name, expected=Text(kind, kind), got=given)


def flash_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None = None,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    seed: torch.Tensor | None = None,
    tile: TileShape | None = None,
    needs_dq: bool = True,
    needs_dkdv: bool = True,
) -> Gradients:
    """Gradients of `flash_forward` from its outputs; P is rebuilt tile by tile from lse.

    Memory beyond the gradients is Delta, one float32 a row.

        P  = e^(S - lse)            Delta = rowsum(dO * O) - dlse
        dV = P^T dO                 dS = P * (dO V^T - Delta)
        dQ = scale * dS K           dK = scale * dS^T Q          dsink = -sum e^(sink - lse) Delta

    Shapes:
        as in `flash_forward`; any strides, also 0; do as o; dlse as lse.

    Args:
        tile: for all launches; None: chosen for each.
        needs_dq, needs_dkdv: which of the two big launches to do.

    Raises:
        BackendUnavailable, DtypeError, ShapeError, ArgumentError: as `flash_forward`.
    """
    ready = prepare_backward(
        q, k, v, o, lse, do, dlse, tile=tile, needs_dq=needs_dq, needs_dkdv=needs_dkdv,
        causal=causal, window=window, softcap=softcap, scale=scale, sink=sink, dropout_p=dropout_p,
        seed=seed,
    )  # fmt: skip
    return ready(q, k, v, o, lse, do, dlse)


def prepare_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    dlse: torch.Tensor | None,
    *,
    tile: TileShape | None = None,
    needs_dq: bool = True,
    needs_dkdv: bool = True,
    sink: torch.Tensor | None = None,
    **options: Any,
) -> Callable[..., Gradients]:
    """All of `flash_backward` that depends on sizes, strides and options alone.

    Returns:
        A function of (q, k, v, o, lse, do, dlse), for tensors with the sizes, strides, dtypes, device
        and alignment of these, that allocates and launches.

    Raises:
        as `flash_backward`.
    """
    require_kernels(q, k, v, o, lse, do, *(() if dlse is None else (dlse,)))
    call = Call.of(q, k, v, sink=sink, **options)
    saved = (q, k, v, o, lse, do, dlse, sink)
    return BackwardLaunch(call, *saved, tile, needs_dq=needs_dq, needs_dkdv=needs_dkdv)


class BackwardLaunch:
    """The launches of calls that are alike; packed sequences come as one batch, [1, H, T, D].

    Raises:
        ShapeError: if what forward left does not fit.
    """

    def __init__(
        self,
        call: Call,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        o: torch.Tensor,
        lse: torch.Tensor,
        do: torch.Tensor,
        dlse: torch.Tensor | None,
        sink: torch.Tensor | None,
        tile: TileShape | None,
        *,
        needs_dq: bool,
        needs_dkdv: bool,
    ) -> None:
        problem, self.sink = call.problem, sink
        check_saved(problem, o=o, do=do, lse=lse, dlse=dlse)
        dense = call.cu_seqlens is None
        plan = choose_launch(problem, q.device, tile, "dq", aligned=dense and readable(k, v))
        self.delta = DeltaLaunch(call, plan, dlse is not None)
        self.dq = DqLaunch(call, plan, q) if needs_dq else None
        self.dkdv = None
        if needs_dkdv:
            aligned = dense and readable(q, do, lse, empty_delta(o))
            plan = choose_launch(problem, q.device, tile, "dkdv", aligned=aligned)
            self.dkdv = DkdvLaunch(call, plan, q)

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        o: torch.Tensor,
        lse: torch.Tensor,
        do: torch.Tensor,
        dlse: torch.Tensor | None,
    ) -> Gradients:
        """Allocate the gradients and start the kernels."""
        saved = (q, k, v, do, lse)
        dq = dk = dv = None
        with on_device_of(q):
            delta = self.delta(o, do, dlse)
            if self.dkdv is not None:
                dk, dv = self.dkdv(*saved, delta)
            if self.dq is not None:
                dq = self.dq(*saved, delta)
        return Gradients(dq, dk, dv, None if self.sink is None else _dsink(self.sink, lse, delta))


def _dsink(sink: torch.Tensor, lse: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    """-sum over rows of e^(sink - lse) * Delta: the sink has no value, so only Delta is left."""
    dead = lse == -float("inf")
    p_sink = torch.exp(sink.float()[:, None] - lse.masked_fill(dead, 0.0))
    return -(p_sink * delta).masked_fill(dead, 0.0).sum((0, 2)).to(sink.dtype)
