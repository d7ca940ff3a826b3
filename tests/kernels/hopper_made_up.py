"""A made-up Hopper GPU: facts replaced, launchers that compute in torch and remember their calls."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from oracles import make_qkv
from torch import Tensor

from fa_toolkit import repeated, tiled
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.call import output_like
from fa_toolkit.kernels.hopper import availability
from fa_toolkit.kernels.hopper.availability import Pass, Place
from fa_toolkit.problem import AttentionProblem

HERE = Place((9, 0), "a made-up H200", availability.SHARED)
PASSES: tuple[Pass, ...] = ("forward", "backward")
Called = list[tuple[str, dict[str, Any]]]


#: every kernel better from one query on
BETTER = dict.fromkeys(
    ((kind, d, causal) for kind in PASSES for d in availability.WIDTHS[kind] for causal in (True, False)),
    1,
)  # fmt: skip


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """A machine whose tensors all lie on a Hopper GPU; what its launchers were called with."""
    seen: Called = []

    class Forward:
        def __init__(self, **options: Any) -> None:
            self.options = options

        def __call__(self, q: Tensor, k: Tensor, v: Tensor, *out: Tensor) -> None:
            seen.append(("forward", {"q": q, "k": k, "v": v, "out": out, **self.options}))
            found = tiled.flash_forward(q, k, v, **self.options)
            for given, result in zip(out, found, strict=True):
                given.copy_(result)

    class Backward(Forward):
        def __call__(self, *given: Any) -> Any:
            *saved, dlse = given
            seen.append(("backward", {"saved": saved, "dlse": dlse, **self.options}))
            grads = tiled.flash_backward(*saved, dlse, **self.options)[:3]
            return tuple(
                output_like(x).copy_(y) for x, y in zip(saved, grads, strict=False) if y is not None
            )

    module: Any = ModuleType("fa_toolkit.kernels.hopper.prepared")
    module.PreparedForward, module.PreparedBackward = Forward, Backward
    monkeypatch.setitem(sys.modules, module.__name__, module)
    routing._launch_for.cache_clear()
    monkeypatch.setattr(routing, "place_of", lambda _: HERE)
    monkeypatch.setattr(repeated, "_READY", {})
    yield seen
    routing._launch_for.cache_clear()


def names(called: Called) -> list[str]:
    return [name for name, _ in called]


def leaves(problem: AttentionProblem, layout: str = "contiguous") -> list[Tensor]:
    return [x.requires_grad_() for x in make_qkv(problem, layout=layout)]


SMALL = AttentionProblem(1, 4, 2, 20, 30, 64, dtype="bfloat16", causal=True)


def takes(kind: Pass, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> bool:
    """What "auto" does with these tensors, as if their lengths were long enough."""
    p = AttentionProblem(1, 4, 2, 4096, 4096, q.shape[-1], v.shape[-1], "bfloat16", True)
    return routing.takes_hopper("auto", kind, q, k, v, routing.asked_of(p, **options))
