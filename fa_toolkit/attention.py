"""The public door: `flash_attention` checks its arguments, chooses an implementation, runs it.

Gradients and compilation are the operator's, see `operator`. Computes nothing itself.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, overload

import torch
from torch import Tensor

from .door import Impl, autocast, check_flag, check_sink, choose, has_tangent, refuse, seed_tensor
from .launches import Options, ready_forward
from .operator import ready_recorded, refuse_transforms, run_attention
from .problem import AttentionProblem
from .reference import check_dropout
from .reference.inputs import check_scalars, check_tensors, problem_of
from .reference.varlen import check_packed
from .repeated import is_recorded, key_of, ready, remember
from .tiled import merge_partials

__all__ = ["flash_attention", "merge_partials"]


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
    dropout_p: float = ...,
    seed: int | Tensor | None = ...,
    deterministic: bool | None = ...,
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
    dropout_p: float = ...,
    seed: int | Tensor | None = ...,
    deterministic: bool | None = ...,
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
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    deterministic: bool | None = None,
    return_lse: bool = False,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ) v, exactly, in memory that grows with N and not with N².

    Keys and values are streamed in tiles past each tile of queries. What the scores of earlier
    tiles add up to is carried along as (m, l, acc), so no tile is ever looked at twice.

        s = scale * q k^T,  capped,  masked         lse = log(sum_j e^(s_ij) + e^sink)
        p = e^(s - lse)                             o   = p v

    Query i stands at key position i + Nk - Nq: the last query sees the last key. A row that sees
    no key gives o = 0 and lse = -inf (or lse = sink). On a GPU the keys of few queries are split
    over many programs, as in `flash_decode`; `explain` says when. What lies outside the tensors never
    matters; an infinite v of a key inside them does, hidden or not: 0 times infinity is NaN.

    Shapes:
        q: [B, Hq, Nq, D]; k: [B, Hkv, Nk, D]; v: [B, Hkv, Nk, Dv]; Hq a multiple of Hkv;
        o: [B, Hq, Nq, Dv]; lse: [B, Hq, Nq].

    Args:
        q, k, v: float16, bfloat16 (sm_80 and later) or float32; float64 for "tiled" and
            "reference". D and Dv are 1 to 256; the kernels run them as the next power of two.
        window: (left, right) keys around a query's own position, inclusive; -1 is unbounded. The
            last W keys, its own included, are (W - 1, 0). Causal closes the right side whatever
            the window says.
        softcap: scores become cap * tanh(s / cap); None or 0 is off.
        scale: 1 / sqrt(D) if None.
        sink: [Hq], one extra logit per query head, in the denominator only.
        dropout_p: share of the probabilities set to 0, the others divided by 1 - p.
        seed: what is dropped is a function of it and of (b, h, i, j); None draws one from torch's
            generator.
        deterministic: True: the same call gives the same bits. Everything is so as it is but one
            thing: the backward kernel for Hopper adds dQ up in an order of chance (o, lse, dK and
            dV do not depend on it), so it is not chosen then. None follows torch's
            use_deterministic_algorithms. With few queries over long keys the number of parts, and
            so the last bits, depend on batch and heads, see `flash_decode`.
        return_lse: also return the log-sum-exp (natural logarithm), differentiable.
        impl: "auto" runs Triton kernels for CUDA tensors and the tiled algorithm otherwise.
            On a Hopper GPU forward and backward each take the kernel written for it where it
            applies and was measured better; its backward holds the sums of dQ in float32, 4 Nq D
            bytes a head beyond the gradients. `explain` says which, and why.
            "hopper" asks for just those kernels, "triton" for the readable ones, "tiled" or
            "reference" for torch.

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
    check_flag("deterministic", deterministic)
    check_flag("return_lse", return_lse)
    key: Any = None
    recorded = False
    plain = not torch.compiler.is_compiling() and sink is seed is None
    if plain and type(q) is type(k) is type(v) is Tensor:
        recorded = is_recorded(q, k, v)
        # what the backward depends on is asked of recorded calls only
        strict = (deterministic, torch.are_deterministic_algorithms_enabled()) if recorded else ()
        key = key_of((q, k, v), recorded, *strict, causal, window, softcap, scale, dropout_p, impl,
                     recorded=True)  # fmt: skip
    again = ready(key)
    if again is not None:
        o, lse = again(q, k, v)
    else:
        (q, k, v), options = checked(
            q, k, v, None, causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
            dropout_p=dropout_p, seed=seed, deterministic=deterministic, impl=impl,
        )  # fmt: skip
        drawn = seed_tensor(seed, q) if dropout_p else None
        o, lse = run_attention(q, k, v, sink, drawn, None, None, *options)
        if key is not None and not dropout_p and choose(impl, q) in ("triton", "hopper"):
            make = ready_recorded if recorded else ready_forward
            remember(key, make((q, k, v), options))
    return (o, lse) if return_lse else o


def checked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens: tuple[Tensor, Tensor] | None,
    *,
    causal: bool,
    window: tuple[int, int] | None,
    softcap: float | None,
    scale: float | None,
    sink: Tensor | None,
    dropout_p: float,
    seed: int | Tensor | None,
    impl: Impl,
    deterministic: bool | None = None,
) -> tuple[tuple[Tensor, Tensor, Tensor], Options]:
    """Check the arguments and choose an implementation: q, k, v and options as the operator takes them.

    Shapes, keywords:
        as in `flash_attention`; with offsets, (queries, keys), as in `flash_attention_varlen`.
    """
    check_tensors(q=q, k=k, v=v, **({} if sink is None else {"sink": sink}))
    q, k, v = autocast(q, k, v)
    check_sink(sink, q)
    chosen = choose(impl, q)
    if torch.compiler.is_compiling():  # the operator's own checks speak at run time
        left, right = (-1, -1) if window is None else window
    else:
        if torch._C._are_functorch_transforms_active() or has_tangent(q, k, v, sink):
            refuse_transforms()
        batches: tuple[Tensor, ...] = (q, k, v)
        if cu_seqlens is not None:
            check_packed(q, k, v, *cu_seqlens)
            batches = tuple(x.transpose(0, 1)[None] for x in batches)  # all sequences as one
        problem = problem_of(*batches, causal=causal, window=window, sink=sink)
        refuse(chosen, q.dtype)
        scale, softcap = check_scalars(problem, scale, softcap)
        check_dropout(dropout_p, 0 if seed is None else seed)
        everything = problem.len_q + problem.len_k  # a wider window hides nothing and fits 64 bits
        left, right = (min(side, everything) for side in problem.window or (-1, -1))
        causal = problem.causal
        if chosen == "hopper" and not q.is_meta:
            more = {"softcap": softcap, "scale": scale, "sink": sink, "dropout_p": dropout_p}
            _require_hopper(q, k, v, problem, deterministic, more)
    lane = "auto" if impl == "auto" and chosen == "triton" else chosen
    options = Options(causal, left, right, softcap or 0.0, scale, dropout_p, lane, deterministic)
    return (q, k, v), options


def _require_hopper(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    problem: AttentionProblem,
    deterministic: bool | None,
    options: dict[str, Any],
) -> None:
    """Refuse a call that asks for the Hopper kernels and cannot have them, the backward included.

    Raises:
        BackendUnavailable: with the first thing that does not apply.
    """
    routing = importlib.import_module(".kernels.routing", __package__)
    asked = routing.asked_of(problem, deterministic=deterministic, **options)
    routing.require_hopper(q, k, v, asked, gradients=is_recorded(q, k, v))
