"""What a call of any public door asks for besides its tensors: implementation, dtype, sink, seed.

Computes no attention.
"""

from __future__ import annotations

import operator
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .errors import ArgumentError, BackendUnavailable, DeviceError, DtypeError
from .language import Text
from .problem import yes_or_no

Impl = Literal["auto", "hopper", "triton", "tiled", "reference"]
Implementation = Literal["hopper", "triton", "tiled", "reference"]


def choose(impl: str, q: Tensor) -> Implementation:
    """The implementation that runs: for "auto" Triton on a GPU, the tiles in torch elsewhere.

    Which of the Triton kernels "auto" then means is settled where they are started, see
    `kernels.routing`.

    Raises:
        ArgumentError: if there is none of that name.
    """
    if impl not in get_args(Impl):
        raise ArgumentError(
            "impl", expected=" | ".join(f'"{name}"' for name in get_args(Impl)), got=repr(impl)
        )
    if impl != "auto":
        return impl  # type: ignore[return-value]
    return "triton" if q.is_cuda else "tiled"


def refuse(impl: Implementation, dtype: torch.dtype) -> None:
    """Say what an implementation cannot do.

    Raises:
        BackendUnavailable: with what can do it.
    """
    if impl in ("triton", "hopper") and dtype == torch.float64:
        raise BackendUnavailable(
            f'impl="{impl}"',
            expected=Text("float16, bfloat16 or float32", "float16、bfloat16 或 float32"),
            got="float64",
            hint='impl="tiled"',
        )


def refuse_hopper(name: str, why: Text) -> None:
    """Say that the kernels for Hopper serve `flash_attention` of one batch only.

    Raises:
        BackendUnavailable: always.
    """
    raise BackendUnavailable(
        f'{name}: impl="hopper"',
        expected=Text("flash_attention over one batch", "对一个批次调用 flash_attention"),
        got=why,
        hint='impl="triton"',
    )


def autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors in the dtype autocast asks for on their device; float64 stays, as in torch."""
    device = tensors[0].device.type
    if device == "meta" or not torch.is_autocast_enabled(device):  # meta has none to ask for
        return tensors
    dtype = torch.get_autocast_dtype(device)
    castable = [x.is_floating_point() and x.dtype != torch.float64 for x in tensors]
    return tuple(x.to(dtype) if ok else x for x, ok in zip(tensors, castable, strict=True))


def costs_nothing_to_look(*tensors: Tensor) -> bool:
    """Whether the values of these tensors can be read here and now without waiting for a device."""
    return (
        all(type(x) is Tensor and x.device.type == "cpu" for x in tensors)
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
    )


def has_tangent(*tensors: Tensor | None) -> bool:
    """Whether forward-mode differentiation is under way with one of these."""
    if forward_ad._current_level < 0:
        return False
    parts = [forward_ad.unpack_dual(x) for x in tensors if x is not None]  # type: ignore[no-untyped-call]
    return any(part.tangent is not None for part in parts)


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True, False (or 1, 0 and their like) nor None.

    Raises:
        ArgumentError: naming the argument.
    """
    if value is not None and not isinstance(value, bool):
        yes_or_no(name, value)


def check_sink(sink: Tensor | None, q: Tensor) -> None:
    """Refuse a sink of a kind or on a device that no implementation takes; its shape is checked later.

    Raises:
        DtypeError, DeviceError: saying so.
    """
    if sink is not None and not sink.is_floating_point():
        raise DtypeError(
            "sink",
            expected=Text("a floating point type", "浮点类型"),
            got=str(sink.dtype),
            hint=Text("sink.float()", "sink.float()"),
        )
    if sink is not None and sink.device != q.device:
        raise DeviceError("sink", expected=str(q.device), got=str(sink.device))


def seed_tensor(seed: int | Tensor | None, q: Tensor) -> Tensor:
    """One int64 on the device of q; drawn from torch's generator if None."""
    if seed is None:
        return torch.randint(-(2**63), 2**63 - 1, (1,), dtype=torch.int64, device=q.device)
    if isinstance(seed, Tensor):
        if seed.is_meta and not q.is_meta:
            raise DeviceError(
                "seed",
                expected=Text(
                    f"a tensor with a value, as on {q.device}", f"有值的张量，如在 {q.device} 上"
                ),
                got="meta",
            )
        return seed.detach().reshape(1).to(q.device)
    wrapped = (operator.index(seed) + 2**63) % 2**64 - 2**63
    return torch.full((1,), wrapped, dtype=torch.int64, device=q.device)
