"""The public door of packed sequences: `flash_attention_varlen`.

The same operator as a batch, with offsets; see `attention.checked`. Computes nothing itself.
"""

from __future__ import annotations

from typing import Literal, overload

from torch import Tensor

from .attention import checked
from .door import Impl, check_flag, costs_nothing_to_look, refuse_hopper, seed_tensor
from .errors import ArgumentError
from .language import Text
from .operator import run_attention
from .reference.inputs import check_tensors
from .reference.varlen import check_offsets, check_packed

__all__ = ["flash_attention_varlen"]


@overload
def flash_attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int | None = ...,
    max_seqlen_k: int | None = ...,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    dropout_p: float = ...,
    seed: int | Tensor | None = ...,
    deterministic: bool | None = ...,
    return_lse: Literal[False] = ...,
    validate: bool | None = ...,
    impl: Impl = ...,
) -> Tensor: ...
@overload
def flash_attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int | None = ...,
    max_seqlen_k: int | None = ...,
    causal: bool = ...,
    window: tuple[int, int] | None = ...,
    softcap: float | None = ...,
    scale: float | None = ...,
    sink: Tensor | None = ...,
    dropout_p: float = ...,
    seed: int | Tensor | None = ...,
    deterministic: bool | None = ...,
    return_lse: Literal[True],
    validate: bool | None = ...,
    impl: Impl = ...,
) -> tuple[Tensor, Tensor]: ...
def flash_attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    deterministic: bool | None = None,
    return_lse: bool = False,
    validate: bool | None = None,
    impl: Impl = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention inside each of B sequences that lie packed end to end, without padding.

    Sequence b owns the tokens cu_seqlens[b] to cu_seqlens[b + 1]; it may be empty, and masks are
    bottom-right within it. Tokens past the last offset belong to nobody: o = 0, lse = -inf.

    The Triton kernels do all sequences in one launch and find them from the offsets on the device:
    nothing is read back, and a CUDA graph can be replayed with other lengths. The other
    implementations read the offsets and run one sequence after the other.

    Shapes:
        q: [Tq, Hq, D]; k: [Tk, Hkv, D]; v: [Tk, Hkv, Dv]; cu_seqlens: [B + 1];
        o: [Tq, Hq, Dv]; lse: [Hq, Tq].

    Args:
        cu_seqlens_q, cu_seqlens_k: int32, 0 and the running sums of the lengths.
        max_seqlen_q, max_seqlen_k: the longest lengths, as other packages ask for them; not needed
            here, and only checked to be whole numbers.
        causal, window, softcap, scale, sink, return_lse, impl: as in `flash_attention`.
        dropout_p, seed: as there; b is the number of the sequence, i and j count within it.
        deterministic: every implementation is deterministic as it is; packed sequences never take
            the kernels for Hopper.
        validate: refuse offsets that fall, do not start at 0 or pass the end. None: where they lie
            on the CPU; on a GPU looking waits for the device and cannot be captured in a CUDA
            graph. Unseen they give wrong numbers, never an access outside the tensors.

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
        BackendUnavailable: if the implementation cannot do this call here, with what can.

    Example:
        >>> import torch
        >>> x = torch.ones(5, 2, 16)
        >>> ends = torch.tensor([0, 2, 5], dtype=torch.int32)
        >>> o, lse = flash_attention_varlen(
        ...     x, x, x, cu_seqlens_q=ends, cu_seqlens_k=ends, scale=0.0, return_lse=True
        ... )
        >>> lse[0].exp().round()
        tensor([2., 2., 3., 3., 3.])
    """
    _check_longest(max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k)
    check_flag("deterministic", deterministic)
    check_flag("return_lse", return_lse)
    check_flag("validate", validate)
    if impl == "hopper":
        refuse_hopper("flash_attention_varlen", Text("packed sequences", "打包序列"))
    if validate is None:
        validate = costs_nothing_to_look(cu_seqlens_q, cu_seqlens_k)
    if validate:
        check_tensors(q=q, k=k, v=v)
        check_packed(q, k, v, cu_seqlens_q, cu_seqlens_k)
        check_offsets("cu_seqlens_q", cu_seqlens_q, len(q))
        check_offsets("cu_seqlens_k", cu_seqlens_k, len(k))
    cu_seqlens = (cu_seqlens_q, cu_seqlens_k)
    tensors, options = checked(
        q, k, v, cu_seqlens,
        causal=causal, window=window, softcap=softcap, scale=scale, sink=sink,
        dropout_p=dropout_p, seed=seed, deterministic=deterministic, impl=impl,
    )  # fmt: skip
    drawn = seed_tensor(seed, q) if dropout_p else None
    o, lse = run_attention(*tensors, sink, drawn, *cu_seqlens, *options)
    return (o, lse) if return_lse else o


def _check_longest(**longest: int | None) -> None:
    for name, value in longest.items():
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if value is not None and not (whole and value >= 0):
            raise ArgumentError(
                name,
                expected=Text("a whole number 0 or more", "不小于 0 的整数"),
                got=repr(value),
            )
