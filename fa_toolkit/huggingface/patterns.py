"""What a transformers mask function says, read off the function instead of evaluated.

transformers describes a mask as a function of (batch, head, query, key) put together from a few
known parts. Evaluating it costs Nq · Nk; the operator wants to know which parts they are. The parts
are closures, so this module compares code objects and reads their variables: it is the one place
that depends on how transformers builds them, `check_reader` tries it on known masks at
registration, and a part it does not know is refused, never guessed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from ..errors import BackendUnavailable
from ..language import Text

MaskFunction = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which keys a query may see, lengths and padding left out.

    Args:
        causal: no key behind the query's own position.
        left, right: how far a query sees, in keys, both inclusive; -1 is unbounded.
        sequences: [B, N] or [1, N], tokens with equal numbers belong together; None: one per row.
        chunk: tokens per chunk, if tokens see their own chunk only.
    """

    causal: bool = False
    left: int = -1
    right: int = -1
    sequences: Tensor | None = None
    chunk: int | None = None

    def and_then(self, other: Pattern) -> Pattern:
        """What both allow."""
        return Pattern(
            self.causal or other.causal,
            _narrower(self.left, other.left),
            _narrower(self.right, other.right),
            self.sequences if other.sequences is None else other.sequences,
            self.chunk or other.chunk,
        )


def read(function: MaskFunction) -> Pattern:
    """The pattern of a mask function.

    Raises:
        BackendUnavailable: if it is put together from anything but the parts named in this file.
    """
    masking, codes = _masking(), _codes()
    if function is masking.causal_mask_function:
        return Pattern(causal=True)
    if function is masking.bidirectional_mask_function:
        return Pattern()
    code = getattr(function, "__code__", None)
    if code is None:
        raise _unknown(function)
    inside = _variables(function)
    if code is codes["and_masks"]:
        pattern = Pattern()
        for part in inside["mask_functions"]:
            pattern = pattern.and_then(read(part))
        return pattern
    if code is codes["sliding_window_overlay"]:
        return Pattern(left=inside["sliding_window"] - 1)
    if code is codes["sliding_window_bidirectional_overlay"]:
        return Pattern(left=inside["sliding_window"], right=inside["sliding_window"])
    if code is codes["packed_sequence_mask_function"]:
        return Pattern(sequences=inside["packed_sequence_mask"])
    if code is codes["chunked_overlay"]:
        return Pattern(chunk=inside["chunk_size"])
    if code is codes["remap_positions_for_packed_sequence"]:
        # positions count up by one inside a sequence, so distances are those of the slots
        return read(inside["mask_function"])
    raise _unknown(function)


def check_reader() -> None:
    """Read masks whose meaning is known: does this transformers still build them this way?

    Raises:
        BackendUnavailable: if one of them is not what it should be.
    """
    masking, ids = _masking(), torch.zeros(1, 1, dtype=torch.int64)
    packed = masking.packed_sequence_mask_function(ids)
    known = {
        masking.causal_mask_function: Pattern(causal=True),
        masking.bidirectional_mask_function: Pattern(),
        masking.sliding_window_causal_mask_function(5): Pattern(causal=True, left=4),
        masking.sliding_window_bidirectional_mask_function(5): Pattern(left=5, right=5),
        masking.chunked_causal_mask_function(5, ids[0]): Pattern(causal=True, chunk=5),
        masking.and_masks(masking.causal_mask_function, packed): Pattern(True, sequences=ids),
    }
    for function, expected in known.items():
        found = read(function)
        same = replace(found, sequences=None).__dict__ == replace(expected, sequences=None).__dict__
        if not same or found.sequences is not expected.sequences:
            raise _unknown(function)


def _narrower(a: int, b: int) -> int:
    return max(a, b) if -1 in (a, b) else min(a, b)


def _variables(function: MaskFunction) -> dict[str, Any]:
    """The variables a closure took with it."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _unknown(function: MaskFunction) -> BackendUnavailable:
    name = str(getattr(function, "__qualname__", function)).partition(".")[0]
    return BackendUnavailable(
        "attention_mask",
        expected=Text(
            "causal, bidirectional, sliding window, packed sequences, padding",
            "因果、双向、滑动窗口、打包序列、填充",
        ),
        got=Text(f"a mask with {name}", f"含有 {name} 的掩码"),
        hint=Text('attn_implementation="sdpa"', 'attn_implementation="sdpa"'),
    )


def _masking() -> Any:
    """transformers.masking_utils, which costs seconds to import."""
    return importlib.import_module("transformers.masking_utils")


@functools.cache
def _codes() -> dict[str, CodeType | None]:
    """The code objects of the closures that transformers' mask builders return."""
    masking, ids = _masking(), torch.zeros(1, 1, dtype=torch.int64)
    causal = masking.causal_mask_function
    arguments: dict[str, tuple[Any, ...]] = {
        "and_masks": (causal,),
        "sliding_window_overlay": (1,),
        "sliding_window_bidirectional_overlay": (1,),
        "packed_sequence_mask_function": (ids,),
        "chunked_overlay": (1, ids[0]),
        "remap_positions_for_packed_sequence": (causal, ids),  # newer releases only
    }
    builders = {name: getattr(masking, name, None) for name in arguments}
    return {
        name: None if build is None else build(*arguments[name]).__code__
        for name, build in builders.items()
    }
