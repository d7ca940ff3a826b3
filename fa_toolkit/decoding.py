"""The public door of decoding: `flash_decode` checks its arguments and chooses an implementation.

Computes nothing itself, and has no gradients.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, get_args, overload

import torch
from torch import Tensor

from .errors import ArgumentError, BackendUnavailable
from .language import Text
from .problem import AttentionProblem
from .reference.cache import check_values, decode_problem, with_queries
from .reference.inputs import check_scalars

Impl = Literal["auto", "triton", "tiled", "reference"]

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
    validate: bool = ...,
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
    validate: bool = ...,
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
    validate: bool = False,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of a few new queries over a cache of keys and values, one length per sequence.

    One query per head is little work and a long read, so the keys are split over many programs
    and the finished parts merged. The query heads that share a key head share its loads.

    The Nq queries of a sequence are its last positions: query i stands at seq_len + i - Nq. Entries
    past a length are never read. A sequence of length 0 gives o = 0 and lse = -inf (or the sink).

    Shapes:
        q: [B, Nq, Hq, D]; o: [B, Nq, Hq, Dv]; lse: [B, Hq, Nq]; or, for one query,
        q: [B, Hq, D]; o: [B, Hq, Dv]; lse: [B, Hq];
        k_cache, v_cache: [B, Hkv, N, D or Dv]; or pages [blocks, page, Hkv, D or Dv], of which
        row b of block_table, [B, max_blocks], lists those of sequence b; seq_lens: [B].

    Args:
        seq_lens: int32, keys of each sequence, those of the new positions included.
        block_table: int32 page ids; entries past the pages a length needs may hold anything.
        window, softcap, scale, sink: as in `flash_attention`.
        num_splits: parts the keys are cut into; None: as many as fill the device.
        return_lse: also return the log-sum-exp (natural logarithm).
        validate: look at the values of seq_lens and block_table too, which waits for the device.
            Without it wrong values give wrong numbers, never an access outside the tensors.
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
    problem = decode_problem(
        q, k_cache, v_cache, seq_lens, block_table, causal=bool(causal), window=window, sink=sink
    )
    scale, cap = check_scalars(problem, scale, softcap)
    _check_splits(num_splits)
    chosen = _choose(impl, q, problem)
    _refuse_gradients(q, k_cache, v_cache, sink)
    if validate:
        check_values(problem, k_cache, seq_lens, block_table)
    keywords: dict[str, Any] = {"causal": problem.causal, "window": window, "softcap": cap}
    keywords |= {"scale": scale, "sink": sink, "seq_lens": seq_lens, "block_table": block_table}
    if chosen != "reference":
        keywords["num_splits"] = num_splits
    name = "decode_attention" if chosen == "reference" else "flash_decode"
    home = {"triton": ".kernels"}.get(chosen, f".{chosen}")
    decode = getattr(importlib.import_module(home, __package__), name)
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        o, lse = decode(with_queries(q), k_cache, v_cache, **keywords)
    o, lse = (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])
    return (o, lse) if return_lse else o


def _check_splits(num_splits: int | None) -> None:
    whole = isinstance(num_splits, int) and not isinstance(num_splits, bool)
    if num_splits is not None and not (whole and num_splits >= 1):
        raise ArgumentError(
            "num_splits",
            expected=Text("a whole number 1 or more, or None", "不小于 1 的整数，或 None"),
            got=repr(num_splits),
        )


def _choose(impl: str, q: Tensor, problem: AttentionProblem) -> str:
    if impl not in get_args(Impl):
        raise ArgumentError(
            "impl", expected=" | ".join(f'"{name}"' for name in get_args(Impl)), got=repr(impl)
        )
    chosen = impl if impl != "auto" else "triton" if q.is_cuda else "tiled"
    if chosen == "triton" and problem.dtype == "float64":
        raise BackendUnavailable(
            'impl="triton"',
            expected="float16 | bfloat16 | float32",
            got="float64",
            hint='impl="tiled"',
        )
    return chosen


def _refuse_gradients(*tensors: Tensor | None) -> None:
    wanted = any(x is not None and x.requires_grad for x in tensors)
    if torch.is_grad_enabled() and wanted:
        raise BackendUnavailable(
            "flash_decode",
            expected=Text("a call without gradients", "不求梯度的调用"),
            got=Text("an input that requires a gradient", "有输入要求梯度"),
            hint=Text(
                "torch.no_grad(), or flash_attention, which has gradients",
                "torch.no_grad()，或改用有梯度的 flash_attention",
            ),
        )
