"""`sdpa`: the signature and meaning of torch's `scaled_dot_product_attention`, on our operator.

Brings torch's layouts and its top-left mask to the form `flash_attention` takes. Runs no kernel
itself, and leaves out no mask: one it cannot pass on is refused.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..attention import flash_attention
from ..door import Impl, autocast, choose
from ..errors import DeviceError, DtypeError
from ..language import Text
from ..problem import ITEMSIZE
from ..reference.inputs import check_tensors
from .layout import Layout
from .masks import check_bool, masked, refuse_mask, says_nothing, structured

__all__ = ["sdpa"]


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    impl: Impl = "auto",
) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention`, computed by `flash_attention`.

    `is_causal` is torch's: query i sees keys 0 to i, whatever the lengths. `flash_attention` lines
    the last query up with the last key; both say the same where Nq = Nk.

    Shapes:
        query: [..., Hq, Nq, D]; key: [..., Hkv, Nk, D]; value: [..., Hkv, Nk, Dv]; the leading
        axes broadcast, heads too unless `enable_gqa`; two to any number of axes;
        result: [..., Hq, Nq, Dv], its axes in memory in the order of those of query.

    Args:
        attn_mask: a tensor that broadcasts to [..., Hq, Nq, Nk]: of bool, True where a query may
            look, or added to the scores. Only impl="reference" computes with it; the others refuse
            it. `torch.nn.attention.bias.causal_upper_left` and `causal_lower_right` hold no data
            and run everywhere, and so does a mask over no pairs at all.
        dropout_p: as in torch, applied whenever it is not 0. What is dropped follows torch's
            generator but is not what torch's own function drops.
        scale: 1 / sqrt(D) if None.
        enable_gqa: Hq may be a multiple of Hkv.
        impl: as in `flash_attention`.

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: naming the argument that does not fit.
        BackendUnavailable: if the implementation cannot do this call here, with what can.

    Example:
        >>> q, k = torch.ones(2, 3, 16), torch.ones(2, 5, 16)  # heads, length, width
        >>> v = torch.arange(5.0)[None, :, None].expand(2, 5, 1)
        >>> sdpa(q, k, v, is_causal=True)[0, :, 0]  # means of 0, of 0 and 1, of 0, 1 and 2
        tensor([0.0000, 0.5000, 1.0000])
    """
    check_tensors(query=query, key=key, value=value)
    query, key, value = autocast(query, key, value)
    chosen = choose(impl, query)
    _check_kinds(query=query, key=key, value=value)
    call = Layout.of(query, key, value, check_bool("enable_gqa", enable_gqa))
    q, k, v = call.tensors
    mask, upper_left, lower_right = structured(attn_mask, is_causal, call)
    if mask is not None:
        (mask,) = autocast(mask)
        if not says_nothing(mask, query, call):
            if chosen != "reference":
                refuse_mask(mask, chosen)
            return call.result(masked(call, mask, scale, dropout_p), query)
    keywords: dict[str, Any] = {"scale": scale, "impl": impl, "causal": lower_right}
    if upper_left and q.shape[2] > k.shape[2]:
        keywords["window"] = (-1, q.shape[2] - k.shape[2])  # from i + Nk - Nq that far on: to i
    elif upper_left:
        # no query sees a key past Nq; without those the last query stands at the last key
        k, v, keywords["causal"] = k[:, :, : q.shape[2]], v[:, :, : q.shape[2]], True
    if dropout_p == 1:  # allowed by torch: everything is dropped
        o = torch.dropout(flash_attention(q, k, v, **keywords), 1.0, True)
    else:
        o = flash_attention(q, k, v, dropout_p=dropout_p, **keywords)
    return call.result(o, query)


def _check_kinds(**named: Tensor) -> None:
    """Refuse types and devices by the names of this signature; the rest is `flash_attention`'s.

    Raises:
        DtypeError, DeviceError: naming the tensor.
    """
    first = named["query"]
    if str(first.dtype).removeprefix("torch.") not in ITEMSIZE:
        raise DtypeError("query", expected=" | ".join(ITEMSIZE), got=str(first.dtype))
    for name, x in named.items():
        if x.dtype != first.dtype:
            raise DtypeError(
                name,
                expected=Text(f"the dtype of query, {first.dtype}", f"与 query 同为 {first.dtype}"),
                got=str(x.dtype),
                hint=f"{name}.to(query.dtype)",
            )
        if x.device != first.device:
            raise DeviceError(
                name,
                expected=Text(
                    f"the device of query, {first.device}", f"与 query 同在 {first.device}"
                ),
                got=str(x.device),
                hint=f"{name}.to(query.device)",
            )
