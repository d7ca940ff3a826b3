"""What lives in registers: numbers of one program, tensors spread over its threads, pointers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from hopper_simulator import check
from triton.experimental.gluon import language as gluon_language

_KINDS = ("bfloat16", "float16", "float32", "float64", "int1", "int8", "int16", "int32", "int64")
_TORCH = {
    getattr(gluon_language, kind, None): getattr(torch, "bool" if kind == "int1" else kind)
    for kind in _KINDS
}
_GLUON = {kind: name for name, kind in _TORCH.items() if name is not None}


def torch_dtype(dtype: Any) -> torch.dtype:
    """The type of torch for one of Gluon."""
    return dtype if isinstance(dtype, torch.dtype) else _TORCH[dtype]


def gluon_dtype(dtype: torch.dtype) -> Any:
    """The type of Gluon for one of torch."""
    return _GLUON[dtype]


class Scalar(int):
    """An integer of the kernel: division and remainder go towards zero, as in the machine."""

    def to(self, dtype: Any) -> Scalar:
        return self

    def _truncated(self, other: int) -> tuple[int, int]:
        check(other != 0, "division by zero")
        quotient = abs(int(self)) // abs(other) * (1 if (self < 0) == (other < 0) else -1)
        return quotient, int(self) - quotient * other

    def __floordiv__(self, other: Any) -> Any:
        return Scalar(self._truncated(int(other))[0]) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return Scalar(self._truncated(int(other))[1]) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return Scalar(other) // int(self)

    def __rmod__(self, other: Any) -> Any:
        return Scalar(other) % int(self)


def _scalar_operator(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(self: Any, other: Any) -> Any:
        found = plain(self, other)
        return Scalar(found) if type(found) is int else found

    return apply


_TURNED = ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift")
for _name in (*_TURNED, *(f"r{name}" for name in _TURNED)):
    setattr(Scalar, f"__{_name}__", _scalar_operator(getattr(int, f"__{_name}__")))


class Register:
    """A tensor in registers. One that a product makes is no value before its wait.

    One that is loaded from shared memory may be read from there until it is first used: `read` is
    called then.
    """

    def __init__(
        self,
        x: torch.Tensor,
        number: int = 0,
        shape: Sequence[int] | None = None,
        read: Callable[[], None] | None = None,
    ) -> None:
        self.raw, self.number, self.read = x, number, read
        self._shape = list(x.shape if shape is None else shape)

    @property
    def x(self) -> torch.Tensor:
        check(not self.number, "the result of a product is used before its wait")
        if self.read is not None:
            self.read()
            self.read = None
        return self.raw

    @property
    def shape(self) -> list[int]:
        return self._shape

    @property
    def dtype(self) -> Any:
        return gluon_dtype(self.raw.dtype)

    @property
    def type(self) -> Register:
        return self

    layout = None

    def to(self, dtype: Any, bitcast: bool = False) -> Register:
        kind = torch_dtype(dtype)
        return Register(self.x.view(kind) if bitcast else self.x.to(kind))

    def reshape(self, shape: Sequence[int]) -> Register:
        return Register(self.x.reshape([int(n) for n in shape]))

    def permute(self, *order: Any) -> Register:
        return Register(self.x.permute(*order))

    def split(self) -> tuple[Register, Register]:
        return Register(self.x[..., 0]), Register(self.x[..., 1])

    def __getitem__(self, at: Any) -> Register:
        return Register(self.x[at])

    def __neg__(self) -> Register:
        return Register(-self.x)

    def __invert__(self) -> Register:
        return Register(~self.x)


def data(value: Any) -> Any:
    """What torch computes with."""
    return value.x if isinstance(value, Register) else value


def as_tensor(value: Any) -> torch.Tensor:
    """A tensor of torch, of the machine's types if it was a number."""
    value = data(value)
    if isinstance(value, torch.Tensor):
        return value
    kind = torch.bool if isinstance(value, bool) else torch.int32
    return torch.tensor(value, dtype=torch.float32 if isinstance(value, float) else kind)


def _truncate(a: Any, b: Any) -> torch.Tensor:
    return torch.div(a, b, rounding_mode="trunc")


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": _truncate, "mod": torch.fmod, "and": operator.and_, "or": operator.or_,
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
_COMPARISONS = {name: getattr(operator, name) for name in ("le", "ge", "lt", "gt", "eq", "ne")}


def _register_operator(plain: Callable[[Any, Any], Any], turned: bool) -> Callable[..., Any]:
    def apply(self: Register, other: Any) -> Any:
        if not isinstance(other, (Register, int, float)):
            return NotImplemented
        a, b = (data(other), self.x) if turned else (self.x, data(other))
        return Register(plain(a, b))

    return apply


for _name, _plain in _OPERATORS.items():
    setattr(Register, f"__{_name}__", _register_operator(_plain, False))
    setattr(Register, f"__r{_name}__", _register_operator(_plain, True))
for _name, _plain in _COMPARISONS.items():
    setattr(Register, f"__{_name}__", _register_operator(_plain, False))
Register.__hash__ = object.__hash__  # type: ignore[method-assign]


class Pointer:
    """Into the memory that a tensor starts in."""

    def __init__(self, memory: torch.Tensor, at: Any = 0) -> None:
        self.memory, self.at = memory, at

    @classmethod
    def to(cls, x: torch.Tensor) -> Pointer:
        size = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
        return cls(x.as_strided((size,), (1,), x.storage_offset()))

    @property
    def dtype(self) -> Any:
        return gluon_dtype(self.memory.dtype)

    def __add__(self, other: Any) -> Pointer:
        return Pointer(self.memory, self.at + other)

    def places(self, mask: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """(elements that are touched, which of the register's they are)."""
        at = as_tensor(self.at).long()
        live = torch.ones_like(at, dtype=torch.bool)
        if mask is not None:
            live = live & as_tensor(mask)
            at = at.expand(live.shape)
        touched = at[live]
        inside = (touched >= 0) & (touched < self.memory.numel())
        check(bool(inside.all()), "an access outside of its tensor")
        return touched, live
