"""The mask function: one small object per forward pass says what every layer may see.

transformers' own flash mask function passes a 2-D mask on, or None. Neither says where the queries
stand in a static cache, or that a mask is not causal, and None is what a model that ignores this
interface would read as "everything is visible". A `Mask` says it all, is never None, and breaks
loudly where somebody adds it to scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..errors import BackendUnavailable, ShapeError
from ..language import Text
from .packing import Packing, cut, has_holes, unpadded
from .patterns import Pattern, read


@dataclass(frozen=True, eq=False)
class Mask:
    """What the queries of a layer may see.

    Args:
        batch, len_q, len_k: shapes the layers must bring.
        causal, window: as in `flash_attention`.
        keys: how many of the len_k keys exist, from the front; a static cache is longer.
        lengths: [B] int32, the same as `keys`, which is then None: it is known on the device only.
        packing: the tokens that take part, if they are fewer than all or not one sequence a row.
        padded: the packing leaves out padding.
        seen: what layers have worked out from their own arguments, for the next layer.
    """

    batch: int
    len_q: int
    len_k: int
    causal: bool
    window: tuple[int, int] | None
    keys: int | None
    lengths: Tensor | None = None
    packing: Packing | None = None
    padded: bool = False
    seen: dict[str, Any] = field(default_factory=dict)

    # transformers asks any mask for these before it hands it on
    @property
    def ndim(self) -> int:
        return 4

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (self.batch, 1, self.len_q, self.len_k)

    def to(self, device: Any, **_: Any) -> Mask:
        """The same on another device, for models spread over several."""
        lengths = None if self.lengths is None else self.lengths.to(device)
        packing = None if self.packing is None else self.packing.to(device)
        return replace(self, lengths=lengths, packing=packing)

    def __getitem__(self, _: Any) -> Any:
        raise _reads_its_mask()

    def __add__(self, _: Any) -> Any:
        raise _reads_its_mask()

    __radd__ = __add__


def mask_function(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    *,
    mask_function: Any,
    attention_mask: Tensor | Mask | None = None,
    **_: Any,
) -> Mask:
    """The `Mask` of one forward pass, as transformers asks for it.

    Query i stands at q_offset + i, key slot j holds position kv_offset + j; attention_mask, [B, N],
    is false where a position is padding or not there yet.

    Raises:
        BackendUnavailable: if the mask says something the operator cannot do.
    """
    if isinstance(attention_mask, Mask):  # prepared by `generate`, before the model's forward
        return attention_mask
    built: Mask = _build(
        batch_size, q_length, kv_length, q_offset, kv_offset, mask_function, attention_mask
    )
    return built


@torch.compiler.disable  # type: ignore[untyped-decorator]  # reads values: one graph break a pass
def _build(
    batch: int,
    len_q: int,
    len_k: int,
    q_offset: int | Tensor,
    kv_offset: int,
    function: Any,
    tokens: Tensor | None,
) -> Mask:
    pattern = read(function)
    _refuse_chunks(pattern, len_k + kv_offset)
    causal = pattern.causal
    if isinstance(q_offset, Tensor) and causal and len_q == 1 and _all_there(tokens, q_offset):
        # the next token of a static cache: its length stays on the device, shapes stay as they are
        length = (q_offset + 1 - kv_offset).to(torch.int32).reshape(1).expand(batch)
        return Mask(batch, 1, len_k, True, _window(pattern, len_k), None, lengths=length)
    keys = int(q_offset) + len_q - kv_offset if causal else len_k
    if keys > len_k or (causal and keys < len_q):
        raise ShapeError(
            "attention_mask",
            expected=Text(f"{len_q} to {len_k} keys", f"{len_q} 到 {len_k} 个 key"),
            got=str(keys),
        )
    mask = Mask(batch, len_q, len_k, causal, _window(pattern, keys), keys)
    if pattern.sequences is not None:
        ids = pattern.sequences.expand(batch, -1)
        before = torch.nn.functional.pad(ids, (1, 0))[:, :-1]
        mask = replace(mask, packing=cut(ids != before))
    return mask if tokens is None else _leave_out_padding(mask, tokens, kv_offset)


def _all_there(tokens: Tensor | None, q_offset: Tensor) -> bool:
    """Whether no position up to the query's own is padding."""
    if tokens is None:
        return True
    length = int(q_offset) + 1
    return tokens.shape[1] >= length and bool(tokens[:, :length].all())


def _leave_out_padding(mask: Mask, tokens: Tensor, kv_offset: int) -> Mask:
    """The mask without the keys that are padding, and without the queries that are."""
    assert mask.keys is not None  # _build has just set it
    valid = tokens.to(torch.bool)[:, kv_offset : kv_offset + mask.keys]
    valid = torch.nn.functional.pad(valid, (0, mask.keys - valid.shape[1]))
    if bool(valid.all()):
        return mask
    windowed = mask.window is not None
    if windowed and has_holes(valid):
        raise BackendUnavailable(
            "attention_mask",
            expected=Text("padding at the ends of a row only", "只在行首或行尾有填充"),
            got=Text(
                "padding between tokens, under a sliding window",
                "滑动窗口下，填充夹在词元之间",
            ),
            hint=Text("pad on the left to generate", "生成时在左侧填充"),
        )
    # Without a causal or windowed mask the queries may be those of a decoder, and not the keys'
    own = mask.causal or (windowed and mask.len_q == mask.len_k)
    if windowed and not own:
        raise _windowed_cross_attention()
    queries = valid[:, mask.keys - mask.len_q :] if own else None
    return replace(mask, packing=unpadded(valid, queries, mask.len_q), padded=True)


def _window(pattern: Pattern, keys: int) -> tuple[int, int] | None:
    """The window, unless it is as wide as there are keys."""
    left, right = (-1 if side >= keys - 1 else side for side in (pattern.left, pattern.right))
    return None if (left, right) == (-1, -1) else (left, right)


def _refuse_chunks(pattern: Pattern, positions: int) -> None:
    if pattern.chunk is not None and positions > pattern.chunk:
        raise BackendUnavailable(
            "attention_chunk_size",
            expected=Text(f"at most {pattern.chunk} positions", f"至多 {pattern.chunk} 个位置"),
            got=str(positions),
            hint='attn_implementation="sdpa"',
        )


def _windowed_cross_attention() -> BackendUnavailable:
    return BackendUnavailable(
        "attention_mask",
        expected=Text("as many queries as keys", "query 与 key 一样多"),
        got=Text("cross attention with a window and padding", "带窗口和填充的交叉注意力"),
        hint='attn_implementation="sdpa"',
    )


def _reads_its_mask() -> BackendUnavailable:
    return BackendUnavailable(
        "attention_mask",
        expected=Text(
            "a model that hands its mask to the attention function",
            "把掩码原样交给注意力函数的模型",
        ),
        got=Text("a model that calculates with it", "自己拿掩码做计算的模型"),
        hint='attn_implementation="eager"',
    )
