"""The attention function: what a transformers layer asks for, said to the operator.

A `Mask` decides what is visible; the layer's own `is_causal` and `sliding_window` count only where
a model builds no mask, so that results are those of `eager`. Computes nothing itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..attention import flash_attention
from ..decoding import flash_decode
from ..errors import ArgumentError, BackendUnavailable, ShapeError
from ..language import Text
from ..repeated import is_recorded
from ..varlen import flash_attention_varlen
from .mask import Mask
from .packing import Packing, cut

#: What some layer of transformers may hand over and the operator does not do.
REFUSED = {
    "output_attentions": Text("attention probabilities as output", "输出注意力概率"),
    "head_mask": Text("a head mask", "注意力头掩码"),
    "layer_head_mask": Text("a head mask", "注意力头掩码"),
    "position_bias": Text("a position bias", "位置偏置"),
    "attention_bias": Text("an attention bias", "注意力偏置"),
    "alibi": Text("an ALiBi bias", "ALiBi 偏置"),
    "sinks": Text("one sink per query", "每个 query 一个 sink"),
    "indices": Text("selected keys (sparse attention)", "选出的 key（稀疏注意力）"),
    "block_indices": Text("selected blocks (sparse attention)", "选出的块（稀疏注意力）"),
    "block_table": Text("the paged cache of continuous batching", "连续批处理的分页缓存"),
    "read_index": Text("the paged cache of continuous batching", "连续批处理的分页缓存"),
}


def attention_forward(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Mask | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    is_causal: bool | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """One layer's attention by this package's operator, in transformers' calling convention.

    Shapes:
        query: [B, Hq, Nq, D]; key: [B, Hkv, Nk, D]; value: [B, Hkv, Nk, Dv];
        s_aux: [Hq]; the result: [B, Nq, Hq, Dv], 0 for tokens that are padding.

    Raises:
        BackendUnavailable, ArgumentError, ShapeError: rather than leave out what was asked for.
    """
    _refuse(kwargs)
    mask = _mask_of(module, query, key, attention_mask, is_causal, sliding_window)
    packing = _offsets(query, mask, kwargs) or mask.packing or _restarts(mask, kwargs)
    options: dict[str, Any] = {"causal": mask.causal, "window": mask.window, "scale": scaling}
    options |= {"softcap": softcap, "sink": s_aux}
    trained: dict[str, Any] = {"dropout_p": dropout if module.training else 0.0}
    trained |= {"deterministic": kwargs.get("deterministic")}
    if packing is not None:
        return _packed(query, key, value, packing, mask, options | trained), None
    keys = mask.keys
    if mask.lengths is not None:
        if not is_recorded(query, key, value, s_aux):
            q = query.transpose(1, 2)
            return flash_decode(q, key, value, seq_lens=mask.lengths, **options), None
        keys = int(mask.lengths[0])
    key, value = key[:, :, :keys], value[:, :, :keys]
    o: Tensor = flash_attention(query, key, value, **(options | trained))
    return o.transpose(1, 2).contiguous(), None


def _refuse(kwargs: dict[str, Any]) -> None:
    for name, what in REFUSED.items():
        if kwargs.get(name) is not None and kwargs[name] is not False:
            raise BackendUnavailable(
                name,
                expected=Text("nothing: the operator has no such input", "不传：算子没有这个输入"),
                got=what,
                hint='attn_implementation="eager"',
            )


def _mask_of(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    mask: Mask | Any | None,
    is_causal: bool | None,
    sliding_window: int | None,
) -> Mask:
    """The mask the model built, checked; or the one its layer implies."""
    batch, _, len_q, _ = query.shape
    len_k = key.shape[2]
    if mask is None:
        causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
        side = -1 if sliding_window is None else sliding_window - 1
        window = None if side < 0 else (side, 0 if causal else side)
        return Mask(batch, len_q, len_k, causal, window, len_k)
    if not isinstance(mask, Mask):
        raise BackendUnavailable(
            "attention_mask",
            expected=Text(
                "none, or one of padding with shape [B, N]",
                "不传，或形状为 [B, N] 的填充掩码",
            ),
            got=Text(
                f"a mask of its own, {_looks(mask)}",
                f"自定义掩码 {_looks(mask)}",
            ),
            hint=Text('attn_implementation="sdpa"', 'attn_implementation="sdpa"'),
        )
    if (mask.len_q, mask.len_k) != (len_q, len_k):
        raise ShapeError(
            "attention_mask",
            expected=Text(f"{len_q} queries, {len_k} keys", f"{len_q} 个 query、{len_k} 个 key"),
            got=Text(
                f"{mask.len_q} queries, {mask.len_k} keys",
                f"{mask.len_q} 个 query、{mask.len_k} 个 key",
            ),
        )
    if is_causal is not None and bool(is_causal) != mask.causal:
        raise ArgumentError(
            "is_causal",
            expected=Text(f"{mask.causal}, as the mask says", f"{mask.causal}，与掩码一致"),
            got=str(is_causal),
            hint=Text(f"config.is_causal = {is_causal}", f"config.is_causal = {is_causal}"),
        )
    return mask


def _looks(mask: Any) -> str:
    shape = getattr(mask, "shape", None)
    return type(mask).__name__ if shape is None else str([*shape])


def _offsets(query: Tensor, mask: Mask, kwargs: dict[str, Any]) -> Packing | None:
    """The packed sequences a caller names with cu_seq_lens_q and cu_seq_lens_k."""
    cu_q, cu_k = kwargs.get("cu_seq_lens_q"), kwargs.get("cu_seq_lens_k")
    if cu_q is None and cu_k is None:
        return None
    # further rows would lie behind the empty end of the first one's cache
    behind = len(query) > 1 and mask.keys != mask.len_k
    if cu_q is None or cu_k is None or mask.padded or behind:
        raise ArgumentError(
            "cu_seq_lens_q, cu_seq_lens_k",
            expected=Text(
                "both or neither; no padding mask beside them; one row, or no static cache",
                "两个都传或都不传；不能同时有填充掩码；只有一行，或没有静态缓存",
            ),
            got=Text("another combination", "其他组合"),
        )
    cu_q, cu_k = cu_q.to(torch.int32), cu_k.to(torch.int32)
    longest_q, longest_k = (
        int(cu.diff().max() if longest is None else longest)
        for cu, longest in ((cu_q, kwargs.get("max_length_q")), (cu_k, kwargs.get("max_length_k")))
    )
    return Packing(None, None, cu_q, cu_k, longest_q, longest_k)


def _restarts(mask: Mask, kwargs: dict[str, Any]) -> Packing | None:
    """Sequences packed into one row, told by position ids that restart, where a cache is filled.

    Without a cache the mask function has seen them. With one (`use_cache` is on by default, in
    training too) transformers' masks ignore the restarts and its flash attention honours them.
    """
    ids = kwargs.get("position_ids")
    if torch.compiler.is_compiling() or not isinstance(ids, Tensor):
        return None
    first = mask.causal and mask.keys == mask.len_q and not mask.padded
    if not first or mask.len_q < 2 or tuple(ids.shape) != (1, mask.len_q) or mask.batch != 1:
        return None
    if mask.seen.get("ids") is not ids:  # one look per forward pass, not per layer
        mask.seen.update(ids=ids, packing=cut(ids == ids.min()))
    packing: Packing | None = mask.seen["packing"]
    return packing


def _packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    mask: Mask,
    options: dict[str, Any],
) -> Tensor:
    """Attention inside the packed sequences, laid back into the shape of the batch."""
    batch, heads, len_q, _ = query.shape
    k, v = (x[:, :, : mask.keys].transpose(1, 2).flatten(0, 1) for x in (key, value))
    q = query.transpose(1, 2).flatten(0, 1)  # [B * Nq, Hq, D]
    if packing.tokens_k is not None:
        k, v = k[packing.tokens_k], v[packing.tokens_k]
    o: Tensor = flash_attention_varlen(
        q if packing.tokens_q is None else q[packing.tokens_q],
        k,
        v,
        cu_seqlens_q=packing.cu_seqlens_q,
        cu_seqlens_k=packing.cu_seqlens_k,
        max_seqlen_q=packing.longest_q,
        max_seqlen_k=packing.longest_k,
        **options,
    )
    if packing.tokens_q is not None:
        whole = o.new_zeros(batch * len_q, heads, value.shape[-1])
        o = whole.index_copy(0, packing.tokens_q, o)
    return o.view(batch, len_q, heads, value.shape[-1])
