"""What the kernels have ready for a call like one before: chosen once, launched again.

Calls of a batch without dropout and sink, on the kernels floor. Checks no arguments.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .repeated import Ready, key_of, ready_or


class Options(NamedTuple):
    """What both operators take besides tensors.

    Args:
        left, right: the window, -1 for unbounded.
        softcap: 0 for none.
        scale: None for 1/sqrt(D).
        impl: "auto" leaves the kernels to their floor, pass by pass; see `kernels.routing`.
        deterministic: of the backward; None follows torch when that runs.
    """

    causal: bool = False
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    scale: float | None = None
    dropout_p: float = 0.0
    impl: str = "tiled"
    deterministic: bool | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """As all implementations take them."""
        return {
            "causal": self.causal,
            "window": None if self.left < 0 and self.right < 0 else (self.left, self.right),
            "softcap": self.softcap,
            "scale": self.scale,
            "dropout_p": self.dropout_p,
        }


def ready_forward(
    tensors: tuple[Tensor, Tensor, Tensor], settings: Options, *, recorded: bool = False
) -> Ready | None:
    """What answers forward calls like this one; None for one not to be remembered.

    Args:
        tensors: q, k, v.
        recorded: autograd records the call, and whoever asks sees to that.
    """
    key = key_of(tensors, *settings, recorded=recorded)

    def prepare() -> Ready:
        kernels, more = _kernels_of(settings.impl)
        run: Ready = kernels.prepare_forward(*tensors, **settings.keywords, **more)
        return run

    return None if key is None else ready_or(key, prepare)


def ready_backward(
    saved: tuple[Tensor | None, ...], needs_dq: bool, needs_dkdv: bool, settings: Options
) -> Ready | None:
    """The same of the backward.

    Args:
        saved: q, k, v, o, lse, dO and dlse or None.
    """
    given = tuple(x for x in saved if x is not None)
    strict = torch.are_deterministic_algorithms_enabled()
    key = key_of(given, "backward", needs_dq, needs_dkdv, strict, *settings)

    def prepare() -> Ready:
        kernels, more = _kernels_of(settings.impl)
        if more:
            more["deterministic"] = settings.deterministic
        run: Ready = kernels.prepare_backward(
            *saved, needs_dq=needs_dq, needs_dkdv=needs_dkdv, **settings.keywords, **more
        )
        return run

    return None if key is None else ready_or(key, prepare)


def _kernels_of(impl: str) -> tuple[Any, dict[str, Any]]:
    """The floor that prepares launches of an implementation, and what it is told of the choice."""
    if impl == "triton":
        return importlib.import_module(".kernels", __package__), {}
    return importlib.import_module(".kernels.routing", __package__), {"impl": impl}
