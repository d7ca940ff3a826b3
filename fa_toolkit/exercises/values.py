"""A learner's result as plain data, and back. What is no number, text or tensor keeps its name only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ..language import Text

#: Bytes of all tensors of one result, items of one tuple, and characters of a name or number.
LARGEST, MOST_ITEMS, LONGEST = 64 << 20, 64, 60


@dataclass(frozen=True)
class OddTensor:
    """A tensor that cannot be compared: "complex", "meta", "sparse_coo", "nested" ..."""

    kind: str


class Odd:
    """Some object; its class has the name of the object's class."""

    def __init__(self, shown: str = "…") -> None:
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


def odd_kind(value: torch.Tensor) -> str:
    """Why a tensor cannot be compared, "" if it can."""
    if value.is_nested:
        return "nested"
    if value.layout is not torch.strided:
        return str(value.layout).removeprefix("torch.")
    if value.is_quantized:
        return "quantized"
    return "complex" if value.is_complex() else "meta" if value.is_meta else ""


class TooLarge(Exception):  # noqa: N818  (it is no error of ours)
    """A result that is larger than any exercise asks for."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        gib = size / 2**30
        self.sentence = Text(
            f"It returned {gib:.3g} GiB of numbers; no exercise asks for that many.",
            f"返回了 {gib:.3g} GiB 的数据；没有哪道题需要这么多。",
        )


class Packing:
    """Turns results into JSON and collects the bytes of their tensors."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.size = 0

    def pack(self, value: Any, depth: int = 0) -> Any:
        """JSON for one value.

        Raises:
            TooLarge: if the tensors so far hold more than `LARGEST` bytes.
        """
        kind = type(value)
        if value is None or kind is bool:
            return {"t": "value", "v": value}
        if kind is str:
            return {"t": "value", "v": value[:LONGEST]}
        if kind is int:  # JSON's reader limits digits, and so does a sentence
            short = abs(value) < 10**40
            return {"t": "int", "v": str(value)} if short else {"t": "odd", "name": "int"}
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (tuple, list)) and depth < 3:
            items = [self.pack(x, depth + 1) for x in list(value)[:MOST_ITEMS]]
            items += [{"t": "value", "v": None}] * (len(value) > MOST_ITEMS)
            return {"t": "list" if isinstance(value, list) else "tuple", "items": items}
        return _number(value) or {"t": "odd", "name": kind.__name__[:LONGEST]}

    def _tensor(self, value: torch.Tensor) -> Any:
        kind = odd_kind(value)
        if kind:
            return {"t": "odd tensor", "kind": kind}
        self.size += value.numel() * value.element_size()
        if self.size > LARGEST:
            raise TooLarge(self.size)
        # copied: a single element may have any stride, with which it cannot be seen as bytes
        flat = torch.empty(value.numel(), dtype=value.dtype)
        flat.copy_(value.detach().as_subclass(torch.Tensor).reshape(-1))
        self.blobs.append(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        name = str(value.dtype).removeprefix("torch.")
        return {"t": "tensor", "dtype": name, "shape": list(value.shape), "b": len(self.blobs) - 1}


def _number(value: Any) -> Any:
    if isinstance(value, np.str_):
        return {"t": "value", "v": str(value)[:LONGEST]}
    if isinstance(value, np.ndarray):
        # its values do not matter but for one number, which counts as that number
        if value.size != 1 or value.dtype.kind not in "fiub":
            return {"t": "odd", "name": "ndarray"}
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic) and value.dtype.kind in "fiub":
        return {"t": "numpy", "dtype": value.dtype.name, "v": _exact(value.item())}
    if isinstance(value, (float, int)):
        return {"t": "float", "v": _exact(float(value))}
    if isinstance(value, (Fraction, Decimal)):
        return {"t": type(value).__name__, "v": str(value)[:LONGEST]}
    return None


def _exact(value: float) -> str:
    return float(value).hex() if isinstance(value, float) else str(value)


def unpack(told: Any, blobs: list[bytes]) -> Any:
    """The value that JSON stands for. What does not make sense becomes an `Odd` of no name."""
    try:
        return _unpack(told, blobs, 0)
    except Exception:  # it comes from a process that ran a learner's code
        return Odd()


def _unpack(told: Any, blobs: list[bytes], depth: int) -> Any:
    kind = told["t"]
    if kind == "value" and (told["v"] is None or isinstance(told["v"], (bool, str))):
        return told["v"]
    if kind == "int":
        return int(told["v"])
    if kind == "float":
        return float.fromhex(told["v"])
    if kind in ("Fraction", "Decimal"):
        return {"Fraction": Fraction, "Decimal": Decimal}[kind](told["v"])
    if kind == "numpy":
        dtype = np.dtype(told["dtype"])
        return dtype.type(float.fromhex(told["v"]) if dtype.kind == "f" else _whole(told["v"]))
    if kind == "tensor":
        return _tensor_of(told, blobs)
    if kind == "odd tensor":
        return OddTensor(str(told["kind"])[:LONGEST])
    if kind in ("list", "tuple") and depth < 4:
        items = [_unpack(x, blobs, depth + 1) for x in told["items"]]
        return items if kind == "list" else tuple(items)
    return _odd(str(told.get("name", "")))


def _whole(text: str) -> int:
    """A whole number or a truth value, written out."""
    return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text)


def _odd(name: str) -> Odd:
    kept = "".join(c for c in name[:LONGEST] if c.isalnum() or c == "_") or "object"
    made: Odd = type(kept, (Odd,), {})(f"<{kept}>")
    return made


def _tensor_of(told: Any, blobs: list[bytes]) -> torch.Tensor:
    dtype, shape = getattr(torch, told["dtype"]), [int(n) for n in told["shape"]]
    raw = blobs[told["b"]]
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)
