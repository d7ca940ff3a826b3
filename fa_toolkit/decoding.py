"""The public door of decoding: `flash_decode` checks its arguments and chooses an implementation.

Compilation and the refusal of gradients are the operator's, see `decode_operator`. Computes nothing.
"""

from __future__ import annotations

import operator
from typing import Literal, overload

import torch
from torch import Tensor

from .decode_operator import (
    DecodeOptions,
    decode_op,
    refuse_decode_transforms,
    refuse_gradients,
)
from .door import (
    Impl,
    check_flag,
    check_sink,
    choose,
    costs_nothing_to_look,
    has_tangent,
    refuse,
    refuse_hopper,
)
from .errors import ArgumentError
from .language import Text
from .reference.cache import decode_problem, with_queries
from .reference.inputs import check_scalars, check_tensors
from .repeated import is_recorded

__all__ = ["flash_decode"]


@overload
def flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = ...,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    num_splits: int | None = ...,
    return_lse: Literal[False] = ...,
    validate: bool | None = ...,
    impl: Impl = ...,
) -> Tensor: ...
@overload
def flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = ...,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    num_splits: int | None = ...,
    return_lse: Literal[True],
    validate: bool | None = ...,
    impl: Impl = ...,
) -> tuple[Tensor, Tensor]: ...
def flash_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    *,
    seq_lens: Tensor,
    block_table: Tensor | None = None,
    causal: bool = True,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    num_splits: int | None = None,
    return_lse: bool = False,
    validate: bool | None = None,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of a few new queries over a cache of keys and values, one length per sequence.

    One query per head is little work and a long read, so the keys are split over many programs
    and the finished parts merged. The query heads that share a key head share its loads.

    The Nq queries of a sequence are its last positions: query i stands at seq_len + i - Nq. Entries
    past a length are never read. A sequence of length 0 gives o = 0 and lse = -inf (or the sink).
    Lengths are read on the device: a compiled call or a CUDA graph follows them as they grow.

    Shapes:
        q: [B, Nq, Hq, D]; o: [B, Nq, Hq, Dv]; lse: [B, Hq, Nq]; or, for one query,
        q: [B, Hq, D]; o: [B, Hq, Dv]; lse: [B, Hq];
        k_cache, v_cache: [B, Hkv, N, D or Dv]; or pages [blocks, page, Hkv, D or Dv], of which
        row b of block_table, [B, max_blocks], lists those of sequence b; seq_lens: [B].

    Args:
        seq_lens: int32, keys of each sequence, those of the new positions included.
        block_table: int32 page ids; entries past the pages a length needs may hold anything.
        window, softcap, scale, sink: as in `flash_attention`.
        num_splits: parts the keys are cut into. None: as many as fill the device, which depends on
            the batch, so the last bits of a sequence do too. A fixed number gives a sequence the
            same bits in any batch over the same cache.
        return_lse: also return the log-sum-exp (natural logarithm). To merge such parts give
            `merge_partials` lse with its rows as o has them: lse.transpose(1, 2) if q is 4-D.
        validate: look at the values of seq_lens and block_table too. None: where they lie on the
            CPU; on a GPU looking waits for the device and cannot be captured in a CUDA graph.
            Unseen wrong values give wrong numbers, never an access outside the tensors.
        impl: "auto" runs the Triton kernel for CUDA tensors and the tiled algorithm otherwise;
            "triton", "tiled" or "reference" run just that.

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
        BackendUnavailable: if a gradient is asked for, or the implementation cannot run here.

    Example:
        >>> cache = torch.ones(2, 1, 100, 16)  # room for 100 tokens in each of 2 sequences
        >>> lens = torch.tensor([90, 0], dtype=torch.int32)
        >>> o = flash_decode(torch.ones(2, 4, 16), cache, cache, seq_lens=lens)
        >>> o.shape, o[:, 0, 0].round()
        (torch.Size([2, 4, 16]), tensor([1., 0.]))
    """
    _check_splits(num_splits)
    check_flag("return_lse", return_lse)
    check_flag("validate", validate)
    check_tensors(q=q, seq_lens=seq_lens)
    if validate is None:
        tables = [seq_lens] if block_table is None else [seq_lens, block_table]
        validate = costs_nothing_to_look(*tables)
    chosen = choose(impl, q)
    if chosen == "hopper":
        refuse_hopper("flash_decode", Text("a step of decoding", "解码步骤"))
    refuse(chosen, q.dtype)
    if torch.compiler.is_compiling():  # there the implementation's own checks speak
        left, right = (-1, -1) if window is None else window
    else:
        if torch._C._are_functorch_transforms_active() or has_tangent(q, k_cache, v_cache, sink):
            refuse_decode_transforms()
        problem = decode_problem(
            q, k_cache, v_cache, seq_lens, block_table, causal=causal, window=window, sink=sink
        )
        scale, softcap = check_scalars(problem, scale, softcap)
        _refuse_gradients(q, k_cache, v_cache, sink)
        everything = problem.len_q + problem.len_k  # a wider window hides nothing and fits 64 bits
        left, right = (min(side, everything) for side in problem.window or (-1, -1))
        causal = problem.causal
        if num_splits is not None:  # a part holds at least one key
            num_splits = min(operator.index(num_splits), max(1, problem.len_k))
        check_sink(sink, q)
    options = DecodeOptions(
        causal, left, right, softcap or 0.0, scale, num_splits, bool(validate), chosen
    )
    o, lse = decode_op(with_queries(q), k_cache, v_cache, seq_lens, block_table, sink, *options)
    o, lse = (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])
    return (o, lse) if return_lse else o


def _check_splits(num_splits: int | None) -> None:
    whole = hasattr(num_splits, "__index__") and not isinstance(num_splits, (bool, Tensor))
    if num_splits is not None and not (whole and num_splits >= 1):
        raise ArgumentError(
            "num_splits",
            expected=Text("a whole number 1 or more, or None", "不小于 1 的整数，或 None"),
            got=repr(num_splits),
        )


def _refuse_gradients(*tensors: Tensor | None) -> None:
    if is_recorded(*tensors):
        refuse_gradients()
